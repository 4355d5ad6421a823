"""Suggestions for misspelt names in error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping


def valid_names(name: str, valid: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """Return the valid names and the one nearest to `name`, to end an error message with.

    Args:
        name: What was given.
        valid: What would have been accepted.
        elsewhere: Names that are valid in another place, with that place, for where one of them is given, or none of
            `valid` is near.

    Returns:
        A clause without a final full stop.

    >>> valid_names("calculater", ["calculator", "current_time"])
    "valid: calculator, current_time; did you mean 'calculator'?"
    >>> valid_names("calculater", ["chat"], {"calculator": "tools.calculator"})
    "valid: chat; did you mean 'tools.calculator'?"
    >>> valid_names("slm_model", ["models"], {"slm_model": "memory.web.slm_model"})
    "valid: models; did you mean 'memory.web.slm_model'?"
    >>> valid_names("zzz", [])
    'valid: none'
    """
    known = sorted(valid)
    hint = ""
    elsewhere = elsewhere or {}
    given = {one: place for one, place in elsewhere.items() if one == name}
    for names in (given, {one: one for one in known}, elsewhere):
        folded = {one.casefold(): place for one, place in names.items()}
        if near := difflib.get_close_matches(name.casefold(), folded, n=1):
            hint = f"; did you mean {folded[near[0]]!r}?"
            break
    return f"valid: {', '.join(known) or 'none'}{hint}"
