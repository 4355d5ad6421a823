"""Files of an export are read as they are downloaded; what would fill a disk or a memory is refused."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from react_mem.integrations import import_memories
from react_mem.integrations.importers.import_files import ImportFile
from react_mem.memory import MemoryFacade
from tests.unit.adapters.imports.reading import in_file

JSON = re.compile(r"(^|/)conversations\.json$")


def parts(file: Path) -> dict[str, bytes]:
    return {name: stream.read() for name, stream in ImportFile(str(file)).parts(JSON)}


def zipped(file: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file


def test_an_archive_a_folder_and_a_file_give_the_same(tmp_path: Path) -> None:
    inside = {"export/conversations.json": b"[1]", "export/chat.html": b"<html>", "../conversations.json.exe": b"x"}
    assert parts(zipped(tmp_path / "export.zip", **inside)) == {"export/conversations.json": b"[1]"}
    (tmp_path / "folder").mkdir()
    in_file(tmp_path / "folder", b"[1]", "conversations.json")
    in_file(tmp_path / "folder", b"<html>", "chat.html")
    assert parts(tmp_path / "folder") == {"conversations.json": b"[1]"}
    assert parts(in_file(tmp_path, b"[1]", "any name")) == {"any name": b"[1]"}


def test_a_link_in_a_folder_leads_nowhere(tmp_path: Path) -> None:
    secret = in_file(tmp_path, b"[1]", "secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "conversations.json").symlink_to(secret)
    assert parts(tmp_path / "folder") == {}


def test_what_would_grow_beyond_measure_is_refused_before_it_does(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as part:
        for _ in range(130):
            part.write(b" " * (1 << 20))
    with pytest.raises(ValueError, match=r"would grow from .* bytes to 136,314,880, as no export does"):
        parts(bomb)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[1]".encode("utf-16"), "is UTF-16; save it as UTF-8"),
        (b"\x1f\x8b\x08\x00", "is compressed with gzip; give what is in it"),
        (b"%PDF-1.7", "is a PDF"),
    ],
)
def test_another_form_is_named(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        parts(in_file(tmp_path, content))


def test_an_encrypted_archive_and_no_file_are_named(tmp_path: Path) -> None:
    file = zipped(tmp_path / "export.zip", **{"conversations.json": b"[1]"})
    data = bytearray(file.read_bytes())
    # the flag in the directory at the end
    data[data.index(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(data)
    with pytest.raises(ValueError, match="is encrypted; unpack the archive"):
        parts(file)
    for nothing in (tmp_path / "none", Path("/dev/zero")):
        with pytest.raises(ValueError, match="there is no such file, folder or archive"):
            ImportFile(str(nothing))


@pytest.mark.parametrize("system", ["chatgpt", "markdown"])
async def test_a_half_of_an_archive_is_to_be_downloaded_again(system: str, tmp_path: Path) -> None:
    file = zipped(tmp_path / "export.zip", **{"conversations.json": json.dumps([*range(5_000)]).encode()})
    data = file.read_bytes()
    for length in (len(data) // 2, len(data) - 30):
        file.write_bytes(data[:length])
        with pytest.raises(ValueError, match="an archive whose end is missing or damaged; download it again"):
            await import_memories(MemoryFacade(InMemoryStore()), system, str(file), "ann")
