"""The memory of a user, in two languages, and the requests with what they need of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from react_mem.memory import MemoryScope
from react_mem.memory.model.records import Episode, Fact, Message, Record
from react_mem.memory.model.skills import Skill

Lang = Literal["en", "vi"]

LANGS: tuple[Lang, ...] = ("en", "vi")

_DATA = Path(__file__).with_name("data")

_BEGINNING = datetime(2026, 1, 5, 9, tzinfo=UTC)


class MemoryRow(BaseModel):
    """Memory as the data file has it.

    Args:
        id: Its id.
        scope: The layer that it is in.
        en: What it says in English; what was said begins with who said it.
        vi: The same in Vietnamese.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    scope: MemoryScope
    en: str
    vi: str

    def record(self, lang: Lang, place: int) -> Record:
        """Return it as memory keeps it.

        Args:
            lang: In which language.
            place: Where it stands in the file: the later the newer.
        """
        text = self.vi if lang == "vi" else self.en
        about: dict[str, Any] = {
            "id": self.id,
            "text": text,
            # no two of them were said one after the other
            "session_id": f"earlier {self.id}",
            "agent_id": "agent",
            "created_at": _BEGINNING + timedelta(days=place % 90, minutes=place),
        }
        match self.scope:
            case MemoryScope.SEMANTIC:
                return Fact.model_validate({**about, "about": "user"})
            case MemoryScope.EPISODIC:
                goal, _, outcome = text.partition(": ")
                return Episode.model_validate({**about, "goal": goal, "outcome": outcome})
            case MemoryScope.PROCEDURAL:
                return Skill.model_validate({**about, "use_when": text.partition(":")[0], "status": "active"})
            case _:
                role, _, said = text.partition(": ")
                return Message.model_validate({**about, "role": role, "text": said, "content": said, "turn": place})


class LayerRequest(BaseModel):
    """A request, and what it needs.

    Args:
        lang: Its language.
        text: What the user says.
        needs: The memories without which it cannot be answered; none where it is talk, or common knowledge.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    lang: Lang
    text: str
    needs: tuple[str, ...]


def load_memory() -> list[MemoryRow]:
    """Return the memories."""
    return [MemoryRow.model_validate(row) for row in _rows("memory")]


def load_layer_requests() -> list[LayerRequest]:
    """Return the requests."""
    return [LayerRequest.model_validate(row) for row in _rows("requests")]


def _rows(name: str) -> Sequence[Any]:
    rows: Sequence[Any] = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return rows
