"""What becomes of links when memories are written or removed. Pure: documents in, documents out.

Whoever calls has not read everything. What is needed and was not given is named, nothing is decided without it, and the
caller reads it and calls again; what is decided does not depend on how often.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from react_mem.memory.graph.documents import Direction, Document, Edge, Line, Stored, edge_of
from react_mem.memory.graph.links import Link, LinkKind, Node, line_of
from react_mem.memory.model.interface import MemoryScope

MOST_LINKS = {LinkKind.SEMANTIC: 8, LinkKind.SUMMARIZATION: 200}
"""Links of a kind and a direction that a memory has, at most, the strongest and then the latest. The memories that are
most alike are three a memory, and each may be among those of others; a summary has up to 200 sources."""

MOST_OTHERS = 32
"""Of any other kind: a fact that was said a hundred times needs no hundred witnesses, and a document with 32 links is 5
kB, which is read whole."""

_STEPS = frozenset({MemoryScope.EXPERIENCE, MemoryScope.STATE})
_EPISODES = frozenset({MemoryScope.EPISODIC})
_FACTS = frozenset({MemoryScope.SEMANTIC})
_BY_A_FACT = 0.5
"""The weight of a link of a concept with what was said and done when a fact about it was learnt: that may have been
about something else as well."""

_LATEST = 16
"""Members of a line that it keeps at hand. Turns are drawn from in their order but for those that failed, of which
eight wait at most; what comes later than that finds its place when everything is linked anew."""


@dataclass(frozen=True)
class Relinked:
    """What is to be written.

    Args:
        changed: Documents and lines by their id; None for those that are to go.
        missing: What has to be read first; `changed` is of no use while there is any.
        absent: Memories that something was to be linked with and that the graph does not know.
        behind: Whether a memory could not be put into its line: everything has to be linked anew.
    """

    changed: Mapping[str, Stored | None]
    missing: frozenset[str]
    absent: frozenset[str]
    behind: bool


def relinked(
    known: Mapping[str, Stored | None],
    records: Mapping[str, tuple[Node, Sequence[Link]]],
    gone: Collection[str] = (),
    alike: Iterable[Link] = (),
    noticed: Iterable[Node] = (),
) -> Relinked:
    """Return what becomes of the links.

    Args:
        known: The documents and lines that have been read, None for those that do not exist.
        records: The memories that are written, by id, with the links that follow from them; what followed from them
            before and does not now goes.
        gone: The memories that are removed.
        alike: Pairs that a search found to be alike.
        noticed: Memories of which the graph knows nothing yet and that something is linked with now. Their own links
            and their place in a line stay unknown.
    """
    board = _Board(known)
    for node in noticed:
        board.notice(node)
    for id_ in sorted(gone):
        board.remove(id_)
    # a concept is linked through its facts, which must have been linked with their messages
    written = sorted(records.values(), key=lambda record: (record[0].type == "concept", record[0].place, record[0].id))
    for node, _ in written:
        board.put(node)
    for node, links in written:
        board.link_as(node, links)
    for link in alike:
        board.connect(link, mutual=True)
    board.bound()
    return board.result()


class _Board:
    """The documents at work: copied when they are first changed."""

    def __init__(self, known: Mapping[str, Stored | None]) -> None:
        self._known = known
        self._changed: dict[str, Stored | None] = {}
        self._missing: set[str] = set()
        self._absent: set[str] = set()
        self._behind = False

    def result(self) -> Relinked:
        # what has come to be as it was is no change
        changed = {id_: stored for id_, stored in self._changed.items() if stored != self._known.get(id_)}
        return Relinked(changed, frozenset(self._missing), frozenset(self._absent), self._behind)

    # Nodes

    def notice(self, node: Node) -> None:
        """Let a memory be known, and nothing else."""
        if self._document(node.id) is None:
            self._changed[node.id] = Document(node)

    def put(self, node: Node) -> None:
        """Let a memory be known, and stand where it belongs in its line."""
        before = self._document(node.id)
        if before is None:
            self._changed[node.id] = Document(node)
        elif before.node != node:
            if before.node.place != node.place:
                self._leave_line(before)
            self._open(node.id).node = node
        self._join_line(node)

    def remove(self, id_: str) -> None:
        """Let a memory go, with its links."""
        document = self._document(id_)
        if document is None:
            return
        self._leave_line(document)
        for edge in list(self._open(id_).edges.values()):
            self._disconnect(id_, edge.to, edge.kind, edge.direction)
        self._changed[id_] = None

    # Links

    def link_as(self, node: Node, links: Sequence[Link]) -> None:
        """Let a memory start exactly these links, beside those that its line and its likes give it."""
        own = [*links, *self._to_steps(node, links), *self._to_what_was_said_of(node, links)]
        wanted = {(link.target, link.kind): link for link in own}
        document = self._document(node.id)
        assert document is not None  # noqa: S101 - it has been put
        in_line = line_of(node) is not None
        for to, kind, direction in list(document.edges):
            of_line = in_line and kind is LinkKind.TIMELINE
            if direction is Direction.OUT and not of_line and (to, kind) not in wanted:
                self._disconnect(node.id, to, kind, direction)
        for link in [*wanted.values(), *self._from_episodes(node, links), *self._from_concepts(node, links)]:
            self.connect(link)

    def connect(self, link: Link, *, mutual: bool = False) -> None:
        """Link two memories; where one of them does not exist, nothing happens."""
        source, target = self._document(link.source), self._document(link.target)
        if source is None or target is None:
            self._absent |= {id_ for id_, end in ((link.source, source), (link.target, target)) if end is None}
            return
        direction = Direction.BOTH if mutual else Direction.OUT
        there = edge_of(link, target.node, direction)
        if source.edges.get(there.key) == there:
            return
        back = edge_of(link, source.node, direction.reverse)
        self._open(link.source).edges[there.key] = there
        self._open(link.target).edges[back.key] = back

    def bound(self) -> None:
        """Drop the weakest where there are too many of a kind, at both ends.

        The strongest of all are kept first, so that doing it again changes nothing.
        """
        full: set[tuple[str, LinkKind, Direction]] = set()
        for id_, document in self._changed.items():
            if isinstance(document, Document):
                counts = Counter((kind, direction) for _, kind, direction in document.edges)
                full |= {(id_, *group) for group, count in counts.items() if count > _most(group[0])}
        strength: dict[tuple[str, str, LinkKind, Direction], tuple[float, str]] = {}
        for id_, kind, direction in full:
            for edge in self._open(id_).edges.values():
                if (edge.kind, edge.direction) != (kind, direction):
                    continue
                leads_here = direction is Direction.IN or (direction is Direction.BOTH and edge.to < id_)
                ends = (edge.to, id_) if leads_here else (id_, edge.to)
                start = Direction.BOTH if direction is Direction.BOTH else Direction.OUT
                strength[(*ends, kind, start)] = (edge.weight, edge.at)
        taken: Counter[tuple[str, LinkKind, Direction]] = Counter()
        for link in sorted(strength, key=lambda link: (strength[link], link), reverse=True):
            source, target, kind, start = link
            groups = [group for group in ((source, kind, start), (target, kind, start.reverse)) if group in full]
            if all(taken[group] < _most(kind) for group in groups):
                taken.update(groups)
            else:
                self._disconnect(source, target, kind, start)

    # What hangs together by a message: whichever of the two is written last, both are linked

    def _to_steps(self, node: Node, links: Sequence[Link]) -> list[Link]:
        """Return the links of an episode to the steps that were taken for its messages."""
        if node.type != "episode":
            return []
        return [
            Link(node.id, step.to, link.kind, link.weight, link.at)
            for link in links
            for step in self._drawn_from(link.target, _STEPS)
        ]

    def _from_episodes(self, node: Node, links: Sequence[Link]) -> list[Link]:
        """Return the links to a step from the episodes that are about its message."""
        if node.scope not in _STEPS:
            return []
        return [
            Link(episode.to, node.id, episode.kind, episode.weight, episode.at)
            for link in links
            for episode in self._drawn_from(link.target, _EPISODES)
        ]

    def _to_what_was_said_of(self, node: Node, links: Sequence[Link]) -> list[Link]:
        """Return the links of a concept to the steps and episodes of the messages that its facts come from."""
        if node.type != "concept":
            return []
        return [
            Link(node.id, other.to, other.kind, _BY_A_FACT, link.at)
            for link in links
            for fact in [self._document(link.target)]
            if fact is not None and fact.node.scope == MemoryScope.SEMANTIC
            for source in list(fact.edges.values())
            if (source.kind, source.direction) == (LinkKind.SUPPORT, Direction.OUT)
            for other in self._drawn_from(source.to, _STEPS | _EPISODES)
        ]

    def _from_concepts(self, node: Node, links: Sequence[Link]) -> list[Link]:
        """Return the links to a step or an episode from the concepts of facts that come from its messages."""
        if node.scope not in _STEPS | _EPISODES:
            return []
        found = []
        for link in links:
            for fact in self._drawn_from(link.target, _FACTS):
                document = self._document(fact.to)
                for edge in list(document.edges.values()) if document and fact.kind is LinkKind.SUPPORT else ():
                    concept = self._document(edge.to) if edge.direction is Direction.IN else None
                    if concept is not None and concept.node.type == "concept":
                        found.append(Link(edge.to, node.id, link.kind, _BY_A_FACT, edge.at))
        return found

    def _drawn_from(self, id_: str, scopes: Collection[str]) -> list[Edge]:
        """Return the links that memories of some scopes start to a message."""
        document = self._document(id_)
        if document is None or document.node.type != "message":
            return []
        return [edge for edge in document.edges.values() if edge.direction is Direction.IN and edge.scope in scopes]

    def _disconnect(self, id_: str, other: str, kind: LinkKind, direction: Direction) -> None:
        for key, edge in ((id_, (other, kind, direction)), (other, (id_, kind, direction.reverse))):
            document = self._document(key)
            if document is not None and edge in document.edges:
                del self._open(key).edges[edge]

    # Lines

    def _join_line(self, node: Node) -> None:
        key = line_of(node)
        if key is None:
            return
        line = self._line(key)
        member = (node.place, node.id)
        if member in line.last:
            return
        document = self._document(node.id)
        if document is not None and self._beside(document) != (None, None):
            return
        place = bisect_left(line.last, member)
        if place == 0 and line.cut:
            self._behind = True
            return
        before = line.last[place - 1][1] if place else None
        after = line.last[place][1] if place < len(line.last) else None
        if before and after:
            self._disconnect(before, after, LinkKind.TIMELINE, Direction.OUT)
        self._follow(before, node.id)
        self._follow(node.id, after)
        last = [*line.last[:place], member, *line.last[place:]]
        self._changed[key] = Line(last[-_LATEST:], line.cut or len(last) > _LATEST)

    def _leave_line(self, document: Document) -> None:
        key = line_of(document.node)
        if key is None:
            return
        id_ = document.node.id
        before, after = self._beside(document)
        if before:
            self._disconnect(before, id_, LinkKind.TIMELINE, Direction.OUT)
        if after:
            self._disconnect(id_, after, LinkKind.TIMELINE, Direction.OUT)
        self._follow(before, after)
        line = self._line(key)
        last = [member for member in line.last if member[1] != id_]
        if not last and before and (previous := self._document(before)) is not None:
            last = [(previous.node.place, before)]
        self._changed[key] = Line(last, line.cut) if last else None

    def _follow(self, before: str | None, after: str | None) -> None:
        later = self._document(after) if after else None
        if before and later is not None:
            self.connect(Link(before, later.node.id, LinkKind.TIMELINE, at=later.node.at))

    def _beside(self, document: Document) -> tuple[str | None, str | None]:
        """Return which members of its line a memory follows on, and which follow on it."""
        found: dict[Direction, str] = {}
        for to, kind, direction in document.edges:
            if kind is LinkKind.TIMELINE:
                found[direction] = to
        return found.get(Direction.IN), found.get(Direction.OUT)

    # What is stored

    def _document(self, id_: str) -> Document | None:
        stored = self._stored(id_)
        return stored if isinstance(stored, Document) else None

    def _line(self, key: str) -> Line:
        stored = self._stored(key)
        return stored if isinstance(stored, Line) else Line()

    def _stored(self, id_: str) -> Stored | None:
        if id_ in self._changed:
            return self._changed[id_]
        if id_ not in self._known:
            self._missing.add(id_)
            return None
        return self._known[id_]

    def _open(self, id_: str) -> Document:
        document = self._document(id_)
        assert document is not None  # noqa: S101 - whoever asks has seen it
        if id_ not in self._changed:
            document = Document(document.node, dict(document.edges))
            self._changed[id_] = document
        return document


def _most(kind: LinkKind) -> int:
    return MOST_LINKS.get(kind, MOST_OTHERS)
