"""Installing without a network: the packages that are installed here stand for what would be downloaded.

python -m tests.support.installing

prints how many packages a plain install brings and how large they are, in MB, then what each extra adds to it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pathspec
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = sorted(folder.name for folder in (ROOT / "react_mem").iterdir() if (folder / "__init__.py").is_file())
"""The folders of `react_mem` that links at the top lead to."""


def copy_build_context(destination: Path) -> None:
    """Copy what an image is built from: everything that .dockerignore lets through."""
    ignored = pathspec.GitIgnoreSpec.from_lines((ROOT / ".dockerignore").read_text().splitlines())

    def skip(folder: str, names: list[str]) -> set[str]:
        here = Path(folder).relative_to(ROOT)
        return {name for name in names if ignored.match_file(str(here / name))}

    shutil.copytree(ROOT, destination, ignore=skip, symlinks=True)


def needed(wanted: Iterable[Requirement | str]) -> Iterator[Distribution]:
    """Yield the packages that are installed here and that are wanted, with what they depend on."""
    waiting = [one if isinstance(one, Requirement) else Requirement(one) for one in wanted]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        for extra in ("", *requirement.extras):
            if (requirement.name.lower(), extra) in seen:
                continue
            seen.add((requirement.name.lower(), extra))
            found = distribution(requirement.name)
            if not extra:
                yield found
            for line in found.requires or ():
                one = Requirement(line)
                if one.marker is None or one.marker.evaluate({"extra": extra}):
                    one.marker = None
                    waiting.append(one)


def size(packages: Iterable[Distribution]) -> float:
    """Return the size of packages in MB, without what Python compiles of them."""
    files = [Path(str(file.locate())) for package in packages for file in package.files or ()]
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.is_file()) / 1e6


def added(extra: str | None = None) -> list[Distribution]:
    """Return the packages that a plain install brings; of an extra, those that it adds to them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plain = {found.metadata["Name"]: found for found in needed(project["dependencies"])}
    if extra is None:
        return list(plain.values())
    more = needed([*project["dependencies"], *project["optional-dependencies"][extra]])
    return [found for found in more if found.metadata["Name"] not in plain]


def link_packages(wanted: Iterable[Requirement | str], into: Path) -> None:
    """Link the packages that are installed here into a folder: those that are wanted, and what they depend on."""
    for found in needed(wanted):
        for file in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            link, target = into / file, Path(str(found.locate_file(file)))
            if not link.exists() and target.exists():
                link.symlink_to(target)


def build_wheel(folder: Path) -> Path:
    """Build the project's wheel into a folder, from a copy: setuptools leaves build folders in its source."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("react_mem",):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", folder]
    result = subprocess.run([*build, source], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return next(folder.glob("*.whl"))


def _print_sizes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in (None, *project["optional-dependencies"]):
        try:
            found = added(extra)
        except PackageNotFoundError as error:
            sys.stdout.write(f"{extra}: {error}\n")
            continue
        largest = sorted(((size([one]), one.metadata["Name"]) for one in found), reverse=True)[:12]
        told = ", ".join(f"{name} {megabytes:.1f}" for megabytes, name in largest)
        sys.stdout.write(f"{extra or 'plain'}: {len(found)} packages, {size(found):.1f} MB: {told}\n")


if __name__ == "__main__":
    _print_sizes()
