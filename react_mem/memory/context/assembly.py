"""Assembly of a turn's prompt, once and before the first call of the model, within its window."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from react_mem.memory.context.dialogue import (
    Verbatim,
    chain_of,
    fit,
    render_pages,
    render_summaries,
    visible,
)
from react_mem.memory.context.found_memory import (
    HEADING_TOKENS,
    BriefingEntry,
    BriefingPart,
    FoundMemory,
    PromptBlock,
    render_line,
)
from react_mem.memory.context.layout import MIN_MESSAGE_TOKENS, Frame, Layout
from react_mem.memory.context.memories import NEARLY_ALL, render_found, render_profile
from react_mem.memory.language.comparison import share
from react_mem.memory.language.folding import normalise
from react_mem.memory.llm.budget import LineTokens, Section, allocate, count_tokens
from react_mem.memory.merging.transcript import message_record_id, text_of
from react_mem.memory.model.concepts import ChainEntry, ContextChain
from react_mem.memory.model.external import WebPage
from react_mem.memory.model.interface import MemoryDoubt, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import CHAIN, MESSAGE, SUMMARY
from react_mem.memory.model.profile_schema import zone_in
from react_mem.memory.retrieval.results import INSTRUCTION, shown_of
from react_mem.memory.summaries.sources import shown
from react_mem.prompts import load_prompt

# Standing instructions and preferences of the user, as the prompt shows them.

_MAX_CHARS = 160
_SHARE = 6
"""Divisor of the room of memories: instructions take a sixth of it at most."""

_SAYS_MORE = 1.5
"""Maximum length of a message, relative to its instruction, that says nothing else."""


def render_instructions(
    results: Sequence[MemoryResultItem], room: int, counts: LineTokens
) -> PromptBlock[MemoryResultItem]:
    """Render the standing instructions and preferences of the user, word for word, in a share of all memories' room."""
    found = [item for item in results if item.source == INSTRUCTION and not _is_over(item)]
    left = room // _SHARE - HEADING_TOKENS[BriefingPart.INSTRUCTIONS]
    entries: list[BriefingEntry] = []
    items: list[MemoryResultItem] = []
    for item in found:
        line = render_line(item.payload, item.fragments[0].content, _MAX_CHARS, kind=MESSAGE.name)
        if counts[line] <= left:
            left -= counts[line]
            entries.append(BriefingEntry(BriefingPart.INSTRUCTIONS, line))
            items.append(item)
    return PromptBlock.of(entries, items, len(found) - len(items))


def _is_over(instruction: MemoryResultItem) -> bool:
    """Return true if the user has changed or ended an instruction."""
    said = instruction.fragments[0].content
    return any(one.of == instruction.id and share(said, [one.part or said]) >= NEARLY_ALL for one in instruction.doubts)


_FORMS = {name: load_prompt(name) for name in ("web_pages", "memories", "summaries")}
"""Retrieved sections in the order of the prompt: the conversation follows the summary of its beginning."""

_ASKED_CHARS = 2_000
"""Characters of a question that are compared with memories; a book may be pasted behind them."""

_MAX_USED = 40
"""Maximum number of a prompt's memories that are noted, the most relevant first: more than the defaults show."""

_FORM_TOKENS = {name: count_tokens(form) for name, form in _FORMS.items()}


@dataclass(frozen=True)
class Assembled:
    """Assembled prompt of a turn.

    Args:
        layout: Layout of the prompt; with the thread it determines the prompt.
        tokens: Tokens of each section.
        budget: Maximum tokens of each section, given the others.
        dropped: Items that did not fit, by section: fields, pages, memories, summaries, messages.
        cut: Characters of the question that are left out.
        missing: Parts that could not be put in, with the cause.
        texts: Texts of the retrieved sections; `ids` are the records in each of them.
    """

    layout: Layout
    memories: PromptBlock[MemoryResultItem]
    tokens: dict[Section, int]
    budget: dict[Section, int]
    dropped: dict[Section, int]
    cut: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    texts: dict[Section, str] = field(default_factory=dict)
    ids: dict[Section, list[str]] = field(default_factory=dict)


def assemble(
    frame: Frame,
    results: Sequence[MemoryResultItem] = (),
    pages: Sequence[WebPage] = (),
    *,
    session_id: str = "",
    recalls: bool,
    favoured: Collection[str] = (),
    limited: bool = False,
) -> Assembled:
    """Assemble the prompt of a turn.

    Args:
        frame: The window, with its fixed parts.
        results: Results of `Memory.read` for the question.
        pages: Web pages, the best first.
        session_id: The conversation.
        recalls: True if the omitted part of the conversation can be recalled later. If not, all of it is shown, as
            `react` does, unless it is known not to fit.
        favoured: The scopes that the question asks for: their memories get room first.
        limited: True if the other scopes show their best only.
    """
    turns = frame.recent if recalls else frame.all_turns
    bounded = recalls or frame.window.known
    chain, unreadable = chain_of(results, session_id)
    changed = [doubt for item in results if item.source == CHAIN.name for doubt in item.doubts]
    found = [item for item in results if item.source not in (CHAIN.name, INSTRUCTION)]
    found = shown_of(found, favoured) if limited else found
    counts = LineTokens()
    # what the user wants from now on has its room as the profile has
    most = frame.policy.context.memory_tokens
    instructions = render_instructions(results, most, counts)
    zone = zone_in(next((one.payload for one in found if one.scope is MemoryScope.PROFILE), {}))
    profile = render_profile(found, frame.profile_cap, zone) + instructions
    profile_tokens = _tokens(counts, "memories", profile.briefing)
    cap = most - counts[profile.briefing]

    # what each section would take if there were no limit
    certain = frame.certain(turns, profile_tokens)
    # messages that say nothing beyond the shown instructions need no line of their own
    told = {
        item.id
        for item in instructions.items
        if len(normalise(str(item.payload.get("text", "")))) <= _SAYS_MORE * len(normalise(item.fragments[0].content))
    }
    tellable = [
        FoundMemory(item, times=frame.times, zone=zone)
        for item in found
        # shown instructions may say it: a message of nothing else, or a record drawn from such alone
        if item.scope is not MemoryScope.PROFILE
        and not (item.id in told or (item.source_ids and told.issuperset(item.source_ids)))
    ]
    question = text_of(frame.thread[-1])[:_ASKED_CHARS]
    memories = render_found(tellable, cap, favoured, question=question, counts=counts)
    wanted = {
        Section.WEB_PAGES: _tokens(counts, "web_pages", render_pages(pages, frame.window.tokens).text),
        Section.MEMORIES: _tokens(counts, "memories", memories.briefing, after=profile.briefing),
        Section.SUMMARIES: _tokens(counts, "summaries", _earlier(chain, certain, frame.window.tokens, changed).text),
        Section.CONVERSATION: sum(turn.tokens for turn in turns),
    }
    room = frame.room(profile_tokens)
    budget = allocate(room, wanted)

    whole = Verbatim(0, 0, wanted[Section.CONVERSATION])
    verbatim = fit(turns, frame.now, budget[Section.CONVERSATION]) if bounded else whole
    found_pages = render_pages(pages, _lines("web_pages", budget[Section.WEB_PAGES]))
    earlier = _earlier(chain, verbatim, _lines("summaries", budget[Section.SUMMARIES]), changed)
    shown_places = visible(frame.thread, verbatim.first, verbatim.whole)
    said = {entry.id for entry in earlier.items}
    if any(item.payload.get("session_id") == session_id for item in found if item.scope is MemoryScope.DIALOG):
        said |= {message_record_id(session_id, frame.thread[place]) for place in shown_places}
    new = [one for one in tellable if not _is_said(one.item, said, verbatim.first, session_id)]
    if len(new) < len(tellable) or budget[Section.MEMORIES] < wanted[Section.MEMORIES]:
        room_for = min(_lines("memories", budget[Section.MEMORIES], after=profile.briefing), cap)
        memories = render_found(new, room_for, favoured, question=question, counts=counts)
    start = min((turn.start for turn in turns), default=frame.now)
    # of each section the text, the form, what stands before it under this form, and how many did not fit
    sections = {
        Section.PROFILE: (profile.briefing, "memories", "", profile.dropped),
        Section.WEB_PAGES: (found_pages.text, "web_pages", "", found_pages.dropped),
        Section.MEMORIES: (memories.briefing, "memories", profile.briefing, memories.dropped),
        Section.SUMMARIES: (earlier.text, "summaries", "", earlier.dropped),
    }
    tokens = {
        Section.SYSTEM: frame.system_tokens,
        Section.TOOLS: frame.tool_tokens,
        Section.PROFILE: profile_tokens,
        Section.QUESTION: frame.question[0],
        **{section: _tokens(counts, form, text, after=before) for section, (text, form, before, _) in sections.items()},
        Section.CONVERSATION: verbatim.tokens,
    }
    left = max(frame.available - sum(tokens.values()), 0)
    # of each section its budget and all unused room
    unused = room - sum(budget.values())
    limits = {section: own + unused for section, own in budget.items()}
    limits[Section.MEMORIES] = min(limits[Section.MEMORIES], most + _FORM_TOKENS["memories"])
    texts = {
        "web_pages": found_pages.text,
        "memories": (profile + memories).briefing,
        "summaries": earlier.text,
    }
    layout = Layout(
        retrieved="\n\n".join(form.format(**texts) for name, form in _FORMS.items() if texts[name]),
        first=str(frame.thread[verbatim.first].id) if bounded else "",
        whole=str(frame.thread[verbatim.whole].id) if bounded else "",
        question_tokens=frame.question_cap,
        # the latest steps stay as they are, one more may come before older ones are compressed, and the notes on those
        result_tokens=max(left // (frame.policy.context.keep_raw_steps + 2), MIN_MESSAGE_TOKENS)
        if frame.window.known
        else None,
        step_tokens=left,
    )
    _note(layout, memories.items, searched=bool(found_pages.items))
    gone: frozenset[str] = getattr(results, "forgotten", frozenset())
    if forgotten := [str(m.id) for m in frame.thread if gone and message_record_id(session_id, m) in gone]:
        layout["forgotten"] = forgotten
    return Assembled(
        layout=layout,
        memories=profile + memories,
        tokens=tokens,
        budget={**tokens, **limits, Section.WORKING_MEMORY: left},
        dropped={section: dropped for section, (*_, dropped) in sections.items()}
        | {Section.CONVERSATION: len(frame.thread) - start - sum(place >= start for place in shown_places)},
        cut=frame.question[1],
        missing={"summaries": unreadable} if unreadable else {},
        texts={section: text for section, (text, *_) in sections.items()},
        ids={
            Section.PROFILE: [item.id for item in profile.items],
            Section.MEMORIES: [item.id for item in memories.items],
            Section.SUMMARIES: sorted(entry.id for entry in earlier.items),
        },
    )


def _note(layout: Layout, items: Sequence[MemoryResultItem], *, searched: bool) -> None:
    """Note in a layout the memories, skills and pages that the prompt shows."""
    if items:
        layout["used"] = [item.id for item in items[:_MAX_USED]]
    if skills := [item for item in items if item.scope is MemoryScope.PROCEDURAL]:
        layout["offered"] = [skill.id for skill in skills]
        told = ((str(skill.payload.get("task_type") or ""), skill.payload.get("tool_sops")) for skill in skills)
        if kinds := {kind: [str(step["tool"]) for step in sops] for kind, sops in told if kind and sops}:
            layout["kinds"] = kinds
    if searched:
        layout["searched"] = True


def _earlier(
    chain: ContextChain | None, verbatim: Verbatim, max_tokens: int, changed: Sequence[MemoryDoubt]
) -> PromptBlock[ChainEntry]:
    return render_summaries(shown(chain, verbatim.first) if chain else [], max_tokens, changed)


def _is_said(item: MemoryResultItem, said: set[str], first: int, session_id: str) -> bool:
    """Return true if the prompt, which shows the records `said` and the conversation from `first` on, already shows a
    memory word for word, or everything that a summary stands for.
    """
    if item.id in said or item.source != SUMMARY.name:
        return item.id in said
    # one of a higher level has summaries for its sources, and tells where in the conversation they begin
    begins = item.payload.get("first_turn")
    later = begins is not None and begins >= first and item.payload.get("session_id") == session_id
    return later or said.issuperset(item.payload.get("source_ids") or [item.id])


def _tokens(counts: LineTokens, name: str, text: str, *, after: str = "") -> int:
    """Return the tokens of a block; behind `after`, its form stands there already."""
    # line by line, as the lines were taken in: what takes so much fits in so much
    return counts.of(text) + (0 if after else _FORM_TOKENS[name]) if text else 0


def _lines(name: str, budget: int, *, after: str = "") -> int:
    """Return the tokens of a budget that are left for the lines of a block."""
    return budget if after else max(budget - _FORM_TOKENS[name], 0)
