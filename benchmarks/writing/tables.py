"""What was found, for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.writing.judge import FAULTS, unclaimed
from benchmarks.writing.run import Result, Score

_COSTS = {
    "memory_calls_per_turn": "model calls a turn, beside the answer",
    "memory_prompt_tokens_per_turn": "their prompt tokens a turn",
    "memory_completion_tokens_per_turn": "their completion tokens a turn",
    "seconds_per_turn": "seconds a turn",
}


def show(console: Console, scores: Mapping[str, Score], model: str | None) -> None:
    """Print the table.

    Args:
        console: Where to.
        scores: By the memory's name.
        model: The real model, if it was one.
    """
    metrics = {name: score.metrics() for name, score in scores.items()}
    some = next(iter(metrics.values()))
    by = model or "a script"
    table = Table(title=f"Writing: {some['cases']:g} cases, {some['turns']:g} turns, the model is {by}")
    table.add_column("")
    for name in metrics:
        table.add_column(name, justify="right")
    _row(table, "cases that failed", "cases_failed", metrics)
    for kind, meaning in FAULTS.items():
        _row(table, f"{kind}: {meaning}", kind, metrics)
    _row(table, "current facts that no case speaks of", "unjudged_facts", metrics)
    table.add_section()
    groups = sorted({key.rsplit(".", 1)[0] for values in metrics.values() for key in values if "." in key})
    for group in groups:
        if model and group.startswith("model."):
            continue  # it says how careful the script is
        label = f"failed, {group.replace('.', ' ')}: of {some[f'{group}.cases']:g}"
        _row(table, label, f"{group}.cases_failed", metrics)
    table.add_section()
    for key, meaning in _COSTS.items():
        _row(table, meaning, key, metrics)
    table.caption = "-: not measured by it. " + (
        "Tokens as the model counts them." if model else "Tokens are approximate: characters / 4, the schema included."
    )
    console.print(table)


def explain(console: Console, name: str, score: Score, *, scripted: bool) -> None:
    """Print each case that failed: what is wrong, what was said and what is remembered.

    Args:
        console: Where to.
        name: The memory's name.
        score: Its results.
        scripted: Whether the model said what the script says.
    """
    failed = score.failed()
    console.rule(f"{name}: {len(failed)} of {len(score.results)} cases failed")
    for result in failed:
        _explain(console, result, score, scripted)


def _explain(console: Console, result: Result, score: Score, scripted: bool) -> None:
    case = result.case
    console.print(f"\n[bold]{case.id}[/bold] ({case.lang}, {case.kind}) {escape(case.about)}")
    for finding in result.findings:
        if finding.kind in score.kinds:
            console.print(f"  [red]{finding.kind}[/red]: {escape(finding.detail)}", highlight=False, soft_wrap=True)
    several = len({turn.conversation for turn in case.turns}) > 1
    for turn in case.turns:
        where = f"\\[{turn.conversation}] " if several else ""
        console.print(f"  {where}[cyan]user[/cyan] {escape(turn.say)}", highlight=False, soft_wrap=True)
        if turn.reply != "OK.":
            console.print(f"  {where}[cyan]assistant[/cyan] {escape(turn.reply)}", highlight=False, soft_wrap=True)
        for line in turn.model if scripted else ():
            op = "add" if line.add else f"update {line.update!r}" if line.update else f"retract {line.retract!r}"
            bad = f"  ({line.bad})" if line.bad else ""
            console.print(
                f"    [dim]model: {escape(f'{op}: {line.triple} {line.text}{bad}')}[/dim]",
                highlight=False,
                soft_wrap=True,
            )
    extra = unclaimed(case, result.contents)
    for fact in sorted(result.contents.facts, key=lambda fact: not fact.current):
        state = "current" if fact.current else "retired" if fact.kept else "removed"
        notes = [state, *(["verbatim"] if fact.verbatim else []), *(["unexpected"] if fact.text in extra else [])]
        notes += [f"support {fact.support}"] if fact.support is not None else []
        notes += [f"{word} {day[:10]}" for word, day in (("from", fact.since), ("until", fact.until)) if day]
        console.print(f"    [green]{escape(fact.text)}[/green] ({', '.join(notes)})", highlight=False, soft_wrap=True)


def _row(table: Table, label: str, key: str, metrics: Mapping[str, Mapping[str, float]]) -> None:
    table.add_row(label, *(f"{values[key]:g}" if key in values else "-" for values in metrics.values()))
