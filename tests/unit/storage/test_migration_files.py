"""Migration files: frozen once released, in one order; a function whose columns change is dropped first."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from react_mem.memory.store import migrations

FOLDER = Path(migrations.__file__).with_name("schema")
FILES = sorted(FOLDER.glob("*.sql"))

RELEASED = {
    "0000_embedding_model.sql": "f06d1cc4c918d196",
    "0001_vectors_by_owner.sql": "a1b217304d11912a",
    "0011_words_beside_vectors.sql": "b5f89496a94c5186",
    "0012_calibration.sql": "223c18ab7b2bf562",
    "0016_missing_vectors.sql": "3efde5cfc06f49ee",
    "0017_recall.sql": "0f4a89a15bd99db8",
    "0018_work_due.sql": "d3cf1aa064bcf553",
    "0019_links.sql": "d8df61db6d732919",
    "0020_linked.sql": "2a039821883e4bb2",
    "0021_owner.sql": "20c1188d5ecf245d",
    "0022_owner_of_rows.sql": "696687155f640546",
    "0023_write.sql": "642752ccfbe1a121",
    "0024_no_terms.sql": "26c5a74be01b75be",
    "0025_listed_fields.sql": "f674496f6b3dce9e",
    "0026_summary_links.sql": "ef6bca587c8e7160",
    "0027_attachments.sql": "fbd5e44e1205a28d",
    "0028_keys.sql": "f5973fe9f34e9de5",
    "0029_sealed.sql": "e080df054bf75f05",
    "0030_audit.sql": "2d0b65713592530d",
    "0031_no_content_in_statistics.sql": "1b04c4309284c484",
    "0032_write_words.sql": "b107d818cd1f4a72",
    "0033_no_next_vectors.sql": "3f722d769599bb45",
}
"""Every file and the beginning of its SHA-256. A new file adds a line here; no line ever changes."""

_FUNCTION = re.compile(r"CREATE (?:OR REPLACE )?FUNCTION (\w+)\s*(\(.*?\)\s*RETURNS.*?)\s*LANGUAGE", re.DOTALL)


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_text(encoding="utf-8").encode()).hexdigest()[:16]


def undropped(texts: list[str]) -> list[str]:
    """Return the functions that a text makes with other columns than before, without dropping the one there was."""
    made: dict[str, str] = {}
    found = []
    for text in texts:
        for name, signature in _FUNCTION.findall(text):
            wanted = " ".join(signature.split())
            if made.setdefault(name, wanted) != wanted and not re.search(rf"DROP FUNCTION IF EXISTS {name}\b", text):
                found.append(name)
            made[name] = wanted
    return found


def test_a_released_file_is_never_edited_renamed_or_deleted() -> None:
    assert {file.name: digest(file) for file in FILES} == RELEASED, (
        "A released migration was changed, or a new one is not listed. A change to the tables is a new file with the "
        "next number; databases that have run an old file never run it again."
    )


def test_a_function_whose_columns_change_is_dropped_and_made_anew() -> None:
    assert undropped([text for _, text in migrations.MIGRATIONS]) == []
    before = "CREATE FUNCTION f(a int)\nRETURNS TABLE (x int) LANGUAGE sql AS ''"
    after = before.replace("x int", "x int, y int")
    assert undropped([before, after]) == ["f"]
    assert undropped([before, "DROP FUNCTION IF EXISTS f(int);\n" + after]) == []
