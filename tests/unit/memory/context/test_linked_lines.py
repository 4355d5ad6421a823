"""What facts are linked with stands below them in the room that what was found leaves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.context.found_memory import FoundMemory, PromptBlock
from react_mem.memory.context.memories import render_found
from react_mem.memory.llm.budget import count_lines
from react_mem.memory.model.interface import Fragment, MemoryResultItem, MemoryScope

LINKED = (
    Fragment(id="e", role="episode", content="It was\n# too bitter"),
    Fragment(id="s", role="task step", content="bought " * 9),
    Fragment(id="l", role="task step", content="boiled " * 27),
)


def shown(room: int, linked: tuple[Fragment, ...]) -> PromptBlock[MemoryResultItem]:
    payloads = [{"kind": "fact", "text": f"I like tea of the kind {kind}"} for kind in ("green", "black", "white")]
    items = [
        MemoryResultItem(scope=MemoryScope.SEMANTIC, id=str(place), source="fact", payload=payload, linked=linked)
        for place, payload in enumerate(payloads)
    ]
    return render_found([FoundMemory(item) for item in items], room)


def test_links_stand_below_their_fact_up_to_their_tokens() -> None:
    lines = shown(1_000, LINKED).entries[-1].text.split("\n")
    assert lines[1:] == ["  (episode: It was # too bitter)", f"  (task step: {'bought ' * 8}bought)"]


@given(st.integers(0, 300))
def test_no_link_takes_the_room_of_what_was_found(room: int) -> None:
    block, plain = shown(room, LINKED), shown(room, ())
    assert (block.items == [], block.dropped) == (plain.items == [], plain.dropped)
    assert [item.id for item in block.items] == [item.id for item in plain.items]
    assert count_lines(block.briefing) <= room
