"""Checks of a model's episode or summary against the messages and tool results; deduplication of episodes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage
from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.language import UNSPACED
from react_mem.memory.language.comparison import Vocabulary, content_words
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, normalise
from react_mem.memory.language.hallucination import Told, names, unknown_numbers, values
from react_mem.memory.model.interface import MemoryResultItem, SaidIn
from react_mem.memory.model.kinds import FACT, MESSAGE, SUMMARY
from react_mem.memory.model.origins import Origin, is_higher, lowest
from react_mem.memory.model.records import CalledTool, Episode, Fact, Level, Wording, written_in
from react_mem.memory.summaries.sources import shortened

if TYPE_CHECKING:
    from react_mem.memory.model.operations import EpisodeDraft


_GOAL_SHARE = 0.5
"""Share of a goal's words that the messages must have."""

_SAME_SHARE = 0.7
"""Share of words that two goals, or two lessons, must have of each other to be the same."""

_NEARLY_ALL = 0.8
"""Share of a request's words from which the account of its episode covers the request."""

_MAX_SITUATION = 300
"""Characters of an episode's request that are indexed and shown."""

_UNSPACED = re.compile(f"[{UNSPACED}]")


def hold_episode(
    draft: EpisodeDraft, said: Sequence[str], observed: Sequence[str], at: Iterable[datetime] = ()
) -> EpisodeDraft | None:
    """Return an episode without hallucinated parts; None if the messages do not support its goal.

    Args:
        said: The messages of the turn.
        observed: The tool results in it; lessons come from nothing else.
        at: Times of the messages, for the dates meant by "today" and "last Friday".
    """
    asked, told, seen = Told(said, at), Told([*said, *observed], at), Told(observed, at)
    goal = draft.goal.strip()
    if asked.share(goal) < _GOAL_SHARE or not told.bears_out(goal):
        return None
    outcome, snapshot = told.held(draft.outcome), told.held(draft.snapshot)
    return replace(
        draft,
        goal=goal,
        steps=_held(draft.steps, told),
        outcome=outcome,
        lessons=tuple(
            lesson
            for lesson in map(str.strip, draft.lessons)
            if seen.share(lesson) and not seen.invented(lesson) and told.speech.has(lesson)
        ),
        milestone=told.held(draft.milestone) if outcome or snapshot else "",
        snapshot=snapshot,
    )


def hold_summary(text: str, said: Sequence[str], at: Iterable[datetime] = ()) -> str:
    """Return the supported sentences of a summary: names, numbers, words and language from the sources; perhaps none.

    Args:
        said: The sources: messages and tool results.
        at: Times of the messages.

    >>> hold_summary("User moved to Hue. User paid 90 dollars.", ["I have moved to Hue"])
    'User moved to Hue.'
    """
    return Told(said, at).held(text)


def same_episode(new: Episode, known: Iterable[Episode]) -> Episode | None:
    """Return the stored episode with the same goal as a new one, perhaps in other words; None if there is none."""
    return next((one for one in known if one.id == new.id or _is_same(one, new)), None)


def merged(known: Episode, new: Episode) -> Episode:
    """Return a known episode merged with a new account of it: the latest outcome, all lessons."""
    lessons = list(known.lessons)
    for lesson in new.lessons:
        lessons = [*(one for one in lessons if not _alike(one, lesson)), lesson]
    outcome = new.outcome or known.outcome
    # the request that began it
    situation = known.situation or new.situation
    told = " ".join(filter(None, [new.milestone_title, known.goal, outcome, *lessons]))
    milestone = new.level is Level.MILESTONE
    return known.model_copy(
        update={
            "text": new.text if milestone else episode_text(told, situation),
            "situation": situation,
            "thoughts": new.thoughts or known.thoughts,
            "steps": new.steps or known.steps,
            "outcome": outcome,
            "lessons": tuple(lessons),
            "milestone_title": new.milestone_title or known.milestone_title,
            "linked_steps": tuple(dict.fromkeys((*known.linked_steps, *new.linked_steps))),
            "source_ids": tuple(dict.fromkeys((*known.source_ids, *new.source_ids))),
            "origin": lowest([known.origin, new.origin]),
            "importance": max(known.importance, new.importance),
            **written_in(new),
        }
    )


def episode_text(told: str, situation: str) -> str:
    r"""Return the indexed and shown text of an episode.

    Args:
        told: Goal and outcome.
        situation: The request that began it; a line of its own unless `told` covers it.

    >>> episode_text("Book a flight. Booked.", "Please book me a flight")
    'Book a flight. Booked.'
    >>> episode_text("Book a flight. Booked.", "My sister marries in Rome")
    'Book a flight. Booked.\nMy sister marries in Rome'
    """
    told, begun = told[:MAX_INDEXED_CHARS], shortened(situation.strip(), _MAX_SITUATION)
    if not begun or Vocabulary([told]).share(begun) >= _NEARLY_ALL:
        return told
    return f"{told}\n{begun}"[:MAX_INDEXED_CHARS]


def _held(parts: Iterable[str], told: Told) -> tuple[str, ...]:
    return tuple(filter(None, map(told.held, parts)))


def _is_same(one: Episode, other: Episode) -> bool:
    if one.level is not other.level or Level.CONVERSATION in (one.level, other.level):
        return False
    return _alike(one.goal, other.goal)


def _alike(one: str, other: str) -> bool:
    """Return true if two sentences have nearly the same words, and no other name or number."""
    if normalise(one) == normalise(other):
        return True
    if unknown_numbers(one, values(other)) or unknown_numbers(other, values(one)):
        return False
    return _is_said_by(one, other) and _is_said_by(other, one)


def _is_said_by(one: str, other: str) -> bool:
    vocabulary = Vocabulary([other])
    named = Vocabulary([other], names=True)
    if vocabulary.share(one) < _SAME_SHARE or any(named.missing(name) for name in names(one, True)):
        return False
    # two characters that stand side by side may be a name: 顺化 and 河内
    known = (word in vocabulary for word in content_words(one) if _UNSPACED.match(word))
    return all(has or len(list(run)) == 1 for has, run in groupby(known))


# Calls and thoughts that led to an answer: a model's thinking, in the forms of the providers.

THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""Types of content blocks with a model's thinking, which nobody says aloud."""

CALLS = frozenset({"tool_call", "tool_use", "function_call", "server_tool_call", "server_tool_use"})
"""Types of content blocks with a tool call."""

_MAX_ARGUMENTS = 2_000
_MAX_THINKING = 4_000
_MAX_CALLS = 20
"""Limits of a turn's record: characters of a call's arguments, characters of thinking, and calls. The latest are kept;
the thread has all.
"""

_BESIDE = ("reasoning_content", "thought")
"""Fields beside the content that hold thinking: of servers of open models, and of tool calls in text form."""

_BEFORE = re.compile(r"\s*<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def called(messages: Sequence[AIMessage]) -> tuple[CalledTool, ...]:
    """Return the tool calls before an answer, the latest last.

    >>> call = {"name": "look_up", "args": {"what": "Huế"}, "id": "c1"}
    >>> called([AIMessage("", tool_calls=[call])])
    (CalledTool(name='look_up', arguments='{"what": "Huế"}', id='c1'),)
    """
    calls = [call for message in messages for call in calls_of(message)]
    return tuple(map(_kept, calls[-_MAX_CALLS:]))


def calls_of(message: AIMessage) -> list[Mapping[str, Any]]:
    """Return the calls of a message, from its field and from its content, each as {"name", "args", "id"}.

    >>> calls_of(AIMessage([{"type": "tool_use", "name": "look_up", "input": {"what": "Huế"}, "id": "c1"}]))
    [{'name': 'look_up', 'args': {'what': 'Huế'}, 'id': 'c1'}]
    """
    if isinstance(message.content, str):
        return list(message.tool_calls)
    known = {call["id"] for call in message.tool_calls}
    return [*message.tool_calls, *(call for call in map(_call, message.content) if call and call["id"] not in known)]


def led_apart(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message to be written with its calls and thinking moved from its blocks to their own fields.

    Args:
        data: The message; its `tool_calls` and `thinking` stay, ahead of those of its blocks.

    >>> led_apart({"content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Hi"}]})
    {'content': [{'type': 'text', 'text': 'Hi'}], 'thinking': 'Hm.'}
    """
    content, known = data.get("content"), data.get("tool_calls") or ()
    if not isinstance(content, list) or not isinstance(known, list | tuple):
        return dict(data)
    ids = {call.get("id") if isinstance(call, Mapping) else getattr(call, "id", None) for call in known}
    found = [call for call in map(_call, content) if call]
    calls = [_kept(call) for call in found if not call["id"] or call["id"] not in ids]
    thought = "\n\n".join(dict.fromkeys(text for block in content if _is_thought(block) for text in _texts(block)))
    said = [block for block in content if not (_is_thought(block) or _call(block))]
    apart = {**data, "content": said}
    if calls:
        apart["tool_calls"] = [*known, *calls][-_MAX_CALLS:]
    if thought:
        apart["thinking"] = _latest("\n\n".join(filter(None, [data.get("thinking"), thought])))
    return apart


def thoughts_in(messages: Sequence[AIMessage]) -> str:
    """Return a model's thinking for an answer, the latest part if it is long.

    >>> thoughts_in([AIMessage([{"type": "thinking", "thinking": "Hm.", "signature": "x"}])])
    'Hm.'
    """
    # some servers send it twice, beside the content and in it
    thought = "\n\n".join(dict.fromkeys(text for message in messages for text in _thoughts(message)))
    return _latest(thought)


def thought_before(text: str) -> str:
    """Return the tagged thinking at the head of a text; empty if there is none.

    >>> thought_before("<think>Hm.</think> Hello"), thought_before("I think so")
    ('<think>Hm.</think>', '')
    """
    found = _BEFORE.match(text) if "<" in text[:80] else None
    return found[0] if found else ""


def _thoughts(message: AIMessage) -> Iterable[str]:
    told = [message.additional_kwargs.get(name) for name in _BESIDE] if message.additional_kwargs else []
    content = message.content
    if isinstance(content, str):
        found = _BEFORE.match(content) if "<" in content[:80] else None
        told += [found[1]] if found else []
    else:
        told += filter(_is_thought, content)
    return [text for part in told for text in _texts(part)]


def _is_thought(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") in THOUGHTS


def _call(block: Any) -> Mapping[str, Any] | None:
    """Return the call of a block as {"name", "args", "id"}; None if it is none."""
    if not isinstance(block, Mapping) or block.get("type") not in CALLS or not isinstance(block.get("name"), str):
        return None
    args: Any = next((block[name] for name in ("args", "input", "arguments") if name in block), {})
    return {"name": block["name"], "args": args, "id": str(block.get("call_id") or block.get("id") or "")}


def _kept(call: Mapping[str, Any]) -> CalledTool:
    args = call["args"]
    arguments = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str)
    if len(arguments) > _MAX_ARGUMENTS:
        arguments = f"{arguments[: _MAX_ARGUMENTS - 1]}…"
    return CalledTool(name=call["name"], arguments=arguments, id=call["id"] or "")


def _latest(thought: str) -> str:
    return thought if len(thought) <= _MAX_THINKING else f"…{thought[1 - _MAX_THINKING :]}"


def _texts(part: Any) -> Iterable[str]:
    """Yield the texts of a thinking block."""
    if isinstance(part, str):
        if part.strip():
            yield part.strip()
    elif isinstance(part, Mapping):
        # never the signature beside it, nor what is encrypted
        for name in ("thinking", "reasoning", "reasoning_content", "summary", "content", "text"):
            yield from _texts(part.get(name))
    elif isinstance(part, list):
        for one in part:
            yield from _texts(one)


# Places where a fact was said, told beside it: a summary of summaries names its conversation and no message.

_FIRST_LEVEL = "1"

_MOST = 20
"""Messages of one fact that are looked up, the latest."""


async def with_places(store: BaseStore, user_id: str, results: Sequence[MemoryResultItem]) -> list[MemoryResultItem]:
    """Return results with the conversations and turns of each fact that has several messages.

    The store is asked only if such a fact stands beside a summary of summaries.
    """
    several = [item for item in results if item.source == FACT.name and len(item.source_ids) > 1]
    if not several or not any(_is_higher(item) for item in results):
        return list(results)
    dialog = MESSAGE.namespace(user_id)
    ids = dict.fromkeys(id_ for item in several for id_ in item.source_ids[-_MOST:])
    found = cast("list[Item | None]", await store.abatch([GetOp(dialog, id_) for id_ in ids]))
    places = {item.key: _place(item.value) for item in found if item is not None and MESSAGE.matches(item.value)}

    def placed(item: MemoryResultItem) -> MemoryResultItem:
        said_in = dict.fromkeys(places[id_] for id_ in item.source_ids if id_ in places)
        return item.model_copy(update={"said_in": tuple(said_in)})

    return [placed(item) if item in several else item for item in results]


def _is_higher(item: MemoryResultItem) -> bool:
    return item.source == SUMMARY.name and item.payload.get("level", _FIRST_LEVEL) != _FIRST_LEVEL


def _place(message: Mapping[str, object]) -> SaidIn:
    turn = message.get("turn")
    return SaidIn(session_id=str(message.get("session_id") or ""), turn=turn if isinstance(turn, int) else None)


# A fact that others vouch for and that its owner then says: from then on it is theirs, in their words.

_OWNERS = frozenset({Origin.USER, Origin.ASSENT})
"""Origins of the owner's own statements and assents; only these replace a fact by other words."""


def is_told_anew(fact: Fact, new: Fact) -> bool:
    """Return true if a more trusted origin says a fact in a message that is not among its sources."""
    heard = {*fact.source_ids, *fact.withdrawn}
    return is_higher(new.origin, fact.origin) and not heard.issuperset(new.source_ids)


def is_put_anew(fact: Fact, new: Fact) -> bool:
    """Return true if the owner says a fact of another origin in other words, which then replace it."""
    return new.origin in _OWNERS and is_told_anew(fact, new) and normalise(new.text) != normalise(fact.text)


def ways(fact: Fact) -> set[str]:
    """Return the normalised wordings of a fact."""
    return {normalise(fact.text), *(normalise(wording.text) for wording in fact.wordings)}


def says_again(heir: Fact, fact: Fact) -> bool:
    """Return true if a successor says the same as an ended fact, with more trust."""
    return is_higher(heir.origin, fact.origin) and normalise(fact.text) in ways(heir)


def unsourced(wordings: Iterable[Wording]) -> tuple[Wording, ...]:
    """Return wordings without sources: alternative texts that support nothing."""
    return tuple(wording.model_copy(update={"source_ids": ()}) for wording in wordings)


def put_anew(own: Fact, fact: Fact) -> Fact:
    """Return the owner's fact with the wordings and dependants of the fact it replaces."""
    others = (Wording(text=fact.text, said_at=fact.said_at, source_ids=()), *unsourced(fact.wordings))
    known = ways(own)
    more = tuple(one for one in others if normalise(one.text) not in known)
    needed_by = tuple(id_ for id_ in dict.fromkeys((*own.needed_by, *fact.needed_by)) if id_ != own.id)
    return own.model_copy(update={"wordings": (*more, *own.wordings), "needed_by": needed_by})
