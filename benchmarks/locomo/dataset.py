"""Conversations in the layout of LoCoMo or BEAM, with questions and their evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop"}
"""Names of LoCoMo's numbers; other data may name its categories itself."""
ADVERSARIAL = 5
"""Questions without an answer, so without evidence."""
ASKED_AFTER = timedelta(days=7)
"""Time of undated questions, after the last session: a reference for "last month"."""

_TURN_ID = re.compile(r"D\s?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_SAID_AT = "%I:%M %p on %d %B, %Y"
_ROLES = {"user", "assistant"}


@dataclass(frozen=True)
class Turn:
    """One message, `D<session>:<turn>`; without a speaker if the data names only the role."""

    id: str
    speaker: str | None
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Session:
    id: str
    said_at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Question:
    text: str
    category: str
    evidence: frozenset[str]
    answer: str = ""


@dataclass(frozen=True)
class Conversation:
    """One owner's conversation with its questions; `skipped` counts non-adversarial questions without evidence."""

    owner: str
    source: str
    sessions: tuple[Session, ...]
    asked_at: datetime
    questions: tuple[Question, ...]
    skipped: int

    @property
    def turns(self) -> Iterator[Turn]:
        return (turn for session in self.sessions for turn in session.turns)


def load(files: Sequence[Path]) -> list[Conversation]:
    """Read the conversations with questions from files, or folders of files, in LoCoMo's or BEAM's layout.

    Raises:
        ValueError: If a file is invalid or has no question; the message names the file and the place.
    """
    conversations: list[Conversation] = []
    for file in (file for path in files for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])):
        try:
            samples = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"{file} cannot be read as JSON: {error}") from error
        if not isinstance(samples, list):
            raise ValueError(f"{file} is not in LoCoMo's layout: expected a list of samples")
        for number, sample in enumerate(samples):
            try:
                owner = f"{len(conversations)}/{file.stem}"
                known = _from_sessions(sample) if "sessions" in sample else sample
                conversations.append(_conversation(known, owner, file.stem))
            except KeyError as error:
                raise ValueError(f"{file}, sample {number}: {error.args[0]!r} is missing") from error
            except (AttributeError, TypeError, ValueError) as error:
                raise ValueError(f"{file}, sample {number}: {error}") from error
    conversations = [conversation for conversation in conversations if conversation.questions]
    if not conversations:
        raise ValueError(f"no question with evidence in {', '.join(map(str, files))}")
    return conversations


def turn_ids(text: str) -> list[str]:
    """Return the normalised ids in an evidence string; some strings hold several, or leading zeros.

    >>> turn_ids("D8:6; D9:17"), turn_ids("D1:02"), turn_ids("D:11:26")
    (['D8:6', 'D9:17'], ['D1:2'], [])
    """
    return [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(text)]


def _from_sessions(sample: dict[str, Any]) -> dict[str, Any]:
    """Convert BEAM's layout, a list of `sessions`, to LoCoMo's; abstentions have no evidence."""
    said: dict[str, Any] = {"speaker_b": "assistant"}
    ids: dict[str, str] = {}
    for number, session in enumerate(sample["sessions"], 1):
        said[f"session_{number}_date_time"] = session["date"]
        turns = said[f"session_{number}"] = []
        for place, turn in enumerate(session["turns"], 1):
            ids[str(turn["id"])] = f"D{number}:{place}"
            turns.append({"dia_id": f"D{number}:{place}", "speaker": turn["role"], "text": turn["text"]})
    questions = [
        {**entry, "category": entry["type"], "evidence": [ids.get(str(id_), "") for id_ in entry["evidence"]]}
        for entry in sample["qa"]
    ]
    return {"conversation": said, "qa": questions}


def _conversation(sample: dict[str, Any], owner: str, source: str) -> Conversation:
    said = sample["conversation"]
    names = sorted((int(found[1]), name) for name in said if (found := _SESSION.fullmatch(name)) and said[name])
    sessions = tuple(_session(said, name) for _, name in names)
    if not sessions:
        raise ValueError("the conversation has no session, 'session_1'")
    ids = {turn.id for session in sessions for turn in session.turns}
    questions = []
    skipped = 0
    for entry in sample["qa"]:
        category = entry["category"]
        if category == ADVERSARIAL:
            continue
        evidence = ids.intersection(id_ for text in entry["evidence"] for id_ in turn_ids(str(text)))
        if evidence:
            named = CATEGORIES.get(category) or str(category)
            questions.append(
                Question(str(entry["question"]), named, frozenset(evidence), str(entry.get("answer") or ""))
            )
        else:
            skipped += 1
    asked = sample.get("asked_date_time")
    asked_at = _date(str(asked)) if asked else max(session.said_at for session in sessions) + ASKED_AFTER
    return Conversation(owner, source, sessions, asked_at, tuple(questions), skipped)


def _session(said: dict[str, Any], name: str) -> Session:
    turns = []
    for entry in said[name]:
        [id_] = turn_ids(str(entry["dia_id"])) or [str(entry["dia_id"])]
        speaker = str(entry["speaker"])
        # a name that is a role says which side it is; two people talk, and the second stands on the assistant's side
        second = speaker == "assistant" or (speaker == said["speaker_b"] and speaker not in _ROLES)
        named = None if speaker in _ROLES else speaker
        text, caption = (str(entry.get(part) or "").strip() for part in ("text", "blip_caption"))
        if text := f"{text} [shared a photo: {caption}]".strip() if caption else text:
            turns.append(Turn(id_, named, "assistant" if second else "user", text))
    return Session(name, _date(str(said[f"{name}_date_time"])), tuple(turns))


def _date(text: str) -> datetime:
    try:
        said_at = datetime.strptime(text.strip(), _SAID_AT)
    except ValueError:
        try:
            said_at = datetime.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(f"{text!r} is no date such as '1:56 pm on 8 May, 2023' or '2023-05-08T13:56'") from None
    return said_at if said_at.tzinfo else said_at.replace(tzinfo=UTC)
