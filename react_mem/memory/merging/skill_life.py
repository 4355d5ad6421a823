"""Life cycle of a skill: on probation, then active; archived if it fails, or is no better than doing without it.

Each success or failure moves a Beta distribution of the skill's success rate. The agent might have succeeded without
the skill, so a learnt skill is withheld in some turns, chosen at random: these are the control group of a randomised
trial.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from math import comb, sqrt
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.language.comparison import Vocabulary, content_words, missing
from react_mem.memory.model.concepts import MIN_SOURCES, Knowledge, confidence
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import KNOWLEDGE, SKILL
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Change, delete, put
from react_mem.memory.model.records import Fact
from react_mem.memory.model.states import Skill, Worths

PRIOR_SUCCESSES, PRIOR_FAILURES = 2, 1
"""A skill is learnt from three successes or given by an expert: a credit of one success more than the uniform prior."""

WORTH_IT = 0.5
"""A skill that fails more often than not misleads: the agent loses the steps of the procedure and then starts over."""

CONFIDENCE = 0.95
"""Confidence of a change of status. Simulated with the above, 1,000 skills each: of skills that succeed never, once in
ten and once in five, all, all and 99.6 % are archived within 20 uses, those that never succeed after 6; of skills that
succeed eight times in ten, 0.2 % are archived within 400. Three successes in a row make a skill active.
"""

WINDOW = 20
"""Uses until both counts are halved, so that a procedure that stops working is archived within as many uses as a new
one. A skill that has failed more often than not by then is archived.
"""

WITHHELD = 0.1  # share of its offers in which a learnt skill is withheld
WITHHELD_ONCE_PROVEN = 0.02  # the same for a skill of proven benefit: enough to notice a change
LONG = 20  # steps from which a success is worth half of one without steps: skills that only save steps have a benefit
LEAST_COMPARED = 5  # least turns with and without a skill for any statement on its benefit
ENOUGH_COMPARED = 30
"""Turns with a skill, and turns without, by which its benefit has to be certain. Simulated with the above, 1,000 skills
each over 400 offers: archived are none of those that succeed 97 times in 100 where it would be 66 times without, 0.1 %
where it would be 85 times, 0.2 % of those that only save 4 steps of 9, 96 % of those without benefit, 99 % of those
that succeed 80 times where it would be 90 times without (after 236 offers in the median), all that succeed 40 times
(after 50).
"""

_CERTAIN = 1.645  # standard errors of a one-sided bound at the confidence above


def after_use(skill: Skill, success: bool) -> Skill:
    """Return a skill after one more use."""
    trials, successes = skill.trials + 1, skill.successes + success
    good, bad = _beta(trials, successes)
    doubt = _below(WORTH_IT, good, bad)
    undecided = trials >= WINDOW and good < WORTH_IT * (good + bad)
    status = "active" if 1 - doubt >= CONFIDENCE else skill.status
    if skill.status == "archived" or doubt >= CONFIDENCE or undecided:
        status = "archived"
    update: dict[str, Any] = {"trials": trials, "successes": successes, "status": status}
    if trials >= WINDOW:
        update |= {"trials": trials // 2, "successes": min(trials // 2, (successes + 1) // 2)}
    return skill.model_copy(update=update)


def without_use(skill: Skill, success: bool) -> Skill:
    """Return a skill with one use uncounted; its status stays."""
    trials = max(skill.trials - 1, 0)
    successes = min(max(skill.successes - success, 0), trials)
    return skill.model_copy(update={"trials": trials, "successes": successes})


def promise(skill: Skill) -> float:
    """Return the optimistic value of a skill: mean success rate plus one standard deviation. Deterministic.

    New skills rank above known middling ones and below known good ones (exploration by optimism).

    >>> new = Skill(id="1", text="", use_when="", session_id="", agent_id="")
    >>> known = [new.model_copy(update={"trials": 20, "successes": n}) for n in (8, 19)]
    >>> promise(known[0]) < promise(new) < promise(known[1])
    True
    """
    good, bad = _beta(skill.trials, skill.successes)
    mean = good / (good + bad)
    return mean + sqrt(mean * (1 - mean) / (good + bad + 1))


def withhold(found: Sequence[MemoryResultItem], turn_id: str) -> tuple[list[MemoryResultItem], list[str]]:
    """Split results into those shown and the ids of skills withheld in this turn, as its control group.

    Skills of one task type are withheld together, so that none stands in for another. Deterministic for a turn. Only
    learnt skills are withheld, never those given by hand.
    """
    shown, kept_back = [], []
    for item in found:
        out = SKILL.matches(item.payload) and is_withheld(Skill.from_value(item.payload), turn_id)
        (kept_back.append(item.id) if out else shown.append(item))
    return shown, kept_back


def is_withheld(skill: Skill, turn_id: str) -> bool:
    """Return true if a skill is withheld in a turn."""
    if not skill.source_ids or not skill.tool_sops:
        return False
    digest = hashlib.sha256(f"{turn_id}\0{skill.task_type or skill.id}".encode()).digest()
    proven = min(skill.shown.turns, skill.withheld.turns) >= LEAST_COMPARED and _benefit(skill)[0] > 0
    share = WITHHELD_ONCE_PROVEN if proven else WITHHELD
    return int.from_bytes(digest[:6]) < share * 2**48


def worth(success: bool, steps: int) -> float:
    """Return the value of a turn: 0 for a failure, else 0.5 to 1, higher with fewer steps.

    >>> worth(True, 4), worth(True, 40), worth(False, 4)
    (0.9, 0.5, 0.0)
    """
    return 1 - min(steps, LONG) / (2 * LONG) if success else 0.0


def after_turn(skill: Skill, came_to: float, *, withheld: bool) -> Skill:
    """Return a skill after one more turn of the trial, of a value from 0 to 1."""
    side = "withheld" if withheld else "shown"
    counts: Worths = getattr(skill, side)
    moved = Worths(turns=counts.turns + 1, total=counts.total + came_to, squares=counts.squares + came_to**2)
    after = skill.model_copy(update={side: moved})
    if is_useless(after):
        return after.model_copy(update={"status": "archived"})
    if min(after.shown.turns, after.withheld.turns) < ENOUGH_COMPARED:
        return after
    # what it was worth a long time ago counts for less and less
    return after.model_copy(update={"shown": _halved(after.shown), "withheld": _halved(after.withheld)})


def is_useless(skill: Skill) -> bool:
    """Return true if turns certainly do better without a skill, or after many not certainly worse."""
    compared = min(skill.shown.turns, skill.withheld.turns)
    if compared < LEAST_COMPARED:
        return False
    low, high = _benefit(skill)
    return high < 0 or (compared >= ENOUGH_COMPARED and low <= 0)


def with_controls(skill: Skill, known: Iterable[Skill]) -> Skill:
    """Return a new skill with the largest control group of its task type, so that fewer turns have to do without."""
    kin = [one.withheld for one in known if skill.task_type and one.task_type == skill.task_type]
    return skill.model_copy(update={"withheld": max(kin, key=lambda one: one.turns, default=skill.withheld)})


def is_outdone(skill: Skill, rivals: Iterable[Skill]) -> bool:
    """Return true if a skill on probation mostly fails while an active one does the same task.

    Nobody would follow it any more, so that further uses cannot decide.
    """
    good, bad = _beta(skill.trials, skill.successes)
    if skill.status != "probation" or not skill.task_type or good >= WORTH_IT * (good + bad):
        return False
    return any(one.status == "active" and one.tool_sops and one.task_type == skill.task_type for one in rivals)


def _benefit(skill: Skill) -> tuple[float, float]:
    (mean, error), (without, error_without) = _estimate(skill.shown), _estimate(skill.withheld)
    doubt = _CERTAIN * sqrt(error + error_without)
    return mean - without - doubt, mean - without + doubt


def _estimate(counts: Worths) -> tuple[float, float]:
    """Return mean and squared standard error, with one pseudo-turn at each end: few equal turns prove little."""
    turns, total, squares = counts.turns + 2, counts.total + 1, counts.squares + 1
    mean = total / turns
    return mean, max(squares / turns - mean**2, 0) / (turns - 1)


def _halved(counts: Worths) -> Worths:
    return Worths(turns=counts.turns / 2, total=counts.total / 2, squares=counts.squares / 2)


def _beta(trials: int, successes: int) -> tuple[int, int]:
    return PRIOR_SUCCESSES + successes, PRIOR_FAILURES + max(0, trials - successes)


def _below(rate: float, good: int, bad: int) -> float:
    """Return the probability that a Beta distribution with whole parameters is below a rate."""
    total = good + bad - 1
    return sum(comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(good, total + 1))


# Knowledge that still stands: what goes when the facts it was drawn from have ended.

SCOPES = (MemoryScope.SEMANTIC, MemoryScope.EPISODIC)  # scopes of the memories that knowledge is drawn from
_MAX_KNOWLEDGE = 500


async def load_knowledge(store: BaseStore, user_id: str) -> dict[str, Knowledge]:
    """Return the knowledge drawn from a user's memories, by id."""
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    found = await store.asearch(namespace, filter={"kind": KNOWLEDGE.name}, limit=_MAX_KNOWLEDGE, refresh_ttl=False)
    return {item.key: Knowledge.from_value(item.value) for item in found}


async def stale_knowledge(store: BaseStore, user_id: str, facts: Sequence[Fact]) -> list[Change]:
    """Return the changes of knowledge when facts end, for the batch that ends them.

    Knowledge that speaks of an ended fact is dropped, and drawn again by the next run; other knowledge loses a proof.
    The store is asked only if a fact has ended.
    """
    ended = {fact.id: fact for fact in facts if not fact.current}
    if not ended:
        return []
    changes: list[Change] = []
    known = [one for one in (await load_knowledge(store, user_id)).values() if ended.keys() & {*one.source_ids}]
    values = await sources_of(store, user_id, {source for one in known for source in one.source_ids} - ended.keys())
    standing = {id_: str(value["text"]) for id_, value in values.items()}
    for one in known:
        left = without(one, ended, standing)
        if left is None:
            changes.append(delete(user_id, KNOWLEDGE, one.id))
        elif left != one:
            changes.append(put(user_id, left))
    return changes


async def sources_of(
    store: BaseStore, user_id: str, ids: Iterable[str], scopes: Iterable[MemoryScope] = SCOPES
) -> dict[str, dict[str, Any]]:
    """Return memories by id. Missing ones were forgotten, perhaps just now, and must not come back."""
    wanted = sorted(set(ids))
    spaces = [scope_namespace(user_id, scope) for scope in scopes]
    ops = [GetOp(space, id_, refresh_ttl=False) for space in spaces for id_ in wanted]
    found = cast("list[Item | None]", await store.abatch(ops)) if ops else []
    return {item.key: item.value for item in found if item is not None}


def without(one: Knowledge, ended: Mapping[str, Fact], standing: Mapping[str, str]) -> Knowledge | None:
    """Return knowledge without ended facts; None if it speaks of them, or rests on too little."""
    over = [ended[source] for source in one.source_ids if source in ended]
    if not over:
        return one
    proofs = one.proofs - len(over)
    left = tuple(source for source in one.source_ids if source not in ended)
    others = [standing[source] for source in left if source in standing]
    # it speaks of a fact with a word found only there, or with any word of a fact that has none of its own
    own = [missing(fact.text, others) or content_words(fact.text) for fact in over]
    speaks = any(len(Vocabulary([one.text]).missing(" ".join(words))) < len(words) for words in own)
    if min(len(left), proofs) < MIN_SOURCES or speaks:
        return None
    update = {"source_ids": left, "proofs": proofs, "confidence": confidence(proofs, len(over))}
    return one.model_copy(update=update)
