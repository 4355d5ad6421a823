"""Consolidation: generalisations over many facts and episodes become knowledge, counted by rules or drawn by a model.

Knowledge names its sources and depends on them: the batch that ends a source also ends the knowledge or lowers its
count of proofs. The rest is redrawn behind the turns.
"""

from __future__ import annotations

import asyncio
import hashlib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast, get_args

from langgraph.store.base import BaseStore, Op, SearchItem, SearchOp

from react_mem.memory.language import denial_of
from react_mem.memory.language.comparison import content_words, missing, share, word_ends
from react_mem.memory.language.folding import fold, normalise
from react_mem.memory.language.hallucination import Told
from react_mem.memory.language.terms import index_terms
from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.calls import Asker, ModelQuestion, as_lines, objects, strings
from react_mem.memory.merging.skill_life import SCOPES, load_knowledge, sources_of, without
from react_mem.memory.model.concepts import MIN_SOURCES, Form, Knowledge, Reference, confidence
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import EPISODE, FACT, KNOWLEDGE, SUMMARY
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Change, delete, put
from react_mem.memory.model.origins import lowest
from react_mem.memory.model.records import Episode, Fact, Level, now
from react_mem.memory.reflect.driver import Asked, Checked, Gathered, Report, Strategy, Values

# Countable regularities: facts with a common beginning, repeated goals with one outcome, repeated lessons.

MIN_TIMES = 3  # Twice is a coincidence
_SHOWN = 8  # Latest examples in one text, a line of the prompt
MAX_SOURCES = 50
_MIN_BEGINNING, _MAX_BEGINNING = 2, 8  # Words of a common beginning: one, such as "I", says nothing
_MAX_REST = 60  # Characters after the beginning: they become one item of a list
_MARKS = " .!?;:,…。！？、，"


@dataclass(frozen=True)
class Drawn:
    """Knowledge before it is a record; `key` is its identity while the text changes, empty where the text is it."""

    form: Form
    about: str
    text: str
    source_ids: tuple[str, ...]
    proofs: int
    against: int = 0
    made_by: str = "rules"
    key: str = ""


def counted(facts: Sequence[Fact], former: Sequence[Fact], episodes: Sequence[Episode]) -> list[Drawn]:
    """Return the regularities of current facts and episodes; former facts count against them."""
    return [*_of_facts(facts, former), *_of_goals(episodes), *_of_lessons(episodes)]


@dataclass(frozen=True)
class _Said:
    """A fact with its text in NFKC form and its folded words, each with its end in the text."""

    fact: Fact
    text: str
    words: Sequence[tuple[str, int]]

    @classmethod
    def of(cls, fact: Fact) -> _Said:
        return cls(fact, unicodedata.normalize("NFKC", fact.text), word_ends(fact.text))

    @property
    def beginnings(self) -> list[_Beginning]:
        """The subject with the first words of the fact, the shortest beginning first."""
        about, words = normalise(self.fact.about), [word for word, _ in self.words]
        return [(about, *words[:count]) for count in range(_MIN_BEGINNING, min(len(words), _MAX_BEGINNING + 1))]

    def parts(self, beginning: _Beginning) -> tuple[str, str]:
        _, end = self.words[len(beginning) - 2]
        return self.text[:end].strip(_MARKS), self.text[end:].strip(_MARKS)

    def rest(self, beginning: _Beginning) -> tuple[str, ...]:
        return tuple(word for word, _ in self.words[len(beginning) - 1 :])


_Beginning = tuple[str, ...]


def _of_facts(facts: Sequence[Fact], former: Sequence[Fact]) -> Iterable[Drawn]:
    over = Counter(beginning for fact in former for beginning in _Said.of(fact).beginnings)
    alike: defaultdict[_Beginning, list[_Said]] = defaultdict(list)
    for said in map(_Said.of, facts):
        for beginning in said.beginnings:
            if 0 < len(said.parts(beginning)[1]) <= _MAX_REST:
                alike[beginning].append(said)
    counted_: set[str] = set()
    # what has more words in common says more: a fact counts there
    for beginning, members in sorted(alike.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        left = [said for said in members if said.fact.id not in counted_]
        latest = sorted(left, key=lambda said: (said.fact.said_at, said.fact.id), reverse=True)
        things = {said.rest(beginning): said for said in reversed(latest)}
        # "I have a" has no word that says anything
        if len(things) < MIN_TIMES or not content_words(latest[0].parts(beginning)[0]):
            continue
        counted_ |= {said.fact.id for said in latest}
        listed = sorted(things.values(), key=lambda said: (said.fact.said_at, said.fact.id), reverse=True)[:_SHOWN]
        start, _ = listed[0].parts(beginning)
        about = "" if beginning[0] == "user" else f"{listed[0].fact.about.strip()}: "
        yield Drawn(
            form="pattern",
            about=beginning[0],
            text=f"{about}{start}: {', '.join(said.parts(beginning)[1] for said in listed)}",
            source_ids=tuple(said.fact.id for said in latest[:MAX_SOURCES]),
            proofs=len(latest),
            against=over[beginning],
            key=f"begins {' '.join(beginning[1:])}",
        )


def _of_goals(episodes: Sequence[Episode]) -> Iterable[Drawn]:
    goals: defaultdict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        if key := _words(episode.goal):
            goals[key].append(episode)
    for key, members in sorted(goals.items()):
        ends = Counter(_words(episode.outcome) for episode in members if episode.outcome)
        end, times = min(ends.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))
        alike = [episode for episode in members if end and _words(episode.outcome) == end]
        if times < MIN_TIMES:
            continue
        last = max(alike, key=lambda episode: (episode.created_at, episode.id))
        yield Drawn(
            form="pattern",
            about="user",
            text=f"{last.goal.strip().rstrip('.')}: {last.outcome.strip()}",
            source_ids=_latest(alike),
            proofs=times,
            against=len(members) - times,
            key=f"goal {key}",
        )


def _of_lessons(episodes: Sequence[Episode]) -> Iterable[Drawn]:
    lessons: defaultdict[str, dict[str, Episode]] = defaultdict(dict)
    worded: dict[str, str] = {}
    for episode in sorted(episodes, key=lambda episode: (episode.created_at, episode.id)):
        for lesson in episode.lessons:
            if key := normalise(lesson):
                lessons[key][episode.id] = episode
                worded[key] = lesson.strip()
    for key, members in sorted(lessons.items()):
        if len(members) >= MIN_SOURCES:
            yield Drawn("rule", "user", worded[key], _latest(members.values()), len(members), key=f"lesson {key}")


def _latest(episodes: Iterable[Episode]) -> tuple[str, ...]:
    ordered = sorted(episodes, key=lambda episode: (episode.created_at, episode.id), reverse=True)
    return tuple(episode.id for episode in ordered[:MAX_SOURCES])


def _words(text: str) -> str:
    """Return the sorted content words of a text, a key for equal statements."""
    return " ".join(sorted(map(fold, content_words(text)))) or normalise(text)


# Consolidation: generalisations over many memories become knowledge.

# Groups of related memories among the latest facts and episodes of a user.

MAX_FACTS = 500
MAX_EPISODES = 200  # The latest facts and episodes of a run: a habit shows in recent memories

# Memories of a group: two say hardly more than each alone, and a small model follows a dozen at most
SMALLEST, LARGEST = 3, 12

_MAX_SUMMARIES = 1_000


@dataclass(frozen=True)
class Evidence:
    """A fact, in the user's own words, or an episode as evidence, and when it was last said."""

    id: str
    about: str
    text: str
    at: datetime


@dataclass(frozen=True)
class Memories:
    """Memories of a run: extracted facts, ended ones, episodes, and the id of the summary by message."""

    facts: Sequence[Fact] = ()
    former: Sequence[Fact] = ()
    episodes: Sequence[Episode] = ()
    summaries: Mapping[str, str] = field(default_factory=dict)

    @property
    def evidence(self) -> list[Evidence]:
        """Facts and episodes, the oldest first."""
        found = [
            *(Evidence(one.id, one.about, one.text, one.said_at) for one in self.facts),
            *(Evidence(one.id, "user", one.text, one.created_at) for one in self.episodes),
        ]
        return sorted(found, key=lambda one: (one.at, one.id))


async def read_memories(store: BaseStore, user_id: str) -> Memories:
    semantic = scope_namespace(user_id, MemoryScope.SEMANTIC)
    told: dict[str, Any] = {"kind": FACT.name, "verbatim": False}
    ops: list[Op] = [
        SearchOp(semantic, filter={**told, "current": True}, limit=MAX_FACTS, refresh_ttl=False),
        SearchOp(semantic, filter={**told, "current": False}, limit=MAX_FACTS, refresh_ttl=False),
        SearchOp(EPISODE.namespace(user_id), filter={"kind": EPISODE.name}, limit=MAX_EPISODES, refresh_ttl=False),
        SearchOp(
            scope_namespace(user_id, MemoryScope.DIALOG),
            filter={"kind": SUMMARY.name, "chain": True, "level": "1"},
            limit=_MAX_SUMMARIES,
            refresh_ttl=False,
        ),
    ]
    current, former, episodes, summaries = cast("list[list[SearchItem]]", await store.abatch(ops))
    return Memories(
        [Fact.from_value(item.value) for item in current],
        [Fact.from_value(item.value) for item in former],
        [Episode.from_value(item.value) for item in episodes if item.value["level"] != Level.CONVERSATION],
        {source: item.key for item in summaries for source in item.value["source_ids"]},
    )


def groups(evidence: Sequence[Evidence]) -> list[list[Evidence]]:
    """Group memories with the same subject and a common word, the most frequent word first; half may overlap."""
    by_word: defaultdict[tuple[str, str], list[Evidence]] = defaultdict(list)
    for one in evidence:
        for word in set(index_terms(one.text)):
            by_word[normalise(one.about), word].append(one)
    # a word that stands in all is the user's name, and says nothing
    wide = [(key, members) for key, members in by_word.items() if len(members) >= SMALLEST]
    found: list[list[Evidence]] = []
    seen: set[str] = set()
    for _, members in sorted(wide, key=lambda pair: (-min(len(pair[1]), LARGEST), len(pair[1]), pair[0])):
        latest = members[-LARGEST:]
        new = [one for one in latest if one.id not in seen]
        if 2 * len(new) > len(latest):
            found.append(latest)
            seen |= {one.id for one in latest}
    return found


def digest(group: Collection[Evidence]) -> str:
    """Return the fingerprint of a group: of its ids and texts."""
    told = sorted(f"{one.id}\x1f{one.text}" for one in group)
    return hashlib.blake2b("\x1e".join(told).encode("utf-8", "replace"), digest_size=8).hexdigest()


# Knowledge that a model proposes from related memories; what they do not bear out is refused.

MAX_CHARS = 300  # Characters of one text, a line of the prompt
_MAX_ITEMS = 4  # Generalisations of one group: more would only repeat each other
_FORMS = get_args(Form)
_MIN_SHARE = 0.5  # Minimum share of the text's words in the sources: a new generic term, such as "plants", is allowed


def question_about(group: Sequence[Evidence], model: str) -> ModelQuestion[Checked[Drawn]]:
    """Return the question for generalisations of a group of memories on one subject; the answer is checked."""
    aliases = {f"f{place + 1}": one for place, one in enumerate(group)}

    def read(said: Mapping[str, Any]) -> Checked[Drawn]:
        drawn: dict[str, Drawn] = {}
        refused: list[str] = []
        for item in objects(said.get("items")):
            form, text = str(item.get("form") or ""), " ".join(str(item.get("text") or "").split())
            cited = strings(item.get("sources"))
            sources = list(dict.fromkeys(alias for alias in cited if alias in aliases))
            if unknown := set(cited) - set(aliases):
                refused.append(f"it cites {len(unknown)} memories that there are not")
            elif len(drawn) == _MAX_ITEMS:
                refused.append(f"there are more than {_MAX_ITEMS}")
            elif problem := problem_with(form, text, [aliases[alias] for alias in sources]):
                refused.append(problem)
            else:
                about = group[0].about.strip()
                if not _is_user(group[0]) and missing(about, [text]):
                    text = f"{about}: {text}"
                ids = tuple(aliases[alias].id for alias in sources)
                made = Drawn(cast("Form", form), normalise(about), text, ids, len(ids), made_by=model or "model")
                drawn[normalise(text)] = made
        return Checked(list(drawn.values()), refused)

    shown = [
        {"id": alias, "date": f"{one.at:%Y-%m-%d}", **({} if _is_user(one) else {"about": one.about}), "text": one.text}
        for alias, one in aliases.items()
    ]
    item = {
        "sources": {"type": "array", "items": {"type": "string", "enum": list(aliases)}},
        "form": {"type": "string", "enum": list(_FORMS)},
        "text": {"type": "string"},
    }
    items = {"items": {"type": "array", "items": object_schema(item)}}
    schema = object_schema(items, "knowledge", "What the memories come to together.")
    return ModelQuestion("consolidate_facts", as_lines("memories", shown), schema, read)


def problem_with(form: str, text: str, sources: Sequence[Evidence]) -> str:
    """Return the reason to refuse a generalisation of these memories; empty for none."""
    if form not in _FORMS:
        return f"it is none of {', '.join(_FORMS)}"
    if len(sources) < MIN_SOURCES:
        return f"it stands on fewer than {MIN_SOURCES} memories"
    if not text or len(text) > MAX_CHARS or "\n" in text:
        return f"it is empty, or more than a line of {MAX_CHARS} characters"
    if any(normalise(text) == normalise(one.text) for one in sources):
        return "it says what one of its memories says"
    texts = [one.text for one in sources]
    known = [*texts, *(one.about for one in sources)]
    if Told(known, [one.at for one in sources]).invented(text):
        return "it has a name or a number that its memories do not have"
    first = text.split(maxsplit=1)[0]
    # the first word has a capital whatever it is: whom the memories are about, or one of their words
    if first[0].isupper() and missing(first, known):
        return "it does not begin with whom its memories are about"
    if share(text, known) < _MIN_SHARE:
        return f"its memories have fewer than {_MIN_SHARE:.0%} of its words"
    if any(share(one.text, [text]) == 0 for one in sources):
        return "it has no word in common with one of its memories"
    denied = {denial_of(one) for one in texts}
    if None not in denied and denial_of(text) not in {*denied, None}:
        return "it says the opposite of its memories"
    return ""


def _is_user(one: Evidence) -> bool:
    return normalise(one.about) == "user"


_MAX_LINKS = 8


@dataclass
class Consolidation(Strategy[Drawn]):
    """Knowledge from a user's facts and episodes, with corrections of earlier knowledge, in the name of one agent."""

    agent_id: str
    note_key = "consolidated"
    sources = SCOPES
    _memories: Memories = field(default_factory=Memories)

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[Drawn]:
        """Count regularities; a model is asked about new or changed groups only."""
        self._memories = memories = await read_memories(self.store, self.user_id)
        # hundreds of facts take a tenth of a second
        found = await asyncio.to_thread(counted, memories.facts, memories.former, memories.episodes)
        if asker is None:
            return Gathered(found)
        wanted = {digest(group): group for group in await asyncio.to_thread(groups, memories.evidence)}
        seen = noted.get("groups", [])
        return Gathered(
            found,
            [Asked(question_about(group, asker.name), [key]) for key, group in wanted.items() if key not in seen],
            lambda keys: {"groups": [*(key for key in seen if key in wanted), *keys]},
        )

    async def merge(self, drafts: Sequence[Drawn], there: Values, report: Report) -> list[Change]:
        """Redraw the counted knowledge, keep a model's while its sources hold, and drop the rest."""
        known = await load_knowledge(self.store, self.user_id)
        cited = {source for one in known.values() for source in one.source_ids}
        values = {**there, **await sources_of(self.store, self.user_id, cited - there.keys())}
        ended = {id_: Fact.from_value(value) for id_, value in values.items() if value.get("current") is False}
        standing = {id_: str(value["text"]) for id_, value in values.items() if id_ not in ended}
        worded = [one for one in known.values() if one.made_by != "rules" and values.keys() >= {*one.source_ids}]
        after = {one.id: one for one in (without(one, ended, standing) for one in worded) if one is not None}
        for one in drafts:
            record = _record(one, self.agent_id, self._memories, standing, known)
            if record is not None and not _is_known(record, after.values()):
                after[record.id] = record
        changed = [one for id_, one in after.items() if one != known.get(id_)]
        gone = [id_ for id_ in known if id_ not in after]
        report.stored += [one.text for one in changed]
        changes = [put(self.user_id, one) for one in changed]
        return [*changes, *(delete(self.user_id, KNOWLEDGE, id_) for id_ in gone)]


def _record(
    drawn: Drawn, agent_id: str, memories: Memories, standing: Collection[str], known: Mapping[str, Knowledge]
) -> Knowledge | None:
    """Return drawn knowledge as a record; None if a source no longer holds."""
    if not set(drawn.source_ids) <= set(standing):
        return None
    id_ = KNOWLEDGE.id(drawn.about, normalise(drawn.key or drawn.text))
    before = known.get(id_)
    cited = {*drawn.source_ids}
    sources = [one for one in (*memories.facts, *memories.episodes) if one.id in cited]
    summaries = {memories.summaries[id_] for one in sources for id_ in one.source_ids if id_ in memories.summaries}
    return Knowledge(
        id=id_,
        text=drawn.text,
        form=drawn.form,
        about=drawn.about,
        proofs=drawn.proofs,
        confidence=confidence(drawn.proofs, drawn.against),
        made_by=drawn.made_by,
        links=tuple(Reference(to=one) for one in sorted(summaries)[:_MAX_LINKS]),
        created_at=before.created_at if before is not None else now(),
        session_id="",
        agent_id=before.agent_id if before is not None else agent_id,
        source_ids=drawn.source_ids,
        origin=lowest(one.origin for one in sources),
    )


def _is_known(record: Knowledge, known: Iterable[Knowledge]) -> bool:
    """Return true if a model has already drawn knowledge of the same form from the same memories."""
    return record.made_by != "rules" and any(
        one.id != record.id and one.form == record.form and set(record.source_ids) <= set(one.source_ids)
        for one in known
        if one.made_by != "rules"
    )
