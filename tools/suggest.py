"""What a user probably meant, for error messages about names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def valid_names(name: str, valid: Iterable[str]) -> str:
    """Return the valid names and the one nearest to `name`, to end an error message with.

    Args:
        name: What was given.
        valid: What would have been accepted.

    Returns:
        A clause without a final full stop.

    >>> valid_names("calculater", ["calculator", "current_time"])
    "valid: calculator, current_time; did you mean 'calculator'?"
    >>> valid_names("zzz", [])
    'valid: none'
    """
    known = sorted(valid)
    folded = {known_name.casefold(): known_name for known_name in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    hint = f"; did you mean {folded[near[0]]!r}?" if near else ""
    return f"valid: {', '.join(known) or 'none'}{hint}"
