"""Tables of the findings."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.writing.case import Line, Manner, Turn
from benchmarks.writing.judge import FAULTS, false_facts, unclaimed
from benchmarks.writing.run import Result, Score

_SHARES = {
    "correct.fault_share": "share of the cases with a fault, the model correct",
    "correct.compared_fault_share": "the same, by faults that every memory is measured by",
    "careless.false_share": "share of what is believed that is false, the model careless",
    "hostile.false": "false facts that are believed, the model hostile",
    "hostile.retired": "true facts that are not believed any more, the model hostile",
}
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
    groups = sorted({key.removesuffix(".cases") for key in some if key.endswith(".cases")})
    for group in groups:
        if model and group.startswith("model."):
            continue  # it says how the script answers
        label = f"failed, {group.replace('.', ' ')}: of {some[f'{group}.cases']:g}"
        _row(table, label, f"{group}.cases_failed", metrics)
    table.add_section()
    for half in ("early", "late"):
        for share, meaning in _SHARES.items():
            if f"{half}.{share}" in some:
                _row(table, f"{half} half, {meaning}", f"{half}.{share}", metrics)
    table.add_section()
    for key, meaning in _COSTS.items():
        _row(table, meaning, key, metrics)
    table.caption = "-: not measured by it. " + (
        "Tokens as the model counts them." if model else "Tokens are approximate: characters / 4, the schema included."
    )
    console.print(table)


def explain(console: Console, name: str, score: Score) -> None:
    """Print each case that failed: what is wrong, what was said and what is remembered.

    With a model that is not correct, only what is believed and false is a failure.

    Args:
        console: Where to.
        name: The memory's name.
        score: Its results.
    """
    for manner, results in score.of.items():
        failed = score.failed() if manner == "correct" else [r for r in results if false_facts(r.case, r.contents)]
        console.rule(f"{name}, {manner}: {len(failed)} of {len(results)} cases failed")
        for result in failed:
            _explain(console, result, score, manner)


def _explain(console: Console, result: Result, score: Score, manner: Manner) -> None:
    case = result.case
    console.print(f"\n[bold]{case.id}[/bold] ({case.lang}, {case.kind}) {escape(case.about)}")
    for finding in result.findings:
        if finding.kind in score.kinds:
            console.print(f"  [red]{finding.kind}[/red]: {escape(finding.detail)}", highlight=False, soft_wrap=True)
    if manner != "correct":
        for text in false_facts(case, result.contents):
            console.print(f"  [red]false[/red]: {escape(text)}", highlight=False, soft_wrap=True)
    several = len({turn.conversation for turn in case.turns}) > 1
    for turn in case.turns:
        where = f"\\[{turn.conversation}] " if several else ""
        console.print(f"  {where}[cyan]user[/cyan] {escape(turn.say)}", highlight=False, soft_wrap=True)
        if turn.observed:
            shown = f"{turn.observed.tool}: {turn.observed.text}"
            console.print(f"  {where}[cyan]tool[/cyan] {escape(shown)}", highlight=False, soft_wrap=True)
        if turn.reply != "OK.":
            console.print(f"  {where}[cyan]assistant[/cyan] {escape(turn.reply)}", highlight=False, soft_wrap=True)
        for line in _lines(turn, manner):
            console.print(f"    [dim]model: {escape(_written(line))}[/dim]", highlight=False, soft_wrap=True)
    extra = unclaimed(case, result.contents)
    for fact in sorted(result.contents.facts, key=lambda fact: not fact.current):
        state = "current" if fact.current else "retired" if fact.kept else "removed"
        notes = [state, *(["verbatim"] if fact.verbatim else []), *(["unexpected"] if fact.text in extra else [])]
        notes += ["in doubt"] if fact.doubtful else []
        notes += [f"about {fact.about}"] if fact.about not in ("", "user") else []
        notes += [f"support {fact.support}"] if fact.support is not None else []
        dates = (("on", fact.event), ("from", fact.since), ("until", fact.until))
        notes += [f"{word} {day[:10]}" for word, day in dates if day]
        console.print(f"    [green]{escape(fact.text)}[/green] ({', '.join(notes)})", highlight=False, soft_wrap=True)


def _lines(turn: Turn, manner: Manner) -> tuple[Line, ...]:
    given = {"correct": turn.correct, "careless": turn.careless, "hostile": turn.hostile}[manner]
    return turn.correct if given is None else given


def _written(line: Line) -> str:
    if line.drop is not None:
        return f"{line.drop}: {line.quote!r}"
    target = f" {line.target!r}" if line.target is not None else ""
    return f"{line.rel}{target}: {line.quote!r} = {line.sentence}"


def _row(table: Table, label: str, key: str, metrics: Mapping[str, Mapping[str, float]]) -> None:
    table.add_row(label, *(f"{values[key]:g}" if key in values else "-" for values in metrics.values()))
