"""The files of the clients that are written and not edited: what follows from the server's schema, and the licence."""

from __future__ import annotations

from pathlib import Path

from clients.generator.python_client import python_files
from clients.generator.reading import read
from clients.generator.typescript_client import typescript_files
from react_mem.graphs.http import app
from react_mem.graphs.memory_api.callers_memory import PREFIX

ROOT = Path(__file__).resolve().parents[2]

PYTHON, TYPESCRIPT = "clients/python", "clients/typescript"


def generated_files() -> dict[str, str]:
    """Return the files by their path in the project, as they are to be."""
    interface = read(app.openapi(), PREFIX)
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    return {
        **{f"{PYTHON}/react_mem_client/{name}": text for name, text in python_files(interface).items()},
        **{f"{TYPESCRIPT}/src/{name}": text for name, text in typescript_files(interface).items()},
        f"{PYTHON}/LICENSE": licence,
        f"{TYPESCRIPT}/LICENSE": licence,
    }
