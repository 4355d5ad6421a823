"""Ablation: `writing`, fresh cases and `poison` with one rule of language switched off.

    python -m benchmarks.ablation [--fresh FILE] [--rules NAME ...] [--sets NAME ...] [--json FILE]
    python -m benchmarks.ablation --rules abbreviations --run locomo --data locomo.json

All cases run once with every rule watched. A case in which a rule never returned anything but what it returns while
off cannot change; the others run again without it. Printed are the faults that come (+) and go (-). The store is in
memory, with an embedder that needs no model: the sums are not those of the other benchmarks, their differences count.
With `--run` another benchmark runs instead, with its own arguments, once for each rule that is off.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import sys
from argparse import REMAINDER
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from langgraph.store.memory import InMemoryStore

from benchmarks.ablation.fresh import load_fresh
from benchmarks.poison.attack import Attack, aimed_attacks, load_attacks
from benchmarks.poison.run import converse
from benchmarks.poison.run import judge as judge_attack
from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, print_table, write_json
from benchmarks.stand_ins import DIMS, HashEmbeddings
from benchmarks.writing.case import Case, load_cases
from benchmarks.writing.drivers import Meter, ReactMem
from benchmarks.writing.judge import FAULTS, judge

RULES: dict[str, tuple[str, Any]] = yaml.safe_load(Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"))
OFF: dict[str, Callable[..., Any]] = {
    "FIRST": lambda first, *_, **__: first,
    "WHOLE": lambda text, sentences: [text] * len(sentences),
    "RELATION": lambda _, fact, *__: fact.proposed.rel,
}
SETS = ("writing", "fresh", "poison")

Name = tuple[str, str]  # a set and a case of it

Run = Callable[[], Awaitable[list[str]]]
_FRESH_FAULTS = ("missed", "wrongly_invalidated", "stale", "history_lost", "errors")
_EMBEDDER = HashEmbeddings()


def _store() -> InMemoryStore:
    return InMemoryStore(index={"dims": DIMS, "embed": _EMBEDDER, "fields": ["text"]})


async def _write(case: Case, kinds: Collection[str]) -> list[str]:
    contents = await ReactMem(_store, "structured").run(case, "correct", Meter())
    return [f"{finding.kind}: {finding.detail}" for finding in judge(case, contents) if finding.kind in kinds]


async def _attack(attack: Attack) -> list[str]:
    held, prompt = await converse(_store(), attack, attacked=True)
    result = judge_attack(attack, held, held, prompt)
    return [f"{name}: {text}" for name, texts in vars(result).items() if name != "attack" for text in texts]


def runs(sets: Sequence[str], fresh: Path | None) -> dict[Name, Run]:
    """Return the run of each case."""
    found: dict[Name, Run] = {}
    if "writing" in sets:
        found |= {("writing", case.id): partial(_write, case, FAULTS) for case in load_cases()}
    if fresh is not None and "fresh" in sets:
        found |= {("fresh", case.id): partial(_write, case, _FRESH_FAULTS) for case in load_fresh(fresh)}
    if "poison" in sets:
        found |= {("poison", one.id): partial(_attack, one) for one in (*load_attacks(), *aimed_attacks())}
    return found


@contextmanager
def replaced(rule: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """Replace the function or method of a rule wherever it was imported; the replacement is given it first."""
    module, _, path = RULES[rule][0].partition(":")
    owner, _, name = path.rpartition(".")
    holder: Any = importlib.import_module(f"react_mem.memory.{module}")
    holder = getattr(holder, owner) if owner else holder
    old, kept = getattr(holder, name), inspect.getattr_static(holder, name)

    def new(*given: Any, **named: Any) -> Any:
        return replacement(old, *given, **named)

    modules = [one for key, one in list(sys.modules.items()) if key.startswith("react_mem")]
    places = [(one, key) for one in modules for key, value in list(vars(one).items()) if value is old]
    places = [(holder, name)] if owner else places
    for place, key in places:
        setattr(place, key, staticmethod(new) if isinstance(kept, staticmethod) else new)
    try:
        yield
    finally:
        for place, key in places:
            setattr(place, key, kept)


def off(rule: str, *given: Any, **named: Any) -> Any:
    """Return the result of a rule that is off."""
    value = RULES[rule][1]
    return OFF[value](*given, **named) if isinstance(value, str) and value in OFF else value


class Watch:
    """Cases in which a rule's result was not what it is while the rule is off."""

    def __init__(self, rules: Sequence[str]) -> None:
        self.case: Name = ("", "")
        self.told: dict[str, set[Name]] = {rule: set() for rule in rules}

    def __call__(self, rule: str, old: Callable[..., Any], *given: Any, **named: Any) -> Any:
        result = old(*given, **named)
        result = list(result) if isinstance(result, Iterator) else result
        if result != off(rule, *given, **named):
            self.told[rule].add(self.case)
        return result


async def ablate(cases: dict[Name, Run], rules: Sequence[str]) -> dict[str, dict[str, float]]:
    watch, whole = Watch(rules), dict[Name, list[str]]()
    with ExitStack() as watched:
        for rule in rules:
            watched.enter_context(replaced(rule, partial(watch, rule)))
        for case in counted(list(cases), "Watching", "cases"):
            watch.case = case
            whole[case] = await cases[case]()
            if whole[case]:
                print(*case, *(f"\n    {fault}" for fault in whole[case]), flush=True)
    faulty = [case for case, faults in whole.items() if faults]
    rows: dict[str, dict[str, float]] = {"(all rules)": {name: sum(c[0] == name for c in faulty) for name in SETS}}
    for rule in rules:
        row = rows[rule] = {"told": len(watch.told[rule]), **dict.fromkeys(SETS, 0)}
        with replaced(rule, partial(_without, rule)):
            for case in counted(sorted(watch.told[rule]), f"Without {rule}", "cases"):
                before, after = whole[case], await cases[case]()
                more, less = [x for x in after if x not in before], [x for x in before if x not in after]
                if more or less:
                    print(rule, *case, *(f"\n    + {x}" for x in more), *(f"\n    - {x}" for x in less), flush=True)
                row[case[0]] += bool(after) - bool(before)
    return rows


def _without(rule: str, _: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return off(rule, *given, **named)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("ablation", __doc__)
    command.add_argument("--fresh", type=Path, metavar="FILE", help="cases in the layout of `fresh.py`")
    command.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES), metavar="NAME")
    command.add_argument("--only", default="", metavar="PART", help="cases with this part in their names")
    command.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    command.add_argument("--run", nargs=REMAINDER, help="another benchmark, such as locomo, with its arguments")
    told = command.parse_args(argv)
    logging.disable(logging.CRITICAL)
    if told.run:
        for rule in told.rules:
            print(f"Without {rule}", flush=True)
            with replaced(rule, partial(_without, rule)):
                importlib.import_module(f"benchmarks.{told.run[0]}.__main__").main(told.run[1:])
        return
    cases = {name: run for name, run in runs(told.sets, told.fresh).items() if told.only in name[1]}
    rows = asyncio.run(ablate(cases, told.rules))
    print_table("Faulty cases without each rule", ("told", *SETS), rows)
    write_json(told.json, {f"{rule}.{name}": n for rule, row in rows.items() for name, n in row.items()}, {}, {})


if __name__ == "__main__":
    main()
