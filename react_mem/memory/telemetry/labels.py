"""Values that a label may take: never content, and of bounded cardinality.

Every label of an instrument is one of these kinds. What does not fit becomes `other`; the text itself goes nowhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

OTHER = "other"

_MAX_NAMES = 50
"""Names a label takes in one process. Prometheus keeps a series for each, times those of the other labels."""
_NAME = re.compile(r"[A-Za-z0-9_.:/@+-]{1,64}")
"""Form of identifiers of models, tools and exceptions, which no sentence has."""


@dataclass(frozen=True)
class Choice:
    """A label with a closed set of values.

    >>> direction = Choice("direction", frozenset({"input", "output"}))
    >>> direction.admit("input"), direction.admit("my secret")
    ('input', 'other')
    """

    name: str
    values: frozenset[str]

    def admit(self, value: object) -> str:
        """Return the value if it is one of the set, else `other`."""
        return str(value) if isinstance(value, str) and value in self.values else OTHER


@dataclass(frozen=True)
class Name:
    """A label for names that are set by code or configuration, such as a model's: short, and not many of them.

    >>> Name("model").admit("gpt-4o-mini"), Name("model").admit("what did I say yesterday?")
    ('gpt-4o-mini', 'other')
    """

    name: str
    limit: int = _MAX_NAMES
    _known: set[str] = field(default_factory=set, compare=False, repr=False)

    def admit(self, value: object) -> str:
        """Return the value if it is a name, and one of the first ones, else `other`."""
        if not isinstance(value, str):
            return OTHER
        if value not in self._known:
            if len(self._known) >= self.limit or not _NAME.fullmatch(value):
                return OTHER
            self._known.add(str(value))
        return str(value)


Label = Choice | Name


def choice(name: str, *values: str) -> Choice:
    """Return a label with these values."""
    return Choice(name, frozenset(values))
