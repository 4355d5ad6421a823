"""Comparison of a memory with the expectations: each difference is a finding of one kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.writing.answers import INVENTED_NAME
from benchmarks.writing.case import Case, Expected, Pattern, Turn
from benchmarks.writing.drivers import Contents, Remembered, is_kept
from react_mem.memory.language.comparison import share

FAULTS = {
    "duplicates": "a current fact that another one says already",
    "stale": "no longer true, and still among the current facts",
    "wrongly_invalidated": "true, but no longer among the current facts",
    "invented": "the user never said it, or it is not what was said",
    "missed": "true, and not among the facts",
    "only_verbatim": "true, and kept only word for word, as what no model could read",
    "wrong_support": "not as many messages as said it",
    "wrong_dates": "the time of which it tells, or for which it holds, is not known",
    "wrong_about": "it is kept as about somebody else",
    "not_in_doubt": "it is believed as if nothing spoke against it",
    "needless_doubt": "it is in doubt, and nothing speaks against it",
    "history_lost": "was true once, and is not kept",
    "lost": "what the user said is found nowhere: in no fact, no message",
    "errors": "a turn that ended in an error",
}
"""Kinds of findings; a case without any has passed."""

OURS_ONLY = (
    *("only_verbatim", "wrong_support", "wrong_dates", "wrong_about", "not_in_doubt", "needless_doubt"),
    *("history_lost", "lost"),
)
"""Kinds that need support, dates, doubts, history or messages: not counted for peers."""

_BORNE_OUT = 0.5
"""Minimum share of a fact's words from the user: the others are "user" and the like."""


@dataclass(frozen=True)
class Finding:
    kind: str
    detail: str


def judge(case: Case, contents: Contents) -> list[Finding]:
    errors = [Finding("errors", error) for error in contents.errors]
    return [*_expected(case, contents), *_unwanted(case, contents), *_lost(case, contents), *errors]


def unclaimed(case: Case, contents: Contents) -> list[str]:
    return [fact.text for fact in believed(contents) if not any(p.matches(fact.text) for p in case.expect.all)]


def believed(contents: Contents) -> list[Remembered]:
    return [fact for fact in contents.facts if fact.current and not fact.verbatim]


def false_facts(case: Case, contents: Contents) -> list[str]:
    """Return the false beliefs: never true, invented, or in nobody's words."""
    said = [turn.say for turn in case.turns]
    invented = Pattern(says=(INVENTED_NAME,))

    def is_false(text: str) -> bool:
        if invented.matches(text) or any(pattern.matches(text) for pattern in case.expect.never):
            return True
        return not any(pattern.matches(text) for pattern in case.expect.all) and share(text, said) < _BORNE_OUT

    fields = [field for field in contents.profile if invented.matches(field)]
    return [*(fact.text for fact in believed(contents) if is_false(fact.text)), *fields]


def absent(case: Case, contents: Contents) -> list[str]:
    wanted = (*case.expect.current, *case.expect.doubtful)
    return [_shown(one) for one in wanted if not any(fact.current for fact in _matching(one, contents))]


def _expected(case: Case, contents: Contents) -> Iterator[Finding]:
    doubtful = case.expect.doubtful
    for wanted in (*case.expect.current, *doubtful):
        found = _matching(wanted, contents)
        current = [fact for fact in found if fact.current]
        if not current:
            kind = "wrongly_invalidated" if found else "missed"
            yield Finding(kind, f"{_shown(wanted)}{' is: ' + found[0].text if found else ''}")
        else:
            yield from _once(wanted, current)
        in_doubt = any(fact.doubtful for fact in current)
        if current and in_doubt is not (wanted in doubtful):
            yield Finding("needless_doubt" if in_doubt else "not_in_doubt", repr(current[0].text))
    for wanted in case.expect.known:
        found = _matching(wanted, contents)
        if not found:
            yield Finding("missed", _shown(wanted))
        else:
            yield from _once(wanted, [fact for fact in found if fact.current] or found[:1])


def _once(wanted: Expected, found: list[Remembered]) -> Iterator[Finding]:
    # what a model has read comes before what is kept word for word
    best, *others = sorted(found, key=lambda fact: fact.verbatim)
    for other in others:
        yield Finding("duplicates", f"{other.text!r} beside {best.text!r}")
    if best.verbatim:
        yield Finding("only_verbatim", repr(best.text))
    if wanted.support is not None and best.support != wanted.support:
        yield Finding("wrong_support", f"{best.text!r}: {best.support}, not {wanted.support}")
    if wanted.about is not None and not Pattern(says=(wanted.about,)).matches(best.about):
        yield Finding("wrong_about", f"{best.text!r}: {best.about}, not {wanted.about}")
    for name in ("event", "since", "until"):
        due, known = getattr(wanted, name), getattr(best, name)
        if not known.startswith(due):
            yield Finding("wrong_dates", f"{best.text!r}: {name} {known or 'unknown'}, not {due}")


def _unwanted(case: Case, contents: Contents) -> Iterator[Finding]:
    claimed = [fact for wanted in case.expect.kept for fact in _matching(wanted, contents)]
    for ended in (*case.expect.history, *case.expect.gone):
        for fact in contents.facts:
            if fact.current and fact not in claimed and ended.matches(fact.text):
                yield Finding("stale", repr(fact.text))
    for ended in case.expect.history:
        if not any(fact.kept and ended.matches(fact.text) for fact in contents.facts):
            yield Finding("history_lost", _shown(ended))
    for wrong in case.expect.never:
        # word for word it is what the user said, a question or a joke as it may be
        for fact in contents.facts:
            if not fact.verbatim and wrong.matches(fact.text):
                yield Finding("invented", repr(fact.text))
    for text in unclaimed(case, contents):
        yield Finding("invented", f"{text!r} is nothing that the case expects")


def _lost(case: Case, contents: Contents) -> Iterator[Finding]:
    for turn in case.turns:
        if _is_forgotten(case, turn):
            continue
        quoted = any(fact.verbatim and fact.text in turn.say for fact in contents.facts)
        if not quoted and not is_kept(turn.say, contents):
            yield Finding("lost", repr(turn.say))


def _is_forgotten(case: Case, turn: Turn) -> bool:
    """Return true if a turn is forgotten, or asks to forget: the message goes with the fact."""
    asked = [line for one in case.turns for line in one.correct if line.rel == "forget"]
    what = [Pattern(says=(line.target,)) for line in asked if line.target] + list(case.expect.gone if asked else ())
    return any(line in asked for line in turn.correct) or any(pattern.matches(turn.say) for pattern in what)


def _matching(wanted: Expected, contents: Contents) -> list[Remembered]:
    return [fact for fact in contents.facts if wanted.matches(fact.text)]


def _shown(pattern: Pattern) -> str:
    return " + ".join(pattern.says)
