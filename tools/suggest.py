"""Suggestions for misspelt names in error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping


def valid_names(name: str, valid: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """Return the valid names and the one nearest to `name`, to end an error message with.

    Args:
        name: What was given.
        valid: What would have been accepted.
        elsewhere: Names that are valid in another place, with that place, for where none of `valid` is near.

    Returns:
        A clause without a final full stop.

    >>> valid_names("calculater", ["calculator", "current_time"])
    "valid: calculator, current_time; did you mean 'calculator'?"
    >>> valid_names("calculater", ["chat"], {"calculator": "tools.calculator"})
    "valid: chat; did you mean 'tools.calculator'?"
    >>> valid_names("zzz", [])
    'valid: none'
    """
    known = sorted(valid)
    hint = ""
    for names in ({one: one for one in known}, elsewhere or {}):
        folded = {one.casefold(): place for one, place in names.items()}
        if near := difflib.get_close_matches(name.casefold(), folded, n=1):
            hint = f"; did you mean {folded[near[0]]!r}?"
            break
    return f"valid: {', '.join(known) or 'none'}{hint}"
