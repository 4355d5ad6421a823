"""Going through cases, and adding up what was found."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.writing.case import Case
from benchmarks.writing.drivers import Contents, Driver
from benchmarks.writing.judge import FAULTS, OURS_ONLY, SCRIPT_ONLY, Finding, judge, unclaimed
from benchmarks.writing.meter import Meter


@dataclass(frozen=True)
class Result:
    """One case, gone through.

    Args:
        case: The case.
        contents: What was remembered.
        findings: What is wrong with it.
        meter: What it cost.
        seconds: How long it took.
    """

    case: Case
    contents: Contents
    findings: list[Finding]
    meter: Meter
    seconds: float


@dataclass
class Score:
    """The results of one memory.

    Args:
        results: One a case.
        uncounted: Kinds of findings that this memory is not measured by.
    """

    results: list[Result] = field(default_factory=list)
    uncounted: tuple[str, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """The kinds of findings that count."""
        return [kind for kind in FAULTS if kind not in self.uncounted]

    def failed(self) -> list[Result]:
        """Return the cases with a finding that counts."""
        return [result for result in self.results if any(f.kind in self.kinds for f in result.findings)]

    def metrics(self) -> dict[str, float]:
        """Return the counts in all, and by language, kind of case and care of the script's model."""
        turns = sum(len(result.case.turns) for result in self.results) or 1
        costs = [result.meter for result in self.results]
        groups: dict[str, Callable[[Case], str]] = {
            "lang": lambda case: case.lang,
            "kind": lambda case: case.kind,
            "model": lambda case: "careless" if case.careless else "careful",
        }
        return {
            **self._counts(self.results),
            "turns": turns,
            "unjudged_facts": sum(len(unclaimed(result.case, result.contents)) for result in self.results),
            "memory_calls_per_turn": round(sum(cost.calls for cost in costs) / turns, 3),
            "memory_prompt_tokens_per_turn": round(sum(cost.prompt_tokens for cost in costs) / turns, 1),
            "memory_completion_tokens_per_turn": round(sum(cost.completion_tokens for cost in costs) / turns, 1),
            "seconds_per_turn": round(sum(result.seconds for result in self.results) / turns, 4),
            **{
                f"{name}.{value}.{metric}": count
                for name, of in groups.items()
                for value in sorted({of(result.case) for result in self.results})
                for metric, count in self._counts([r for r in self.results if of(r.case) == value]).items()
            },
        }

    def _counts(self, results: Sequence[Result]) -> dict[str, float]:
        found = Counter(finding.kind for result in results for finding in result.findings)
        failed = sum(any(finding.kind in self.kinds for finding in result.findings) for result in results)
        return {
            "cases": len(results),
            "cases_failed": failed,
            **{kind: found[kind] for kind in self.kinds},
        }


async def run_cases(
    driver: Driver, cases: Sequence[Case], *, closed: bool, peer: bool = False, progress: Callable[[str], None]
) -> Score:
    """Go through the cases, one after the other.

    Args:
        driver: The memory.
        cases: The cases.
        closed: See `judge`.
        peer: Whether it is measured only by what every memory can do.
        progress: Is told each case before it starts.
    """
    score = Score(uncounted=(*(OURS_ONLY if peer else ()), *(() if closed else SCRIPT_ONLY)))
    # what is refused or fails is in the findings
    loggers = [logging.getLogger(name) for name in ("memory", "graphs", "extraction")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        for case in cases:
            progress(case.id)
            meter = Meter()
            start = time.perf_counter()
            contents = await driver.run(case, meter)
            seconds = time.perf_counter() - start
            score.results.append(Result(case, contents, judge(case, contents, closed=closed), meter, seconds))
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
    return score
