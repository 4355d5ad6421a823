"""Values of a checkpoint as somebody would write them who can write to its database and wants to run code."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import ormsgpack


class _Touching:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self._path,)


def crafted(canary: Path) -> dict[str, tuple[str, bytes]]:
    """Return values that make a file where they are loaded by what is not strict, by what each tries."""
    command = f"touch {canary}"
    code = f"open({str(canary)!r}, 'w')"
    calls = {
        "one argument": (0, ("os", "system", command)),
        "eval": (0, ("builtins", "eval", code)),
        "arguments": (1, ("subprocess", "call", (["touch", str(canary)],))),
        "named arguments": (2, ("subprocess", "check_call", {"args": ["touch", str(canary)]})),
        "method": (3, ("pathlib", "Path", str(canary), "touch")),
        "pydantic 1": (4, ("subprocess", "check_call", {"args": ["touch", str(canary)]})),
        "pydantic 2": (5, ("subprocess", "check_call", {"args": ["touch", str(canary)]}, "model_validate_json")),
    }
    values = {name: ("msgpack", packed(*call)) for name, call in calls.items()}
    values["nested"] = ("msgpack", ormsgpack.packb({"a": [1, {"b": _ext(0, ("os", "system", command))}]}))
    values["snapshot"] = ("msgpack", packed(7, [_ext(0, ("os", "system", command))]))
    values["pickle"] = ("pickle", pickle.dumps(_Touching(canary)))
    values["json"] = (
        "json",
        json.dumps({"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [command]}).encode(),
    )
    return values


def packed(code: int, call: Any) -> bytes:
    """Return a value of LangGraph's extension types."""
    return ormsgpack.packb(_ext(code, call))


def _ext(code: int, call: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(code, ormsgpack.packb(call))
