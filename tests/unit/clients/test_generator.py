"""What follows from the schema is in the repository, and a schema is read as it is meant."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clients.generator.python_client import python_files, python_type
from clients.generator.reading import read
from clients.generator.typescript_client import typescript_files, typescript_type
from clients.generator.writing import ROOT, generated_files
from react_mem.graphs.http import app
from react_mem.graphs.memory_api.callers_memory import PREFIX
from react_mem_client import MemoryClient


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """The files as they are to be."""
    return generated_files()


def test_the_files_are_what_the_schema_says(generated: dict[str, str]) -> None:
    assert len(generated) == 8
    old = [path for path, text in generated.items() if (ROOT / path).read_text(encoding="utf-8") != text]
    assert old == [], "out of date: run `make clients`"


def test_every_route_is_a_method_of_both_clients(generated: dict[str, str]) -> None:
    paths = app.openapi()["paths"]
    ids = [one["operationId"] for path in paths if path.startswith(PREFIX) for one in paths[path].values()]
    python = generated["clients/python/react_mem_client/client.py"]
    typescript = generated["clients/typescript/src/client.js"]
    declared = generated["clients/typescript/src/client.d.ts"]
    assert len(ids) >= 21
    for name in ids:
        assert re.search(rf"^    async def {name}\(\s*self", python, re.MULTILINE), name
        camel = re.sub("_(.)", lambda found: found[1].upper(), name)
        assert re.search(rf"^  async \*?{camel}\(", typescript, re.MULTILINE), camel
        assert f"  {camel}(" in declared
    pages = [one for one in ids if f"`{one}` has" in python]
    assert set(pages) == {"list_memories", "list_conversations", "show_conversation"}


def test_every_method_and_its_route_stand_in_the_docs() -> None:
    told = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
    for operation in read(app.openapi(), PREFIX).operations:
        assert f"`{operation.name}`" in told, operation.name
    methods = set(re.findall(r"`([a-z]+_[a-z_]+)\b(?:\(|`)", told.partition("## How")[0]))
    fields = {"user_id", "if_match", "if_none_match", "retry_after", "last_event_id"}
    assert methods - fields <= {name for name in dir(MemoryClient) if not name.startswith("_")}


def schema(**operation: Any) -> dict[str, Any]:
    answer = {"schema": {"$ref": "#/components/schemas/Found"}}
    described = {
        "operationId": "find_it",
        "description": "Find it.",
        "responses": {"200": {"description": "", "content": {"application/json": answer}}, "404": {}},
        **operation,
    }
    found = {"properties": {"from": {"type": "string"}, "kind": {"enum": ["a", "b"]}}, "required": ["from"]}
    return {"paths": {"/v1/it": {"get": described}}, "components": {"schemas": {"Found": found}}}


def test_a_word_of_python_is_no_name_of_a_field() -> None:
    models = python_files(read(schema(), "/v1"))["models.py"]
    assert 'from_: str = Field(alias="from")' in models
    assert 'kind: Annotated[Literal["a", "b"], SkipValidation] | None = None' in models
    assert "readonly from: string;" in typescript_files(read(schema(), "/v1"))["models.d.ts"]


def test_a_list_whose_pages_cannot_be_turned_is_refused() -> None:
    cursor = {"name": "cursor", "in": "query", "schema": {"type": "string"}}
    with pytest.raises(ValueError, match="find_it takes a cursor, and no part of its answer has a next_cursor"):
        read(schema(parameters=[cursor]), "/v1")


@pytest.mark.parametrize(
    ("kind", "python", "typescript"),
    [
        ({"type": "string", "format": "date-time"}, "datetime", "string | Date"),
        ({"type": "array", "items": {"enum": ["x", "y"]}}, 'Sequence[Literal["x", "y"]]', 'readonly ("x" | "y")[]'),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "float | None", "number | null"),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            "dict[str, int]",
            "Readonly<Record<string, number>>",
        ),
        ({"const": "yes"}, 'Literal["yes"]', '"yes"'),
    ],
    ids=str,
)
def test_a_schema_is_a_type_of_each_language(kind: dict[str, Any], python: str, typescript: str) -> None:
    assert python_type(kind, given=True) == python
    assert typescript_type(kind, given=True) == typescript
