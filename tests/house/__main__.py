"""`python -m tests.house`: print the size of the product against its budgets, and write the table of the docs."""

from __future__ import annotations

import sys

from tests.house import rooms, stories


def main() -> int:
    """Print rooms and stories; return 1 where one is over its budget."""
    allowed = rooms.budgets()
    measured = rooms.measure()
    for room, (lines, files) in measured.items():
        print(f"{room:24} {lines:7,} lines of {allowed.get(room, 0):7,}  {files:4} files")
    problems = rooms.over_budget(measured)
    for story, (files, functions) in stories.run().items():
        limit = allowed[f"story.{story}"]
        print(f"{story:24} {files:7} files of {limit:7}  {functions:5} functions")
        if files > limit:
            problems.append(f"the story {story} crosses {files} files, more than its {limit}")
    page = rooms.PAGE.read_text(encoding="utf-8")
    rooms.PAGE.write_text(rooms.written(page), encoding="utf-8")
    print(*problems, sep="\n")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
