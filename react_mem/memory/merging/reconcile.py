"""Reconciliation of proposed operations with stored facts: duplicates merge, changes supersede, history stays.

Pure functions from stored facts to writes. Belief depends on the time of a statement, not on the order of arrival: a
turn that is read late does not overwrite a newer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from react_mem.memory.language.folding import normalise
from react_mem.memory.model.identity import OUTSIDE
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.origins import Origin, is_higher, lowest
from react_mem.memory.model.records import BELIEVED, Fact, Lapse, Message, Wording

_EVER = datetime.min.replace(tzinfo=UTC)


def to_fact(operation: Operation, *, said_at: datetime, at: datetime, session_id: str, agent_id: str) -> Fact:
    """Return the fact of an operation with a text."""
    sources = tuple(dict.fromkeys(operation.source_ids))
    return Fact(
        id=operation.id,
        text=operation.text,
        about=operation.about,
        quote=operation.quote,
        reading=operation.reading,
        keywords=operation.topic,
        speaker=operation.speaker,
        origin=operation.origin,
        # said to be over when it was said: history from the beginning
        current=operation.valid_to is None or operation.valid_to >= said_at,
        event_at=operation.event_at,
        valid_from=operation.valid_from,
        valid_to=operation.valid_to,
        # what it takes the place of, it does not need
        needs=tuple(need for need in operation.needs if need not in (operation.id, operation.target_id)),
        created_at=at,
        said_at=said_at,
        session_id=session_id,
        agent_id=agent_id,
        source_ids=sources,
        support=max(1, len(sources)),
    )


def wanted(operations: Iterable[Operation]) -> list[str]:
    """Return the ids of all facts that operations refer to or state."""
    ids = [id_ for op in operations for id_ in (op.id if op.text else "", op.target_id or "", *op.needs)]
    return list(dict.fromkeys(filter(None, ids)))


def reconcile(
    operations: Sequence[Operation],
    stored: Mapping[str, Fact],
    *,
    at: datetime,
    session_id: str,
    agent_id: str,
    said: Mapping[str, Message] | None = None,
) -> list[Fact]:
    """Return the facts to write, each once. Idempotent: the same operations on the result change nothing.

    Args:
        stored: The existing facts of `wanted(operations)` and their successors, by id.
        said: The cited messages, by id; a missing one counts as said `at` the time of the write.
    """
    batch = _Batch(stored, dict(stored), at, session_id, agent_id)
    for operation in operations:
        cited = [said[source] for source in operation.source_ids if said and source in said]
        origin = lowest([operation.origin, *(message.origin for message in cited)])
        batch.apply(replace(operation, origin=origin), max((message.created_at for message in cited), default=at))
    batch.link()
    return [fact for id_, fact in batch.facts.items() if stored.get(id_) != fact]


@dataclass
class _Batch:
    """Facts while operations are applied to them."""

    stored: Mapping[str, Fact]
    facts: dict[str, Fact]
    at: datetime
    session_id: str
    agent_id: str
    needing: dict[tuple[str, str], None] = field(default_factory=dict)

    def apply(self, operation: Operation, when: datetime) -> None:
        """Apply one operation, said at a time."""
        target = self._merged(operation.target_id)
        if operation.relation in ("ends", "forget"):
            self._end(target, operation, when)
            return
        new = to_fact(operation, said_at=when, at=self.at, session_id=self.session_id, agent_id=self.agent_id)
        needs = (named if (one := self._merged(named)) is None else one.id for named in new.needs)
        new = new.model_copy(update={"needs": tuple(dict.fromkeys(needs))})
        if operation.relation == "same" and target is not None:
            own = self._merged(new.id)
            # what is known in these very words from who is trusted more is not said of another fact
            known = own if own and is_higher(own.origin, new.origin) else self._known(new, target)
            self._state(known, new, settles=True)
            return
        fact = self._state(self._known(new), new, settles=operation.relation != "unsure")
        # what bears nothing out raises no doubt either, nor what was applied before
        is_taken, before = set(new.source_ids) <= set(fact.source_ids), self.stored.get(fact.id)
        is_retry = before is not None and not before.verbatim and set(new.source_ids) <= set(before.source_ids)
        if operation.relation in ("changes", "corrects", "unsure") and is_taken and not is_retry:
            self._change(fact, operation, when)

    def link(self) -> None:
        """Note dependants on the facts that they need, and drop needs of missing facts."""
        for id_, need in self.needing:
            fact, needed = self.facts[id_], self.facts.get(need)
            if need not in fact.needs:
                continue
            if needed is None or need == id_:
                self._keep(fact.model_copy(update={"needs": tuple(one for one in fact.needs if one != need)}))
            elif id_ not in needed.needed_by:
                self._keep(needed.model_copy(update={"needed_by": (*needed.needed_by, id_)}))

    def _known(self, new: Fact, meant: Fact | None = None) -> Fact | None:
        return known_as(new, self._merged(new.id), self.facts.values(), meant)

    def _change(self, fact: Fact, operation: Operation, when: datetime) -> None:
        corrects = operation.relation == "corrects"
        target = self.facts.get(operation.target_id or "")
        if not corrects:
            # what never was so is the fact that is named; else it is the one that has taken its place
            target = self._followed(operation.target_id, lambda _, heir: heir.said_at <= when)
        if target is None or target.id == fact.id:
            return
        if self._is_beside(target, operation):
            return
        if target.said_at > when:
            # read late: what was said since stands
            if fact.current and fact.said_at < target.said_at:
                self.retire(fact, target.said_at, superseded_by=target.id)
        elif not target.current:
            return
        elif operation.relation == "unsure" or not _may_change(operation, target):
            # a possible contradiction: both stay
            for one, other in ((fact, target.id), (target, fact.id)) if fact.current else ():
                self._keep(one.model_copy(update={"doubts": tuple(dict.fromkeys([*one.doubts, other]))}))
        else:
            since = min(target.valid_from or target.said_at, target.said_at) if corrects else when
            self.retire(target, since, superseded_by=fact.id)

    def _is_beside(self, target: Fact, operation: Operation) -> bool:
        """Return true if the target was first said in the same message: the two then stand side by side."""
        before = self.stored.get(target.id, target)
        return bool(set(before.source_ids) & set(operation.source_ids))

    def _keep(self, fact: Fact) -> None:
        self.facts[fact.id] = fact

    def _merged(self, id_: str | None) -> Fact | None:
        """Return a fact, or the one that absorbed it (`memory.reflect.deduplication`)."""
        return self._followed(
            id_, lambda fact, whole: set(fact.source_ids) <= set(whole.source_ids) or says_again(whole, fact)
        )

    def _followed(self, id_: str | None, goes_on: Callable[[Fact, Fact], bool]) -> Fact | None:
        seen: set[str] = set()
        fact = self.facts.get(id_ or "")
        while fact is not None and not fact.current and fact.superseded_by and fact.id not in seen:
            seen.add(fact.id)
            heir = self.facts.get(fact.superseded_by)
            if heir is None or not goes_on(fact, heir):
                break
            fact = heir
        return fact

    def _state(self, known: Fact | None, new: Fact, *, settles: bool) -> Fact:
        fact = self.take_in(known, new)
        if new.needs:
            self.needing |= dict.fromkeys((fact.id, need) for need in new.needs)
        again = known is not None and not set(new.source_ids) <= {*known.source_ids}
        if again and settles and new.origin is Origin.USER:
            self._settle(fact, new.said_at)
        return self.facts[fact.id]

    def take_in(self, known: Fact | None, new: Fact) -> Fact:
        """Store a statement as a new fact, as a repetition, or in place of a fact of a less trusted origin."""
        if known is not None and is_put_anew(known, new):
            return self._put_anew(known, new)
        fact = new
        if known is not None:
            fact = said_again(known, new)
            kept = tuple(id_ for id_ in known.doubts if id_ in fact.doubts or self._is_mutual(fact.id, id_))
            fact = fact.model_copy(update={"doubts": kept})
        self._keep(fact)
        return fact

    def _put_anew(self, known: Fact, new: Fact) -> Fact:
        """Replace a fact of another origin by the owner's fact in other words."""
        before = self.facts.get(new.id)
        own = new if before is None else said_again(before, new)
        if not (known.current and own.current):
            self._keep(own)
            return own
        own = put_anew(own, known)
        doubted = [id_ for id_ in known.doubts if id_ != own.id and self._is_mutual(known.id, id_)]
        doubts = tuple(id_ for id_ in dict.fromkeys((*own.doubts, *doubted)) if id_ != known.id)
        needs = tuple(id_ for id_ in own.needs if id_ != known.id)
        self._keep(own.model_copy(update={"doubts": doubts, "needs": needs}))
        # who needs it is noted with it at the end only (`link`)
        needing = [id_ for id_, other in self.facts.items() if known.id in other.needs]
        self.needing |= dict.fromkeys((id_, own.id) for id_ in needing)
        for id_, names in [*((id_, "doubts") for id_ in doubted), *((id_, "needs") for id_ in needing)]:
            if (other := self.facts.get(id_)) is not None and id_ != own.id:
                named = (own.id if one == known.id else one for one in getattr(other, names))
                self._keep(other.model_copy(update={names: tuple(dict.fromkeys(named))}))
        over = known.model_copy(update={"doubts": (), "needed_by": ()})
        self._keep(retire(over, max(known.said_at, new.said_at), self.at, superseded_by=own.id))
        return self.facts[own.id]

    def _is_mutual(self, id_: str, doubted: str) -> bool:
        """Return true if two facts are in doubt about each other: such doubts end together."""
        other = self.facts.get(doubted)
        return other is not None and id_ in other.doubts

    def _settle(self, fact: Fact, when: datetime) -> None:
        """Settle the doubts of a fact that the user repeats, against the older facts."""
        for id_ in fact.doubts:
            other = self.facts.get(id_)
            if fact.current and other is not None and fact.id in other.doubts and other.said_at < when:
                self.retire(other, when, superseded_by=fact.id)
        now = self.facts[fact.id]
        # said to hold all the same, though what it needed is over
        kept = tuple(id_ for id_ in now.doubts if id_ not in now.needs or self._is_mutual(now.id, id_))
        self._keep(now.model_copy(update={"doubts": kept}))

    def _end(self, target: Fact | None, operation: Operation, when: datetime) -> None:
        if target is None or not target.current or not _may_change(operation, target):
            return
        if self._is_beside(target, operation) or target.said_at > when:
            return
        over = max(min(operation.valid_to or when, when), target.valid_from or _EVER)
        said = when if over < when else None
        self.retire(target, min(over, when), ended_by=operation.source_ids, end_said_at=said)

    def retire(self, fact: Fact, when: datetime, **by: Any) -> None:
        """Retire a fact, and remove the doubts about it."""
        for id_ in fact.doubts:
            other = self.facts.get(id_)
            if other is not None and fact.id in other.doubts and fact.id not in other.needs:
                less = tuple(one for one in other.doubts if one != fact.id)
                self._keep(other.model_copy(update={"doubts": less}))
        self._keep(retire(fact.model_copy(update={"doubts": ()}), when, self.at, **by))


def _may_change(operation: Operation, fact: Fact) -> bool:
    """Return true for the user's own words, and for a speaker's words on the speaker's own fact."""
    own = fact.origin is Origin.SPEAKER and normalise(fact.about) == normalise(operation.speaker)
    return operation.origin is Origin.USER or (operation.origin is Origin.SPEAKER and own)


def stated(stored: Mapping[str, Fact], known: Fact | None, new: Fact) -> dict[str, Fact]:
    """Return the facts that change, by id, when a fact is said that another one may say already (`known_as`)."""
    batch = _Batch(stored, dict(stored), new.created_at, new.session_id, new.agent_id)
    batch.take_in(known, new)
    # most are the very ones that were there
    written = {id_: fact for id_, fact in batch.facts.items() if stored.get(id_) is not fact}
    return {id_: fact for id_, fact in written.items() if stored.get(id_) != fact}


def succeeded(stored: Mapping[str, Fact], old: Fact, new: Fact | None, when: datetime, at: datetime) -> list[Fact]:
    """Return the writes by which a source replaces its own fact.

    Args:
        stored: The facts that the old one is in doubt about, by id.
        when: The end of the old fact.
    """
    facts = {**stored, old.id: old, **({} if new is None else {new.id: new})}
    batch = _Batch(stored, facts, at, old.session_id, old.agent_id)
    batch.retire(old, when, superseded_by=None if new is None else new.id)
    return [fact for id_, fact in batch.facts.items() if stored.get(id_) != fact]


def retire(
    fact: Fact,
    when: datetime,
    at: datetime,
    superseded_by: str | None = None,
    ended_by: Iterable[str] = (),
    end_said_at: datetime | None = None,
) -> Fact:
    """Return a fact as dated history, not believed from a time `at` on.

    Args:
        when: Its end, unless it ended earlier; its beginning for a correction of something that never was true.
        ended_by: The messages that end it, without a successor.
        end_said_at: Their time, if the fact ended earlier.
    """
    over = min(fact.valid_to or when, when)
    return fact.model_copy(
        update={
            "current": False,
            "retired_at": at,
            "valid_to": over,
            "superseded_by": superseded_by,
            "ended_by": tuple(ended_by),
            "end_said_at": end_said_at or (when if over < when else None),
        }
    )


def known_as(said: Fact, same: Fact | None, facts: Iterable[Fact], meant: Fact | None = None) -> Fact | None:
    """Return the fact that says this already: `same` has this very text, `meant` says it in other words; or None."""
    about, words = normalise(said.about), normalise(said.text)
    put_so = (fact for fact in facts if fact.wordings and words in ways(fact) and fact != same)
    others = [fact for fact in put_so if normalise(fact.about) == about]
    known = [same, *others] if same is not None else others
    # what was taken in before belongs where it went
    heard = (fact for fact in known if set(said.source_ids) <= set(fact.source_ids))
    if found := next(heard, meant):
        return found
    current = [fact for fact in known if fact.current]
    # what others say of what is known adds nothing to it, be it over or not
    trusted = [fact for fact in known if not any(is_higher(one.origin, fact.origin) for one in known)]
    return next(iter(current or ([] if said.origin is Origin.USER else trusted)), same)


def doubted(dependants: Iterable[Fact], ended: Iterable[Fact]) -> list[Fact]:
    """Return the believed facts that need an ended fact, now in doubt about it."""
    over = {fact.id for fact in ended if not fact.current}
    changed = []
    for fact in dependants:
        lost = tuple(id_ for id_ in fact.needs if id_ in over and id_ not in fact.doubts)
        if fact.current and lost:
            changed.append(fact.model_copy(update={"doubts": (*fact.doubts, *lost)}))
    return changed


# Restatement of a known fact: by the user again, or by its owner after somebody else said it.

_MAX_WORDINGS = 20
"""Wordings of a fact that are kept, the latest."""


def said_again(fact: Fact, new: Fact) -> Fact:
    """Return a known fact after it was said again: with more sources, and believed again if it was over.

    Only the user's own words add support. If a more trusted origin now says it in the same words, the fact becomes that
    origin's and rests on its messages alone, so that it goes with them.
    """
    if lowest([fact.origin, new.origin]) is not fact.origin:
        # whoever is trusted less bears nothing out: if the user's own message goes, this must not stay in its name
        return fact
    sources = tuple(dict.fromkeys([*fact.source_ids, *new.source_ids]))
    if sources == fact.source_ids and not (fact.verbatim and not new.verbatim):
        return fact
    update: dict[str, Any] = {"source_ids": sources, "said_at": max(fact.said_at, new.said_at)}
    if new.session_id in OUTSIDE:
        # no message holds what was said there: it is not to go with the conversation that said it before
        update["session_id"] = new.session_id
    if sources != fact.source_ids and new.origin is Origin.USER:
        # what nobody says any more has the support of nobody
        before = 0 if fact.is_withdrawn else fact.support
        update["support"] = before + len(sources) - len(fact.source_ids)
    if new.text and normalise(new.text) != normalise(fact.text):
        update["wordings"] = _with_wording(fact.wordings, new)
    if fact.verbatim and not new.verbatim:
        # a model has read now what was kept as it was said
        update |= {"verbatim": False, "unread": False, "concluded": False, "about": new.about}
    if new.reading:
        update["reading"] = new.reading
    if new.keywords:
        update["keywords"] = new.keywords
    latest = new.said_at >= fact.said_at
    if fact.current and latest:
        # it may go on, or be true again after its last day
        again = fact.valid_to is not None and fact.valid_to < new.said_at and new.origin is Origin.USER
        if new.valid_to is not None or again:
            update["valid_to"] = new.valid_to
    for name in ("event_at", "valid_from"):
        if getattr(new, name) is not None and (getattr(fact, name) is None or latest):
            update[name] = getattr(new, name)
    if new.needs:
        update["needs"] = tuple(dict.fromkeys([*fact.needs, *new.needs]))
    if latest and new.origin is Origin.USER:
        # what it depended on has changed, and it is said to hold all the same
        update["doubts"] = tuple(id_ for id_ in fact.doubts if id_ not in fact.needs)
    over = not fact.current and (fact.is_withdrawn or new.said_at > (fact.ending.said_at or fact.said_at))
    if new.current and over and (new.origin is Origin.USER or fact.origin is not Origin.USER):
        update |= revived(fact, new.created_at)
    if is_told_anew(fact, new) and normalise(new.text) == normalise(fact.text):
        # taken over from a less trusted origin: its evidence and dates are dropped
        names = ("origin", "quote", "reading", "source_ids", "event_at", "valid_from")
        update |= {name: getattr(new, name) for name in names}
        update |= {"withdrawn": (), "support": max(1, len(new.source_ids)), "wordings": unsourced(fact.wordings)}
        if update.get("current", fact.current):
            update["valid_to"] = new.valid_to
    return fact.model_copy(update=update)


def _with_wording(wordings: Sequence[Wording], new: Fact) -> tuple[Wording, ...]:
    """Return the wordings of a fact with the newest last, deduplicated."""
    words = normalise(new.text)
    known = [wording for wording in wordings if normalise(wording.text) == words]
    sources = [source for wording in known for source in wording.source_ids]
    said_at = max([new.said_at, *(wording.said_at for wording in known)])
    latest = Wording(text=new.text, said_at=said_at, source_ids=tuple(dict.fromkeys([*sources, *new.source_ids])))
    return (*(wording for wording in wordings if wording not in known), latest)[-_MAX_WORDINGS:]


def revived(fact: Fact, at: datetime) -> dict[str, Any]:
    """Return the update of an ended fact that is believed again; its end counts again if the revival is withdrawn."""
    if fact.current:
        return BELIEVED
    # what was said to be over from the beginning was never believed
    lapse = Lapse(since=fact.retired_at or fact.created_at, until=at)
    suspended = fact.suspended if fact.is_withdrawn else (*fact.suspended, fact.ending)
    return {**BELIEVED, "suspended": suspended, "lapses": (*fact.lapses, lapse)}


# A fact of another origin that its owner states: from then on it is theirs, in their words.

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
