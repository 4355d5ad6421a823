"""YAML that others have written, read within bounds.

An alias costs a few bytes and stands for all that it names, aliases among it: 306 bytes come to 25 MB wherever what was
read is shown or copied.
"""

from __future__ import annotations

from typing import Any

import yaml

MAX_NODES = 20_000
"""Values of a text, those of an alias counted each time that it stands there."""


MAX_DEPTH = 50
"""Lists and mappings within each other: what is nested by thousands takes PyYAML seconds to look at."""


class BoundedLoader(yaml.SafeLoader):
    """The safe loader, but nothing is nested deeper than `MAX_DEPTH`."""

    def fetch_flow_collection_start(self, token_class: Any) -> None:
        """Begin a list or a mapping in brackets."""
        self._check_depth()
        super().fetch_flow_collection_start(token_class)

    def add_indent(self, column: int) -> bool:
        """Begin one by indentation."""
        self._check_depth()
        added: bool = super().add_indent(column)
        return added

    def _check_depth(self) -> None:
        if self.flow_level + len(self.indents) >= MAX_DEPTH:
            raise yaml.YAMLError("it is nested too deeply")


def read_yaml(text: str, loader: type[BoundedLoader] = BoundedLoader) -> Any:
    """Return what a text of YAML says: plain values alone.

    Args:
        text: The text.
        loader: How values are made of it.

    Raises:
        yaml.YAMLError: If it is not valid, names no value such as the 32nd of May, is nested too deeply, or comes to
            too much by its aliases.

    >>> read_yaml("a: &steps [1, 2]\\nb: *steps")
    {'a': [1, 2], 'b': [1, 2]}
    """
    reading = loader(text)
    try:
        node = reading.get_single_node()
        if node is None:
            return None
        _weigh(node, {})
        return reading.construct_document(node)
    except (ValueError, OverflowError) as error:
        # a date or a number that there is not; its text is not repeated
        raise yaml.YAMLError(f"one of its values cannot be read ({type(error).__name__})") from None
    finally:
        reading.dispose()


def _weigh(node: yaml.Node, known: dict[int, int]) -> int:
    """Return how many values a node comes to.

    Raises:
        yaml.YAMLError: If they are too many, or it is a part of itself.
    """
    key = id(node)
    if key in known:
        if not known[key]:
            raise yaml.YAMLError("an alias names what it is a part of")
        return known[key]
    # not weighed yet: who meets it again below is in a circle
    known[key] = 0
    parts = node.value if isinstance(node, yaml.CollectionNode) else ()
    weight = 1
    for part in parts:
        weight += sum(_weigh(one, known) for one in (part if isinstance(part, tuple) else (part,)))
        if weight > MAX_NODES:
            raise yaml.YAMLError(f"it has more than {MAX_NODES} values, those of its aliases counted each time")
    known[key] = weight
    return weight
