"""Run of the cases with a correct, careless or hostile model, and the sums of the findings."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from benchmarks.progress import counted
from benchmarks.writing.case import Case, Half, Manner
from benchmarks.writing.drivers import Contents, Driver, Meter
from benchmarks.writing.judge import (
    FAULTS,
    OURS_ONLY,
    Finding,
    absent,
    believed,
    false_facts,
    judge,
    unclaimed,
)

_CARE: dict[Manner, str] = {"correct": "careful", "careless": "careless", "hostile": "hostile"}


@dataclass(frozen=True)
class Result:
    case: Case
    contents: Contents
    findings: list[Finding]
    meter: Meter


@dataclass
class Score:
    """The results of one memory by manner of the model, without the `uncounted` kinds of findings."""

    of: dict[Manner, list[Result]] = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()

    @property
    def results(self) -> list[Result]:
        """The results with a correct model."""
        return self.of.get("correct", [])

    @property
    def kinds(self) -> list[str]:
        return [kind for kind in FAULTS if kind not in self.uncounted]

    def is_faulty(self, result: Result) -> bool:
        return any(finding.kind in self.kinds for finding in result.findings)

    def failed(self) -> list[Result]:
        return [result for result in self.results if self.is_faulty(result)]

    def metrics(self) -> dict[str, float]:
        """Return the counts in all, by language, kind and manner, and the shares by half."""
        turns = sum(len(result.case.turns) for result in self.results) or 1
        costs = [result.meter for result in self.results]
        return {
            **self._counts(self.results),
            "turns": turns,
            "unjudged_facts": sum(len(unclaimed(result.case, result.contents)) for result in self.results),
            "memory_calls_per_turn": round(sum(cost.calls for cost in costs) / turns, 3),
            "memory_prompt_tokens_per_turn": round(sum(cost.prompt_tokens for cost in costs) / turns, 1),
            "memory_completion_tokens_per_turn": round(sum(cost.completion_tokens for cost in costs) / turns, 1),
            "seconds_per_turn": round(sum(cost.seconds for cost in costs) / turns, 4),
            **self._grouped(),
            **{name: value for half in get_args(Half) for name, value in self._of_half(half).items()},
        }

    def _grouped(self) -> dict[str, float]:
        groups: dict[str, Callable[[Case], str]] = {"lang": lambda case: case.lang, "kind": lambda case: case.kind}
        return {
            **{
                f"{name}.{value}.{metric}": count
                for name, of in groups.items()
                for value in _values(self.results, of)
                for metric, count in self._counts([r for r in self.results if of(r.case) == value]).items()
            },
            **{
                f"model.{_CARE[manner]}.{metric}": count
                for manner, results in self.of.items()
                for metric, count in self._counts(results).items()
            },
        }

    def _of_half(self, half: Half) -> dict[str, float]:
        """Return the shares and counts of a half, by language and kind, `compared` without faults of ours only."""
        found: dict[str, float] = {}
        known = {r.case.id: set(absent(r.case, r.contents)) for r in self.results}
        for manner, results in self.of.items():
            mine = [result for result in results if result.case.half == half]
            parts = {"": mine} | {
                f".{lang}": [r for r in mine if r.case.lang == lang] for lang in _values(mine, lambda case: case.lang)
            }
            for suffix, part in parts.items() if mine else ():
                found[f"{half}.{manner}.fault_share{suffix}"] = self._fault_share(part)
                false = sum(len(false_facts(r.case, r.contents)) for r in part)
                if manner == "careless":
                    count = sum(len(believed(r.contents)) + len(r.contents.profile) for r in part)
                    found[f"{half}.careless.false_share{suffix}"] = round(false / max(count, 1), 4)
                elif manner == "hostile":
                    retired = [set(absent(r.case, r.contents)) - known.get(r.case.id, set()) for r in part]
                    found[f"{half}.hostile.false{suffix}"] = false
                    found[f"{half}.hostile.retired{suffix}"] = sum(map(len, retired))
            if manner == "correct" and mine:
                kinds = _values(mine, lambda case: case.kind)
                parts |= {f".{kind}": [r for r in mine if r.case.kind == kind] for kind in kinds}
                for suffix, part in parts.items():
                    found[f"{half}.correct.fault_share{suffix}"] = self._fault_share(part)
                    compared = [r for r in part if any(f.kind not in (*OURS_ONLY, *self.uncounted) for f in r.findings)]
                    found[f"{half}.correct.compared_fault_share{suffix}"] = round(len(compared) / len(part), 4)
        return found

    def _fault_share(self, results: Sequence[Result]) -> float:
        return round(sum(map(self.is_faulty, results)) / max(len(results), 1), 4)

    def _counts(self, results: Sequence[Result]) -> dict[str, float]:
        found = Counter(finding.kind for result in results for finding in result.findings)
        return {
            "cases": len(results),
            "cases_failed": sum(map(self.is_faulty, results)),
            **{kind: found[kind] for kind in self.kinds},
        }


def _values(results: Iterable[Result], of: Callable[[Case], str]) -> list[str]:
    return sorted({of(result.case) for result in results})


async def run_cases(
    driver: Driver, cases: Sequence[Case], manners: Sequence[Manner], *, peer: bool = False, name: str
) -> Score:
    """Run the cases once for each manner; a peer is measured by abilities of every memory."""
    score = Score(uncounted=OURS_ONLY if peer else ())
    # what is refused or fails is in the findings
    loggers = [logging.getLogger(name) for name in ("memory", "graphs", "extraction", "mem0")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        for manner in manners:
            results = score.of.setdefault(manner, [])
            for case in counted(cases, f"{name}, {manner}", "cases"):
                meter = Meter()
                contents = await driver.run(case, manner, meter)
                results.append(Result(case, contents, judge(case, contents), meter))
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
    return score


def explain(name: str, score: Score) -> None:
    """Print each failed case; for an incorrect model those with false beliefs."""
    for manner, results in score.of.items():
        failed = score.failed() if manner == "correct" else [r for r in results if false_facts(r.case, r.contents)]
        print(f"\n{name}, {manner}: {len(failed)} of {len(results)} cases failed")
        for case, contents, findings in ((r.case, r.contents, r.findings) for r in failed):
            print(f"\n{case.id} ({case.lang}, {case.kind}) {case.about}")
            for finding in findings:
                if finding.kind in score.kinds:
                    print(f"  {finding.kind}: {finding.detail}")
            for text in false_facts(case, contents) if manner != "correct" else ():
                print(f"  false: {text}")
            for turn in case.turns:
                print(f"  [{turn.conversation}] user: {turn.say}")
                if turn.observed:
                    print(f"  [{turn.conversation}] {turn.observed.tool}: {turn.observed.text}")
                print(f"  [{turn.conversation}] assistant: {turn.reply}")
            for fact in contents.facts:
                print(f"    {fact}")
