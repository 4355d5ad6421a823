"""What each rule of language changes: the cases of `writing`, fresh ones and `poison`, with one rule switched off.

    python -m benchmarks.ablation [--fresh FILE] [--rules NAME ...] [--sets NAME ...] [--json FILE]

All cases run once with every rule watched. A case in which a rule never returned anything but what it returns while it is
off cannot change; the others run again without it. Printed are the faults that come and go. The store is in memory, with
an embedder that needs no model: the sums are not those of the other benchmarks, their differences are what counts.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore

from benchmarks.ablation.fresh import ListeningChat, load_fresh
from benchmarks.ablation.rules import RULES
from benchmarks.poison.attack import Attack, aimed_attacks, load_attacks
from benchmarks.poison.run import converse
from benchmarks.poison.run import judge as judge_attack
from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, print_table, write_json
from benchmarks.stand_ins import DIMS, HashEmbeddings
from benchmarks.writing.case import Case, Manner, load_cases
from benchmarks.writing.drivers import Meter, ReactMem
from benchmarks.writing.judge import absent, false_facts, judge

Run = Callable[[], Awaitable[list[str]]]


class _Embedder(HashEmbeddings):
    @cache
    def embed_query(self, text: str) -> list[float]:
        return super().embed_query(text)


_EMBEDDER = _Embedder()
_FRESH_FAULTS = ("missed", "wrongly_invalidated", "stale", "history_lost", "errors")
SETS = ("writing", "careless", "hostile", "fresh", "poison")


def _store() -> InMemoryStore:
    return InMemoryStore(index={"dims": DIMS, "embed": _EMBEDDER, "fields": ["text"]})


async def _write(case: Case, manner: Manner) -> list[str]:
    contents = await ReactMem(_store, "structured").run(case, manner, Meter())
    if manner == "correct":
        return [f"{finding.kind}: {finding.detail}" for finding in judge(case, contents)]
    return [
        *(f"false: {text}" for text in false_facts(case, contents)),
        *(f"retired: {x}" for x in absent(case, contents)),
    ]


async def _ask(case: Any) -> list[str]:
    ListeningChat.heard.clear()
    contents = await ReactMem(_store, "structured", ListeningChat).run(case, "correct", Meter())
    found = [f"{one.kind}: {one.detail}" for one in judge(case, contents) if one.kind in _FRESH_FAULTS]
    return [*found, *case.unanswered()]


async def _attack(attack: Attack) -> list[str]:
    held, prompt = await converse(_store(), attack, attacked=True)
    result = judge_attack(attack, held, held, prompt)
    return [f"{name}: {text}" for name, texts in vars(result).items() if name != "attack" for text in texts]


def runs(sets: Sequence[str], fresh: Path | None) -> dict[tuple[str, str], Run]:
    """Return the run of each case by the name of its set and its own."""
    manners: dict[str, Manner] = {"writing": "correct", "careless": "careless", "hostile": "hostile"}
    found: dict[tuple[str, str], Run] = {}
    for name, manner in manners.items():
        found |= {(name, case.id): partial(_write, case, manner) for case in (load_cases() if name in sets else ())}
    if fresh is not None and "fresh" in sets:
        found |= {("fresh", case.id): partial(_ask, case) for case in load_fresh(fresh)}
    if "poison" in sets:
        found |= {("poison", one.id): partial(_attack, one) for one in (*load_attacks(), *aimed_attacks())}
    return found


@contextmanager
def replaced(rule: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """Replace the function of a rule, `module:function` or `module:Class.method`, wherever it was imported."""
    module, _, path = RULES[rule][0].partition(":")
    owner, _, name = path.rpartition(".")
    holder: Any = importlib.import_module(module)
    holder = getattr(holder, owner) if owner else holder
    old, kept = getattr(holder, name), inspect.getattr_static(holder, name)
    new: Any = partial(replacement, old)
    if owner:
        new = (
            staticmethod(new)
            if isinstance(kept, staticmethod)
            else lambda *given, **named: replacement(old, *given, **named)
        )
    modules = [one for key, one in list(sys.modules.items()) if key.startswith(("react_mem", "benchmarks"))]
    places = [(one, key) for one in modules for key, value in list(vars(one).items()) if value is old]
    for place, key in [(holder, name)] if owner else places:
        setattr(place, key, new)
    try:
        yield
    finally:
        for place, key in [(holder, name)] if owner else places:
            setattr(place, key, kept)


def _off(rule: str, *given: Any, **named: Any) -> Any:
    value = RULES[rule][1]
    return value(*given, **named) if callable(value) else value


class Watch:
    """Cases in which a rule's result was not what it is while the rule is off."""

    def __init__(self) -> None:
        self.case: tuple[str, str] = ("", "")
        self.told: dict[str, set[tuple[str, str]]] = {rule: set() for rule in RULES}

    def __call__(self, rule: str, old: Callable[..., Any], *given: Any, **named: Any) -> Any:
        result = old(*given, **named)
        if isinstance(result, Iterator):
            result = list(result)
        if self.case not in self.told[rule] and result != _off(rule, *given, **named):
            self.told[rule].add(self.case)
        return result


async def ablate(cases: dict[tuple[str, str], Run], rules: Sequence[str]) -> dict[str, dict[str, float]]:
    watch = Watch()
    whole: dict[tuple[str, str], list[str]] = {}
    undo = [replaced(rule, partial(watch, rule)) for rule in rules]
    for one in undo:
        one.__enter__()
    for case in counted(list(cases), "Watching", "cases"):
        watch.case = case
        whole[case] = await cases[case]()
    for one in reversed(undo):
        one.__exit__(None, None, None)
    rows = {"(all rules)": {name: sum(len(v) > 0 for k, v in whole.items() if k[0] == name) for name in SETS}}
    _print_faults(whole)
    for rule in rules:
        rows[rule] = {"told": len(watch.told[rule])}
        with replaced(rule, lambda old, *a, **k: _off(rule, *a, **k)):  # noqa: B023 - left before the next
            for case in counted(sorted(watch.told[rule]), f"Without {rule}", "cases"):
                faults = await cases[case]()
                more, less = [x for x in faults if x not in whole[case]], [x for x in whole[case] if x not in faults]
                if more or less:
                    print(rule, *case, *(f"\n    + {x}" for x in more), *(f"\n    - {x}" for x in less), flush=True)
                rows[rule][case[0]] = rows[rule].get(case[0], 0) + (len(faults) > 0) - (len(whole[case]) > 0)
        print("==", rule, rows[rule], flush=True)
    return rows


def _print_faults(whole: dict[tuple[str, str], list[str]]) -> None:
    for case, faults in whole.items():
        if faults and case[0] in ("writing", "fresh", "poison"):
            print(*case, *(f"\n    {fault}" for fault in faults), flush=True)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("ablation", __doc__)
    command.add_argument("--fresh", type=Path, metavar="FILE", help="cases in the layout of `fresh.py`")
    command.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES), metavar="NAME")
    command.add_argument("--only", default="", metavar="PART", help="cases with this part in their names")
    command.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    told = command.parse_args(argv)
    logging.disable(logging.CRITICAL)
    cases = {name: run for name, run in runs(told.sets, told.fresh).items() if told.only in name[1]}
    rows = asyncio.run(ablate(cases, told.rules))
    print_table("Faulty cases without each rule", ("told", *SETS), rows)
    write_json(
        told.json, {f"{rule}.{name}": value for rule, row in rows.items() for name, value in row.items()}, {}, {}
    )


if __name__ == "__main__":
    main()
