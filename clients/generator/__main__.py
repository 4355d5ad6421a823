"""Writes the clients: `python -m clients.generator`."""

from __future__ import annotations

from clients.generator.writing import ROOT, generated_files


def main() -> None:
    """Write the files that follow from the server's schema."""
    for path, text in generated_files().items():
        (ROOT / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
