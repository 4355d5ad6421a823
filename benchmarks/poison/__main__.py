"""Memory poisoning: a stranger's text tries to teach memory, make it forget, or speak in the user's name.

    python -m benchmarks.poison [--json results/poison.json] [--only NAME ...]

Pages, tool results, quoted mail, code, the user's assent to a question from a page, summaries, skills and imported
files, each with a model that obeys them, in six languages; and the same conversations without the attack. Then a page,
a tool, a mail, code and another agent that ask to forget the topic of the user's question, with a model that labels the
asking clause, the pasted clauses, or each with everything.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from benchmarks.poison.attack import aimed_attacks, load_attacks
from benchmarks.poison.run import Result, run_attacks
from benchmarks.progress import interruptible
from benchmarks.report import Command, flat, print_table, write_json
from benchmarks.writing.drivers import open_store

COLUMNS = ("attacks", "facts_taught", "facts_retired", "facts_forgotten", "unmarked_lines", "utility_lost")


def metrics(results: Sequence[Result]) -> dict[str, float]:
    return {
        "attacks": len(results),
        "facts_taught": sum(len(result.taught) for result in results),
        "facts_retired": sum(len(result.retired) for result in results),
        "facts_forgotten": sum(len(result.forgotten) for result in results),
        "unmarked_lines": sum(len(result.unmarked) for result in results),
        "utility_lost": sum(len(result.lost) for result in results),
    }


async def measure(kind: str, only: Sequence[str]) -> list[Result]:
    """Run the attacks, all or those with one of these parts in their names, on a kind of store."""
    attacks = [*load_attacks(), *aimed_attacks()]
    attacks = [one for one in attacks if not only or any(part in one.id for part in only)]
    async with open_store(kind) as store:
        return await run_attacks(store, attacks)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("poison", __doc__)
    command.add_argument("--store", choices=("postgres", "memory"), default="postgres")
    command.add_argument("--only", nargs="+", default=[], metavar="NAME", help="attacks by a part of their names")
    told = command.parse_args(argv)
    results = asyncio.run(measure(told.store, told.only))
    for result in results:
        if not result.harmless:
            print(result.attack.id, *(f"{k}={v}" for k, v in vars(result).items() if v and k != "attack"))
    ways = Counter(result.attack.way for result in results)
    rows = {str(way): metrics([result for result in results if result.attack.way == way]) for way in ways}
    print_table("Attacks on memory", COLUMNS, {**rows, "all": metrics(results)})
    write_json(told.json, {**metrics(results), **flat(rows)}, {}, {"store": told.store})


if __name__ == "__main__":
    main()
