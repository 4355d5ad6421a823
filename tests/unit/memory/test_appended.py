"""What the runtime appends to an answer is a part of the message, and of nothing that is remembered of it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from react_mem.memory.merging.transcript import as_said, to_records, with_appended

TEXTS = st.text(max_size=40)
CONTENTS = st.one_of(TEXTS, st.lists(st.one_of(TEXTS, st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}))))


@given(CONTENTS, st.text(min_size=1, max_size=40))
def test_what_was_said_is_had_back_and_remembered(content: Any, line: str) -> None:
    said = AIMessage(content, id="answer", additional_kwargs={"kept": True})
    shown = with_appended(said, line)
    assert line in str(shown.content) or repr(line)[1:-1] in str(shown.content)
    assert as_said(shown) == said
    assert as_said(said) is said

    def records(answer: AIMessage) -> list[tuple[str, Any, str]]:
        found = to_records([answer], first=0, session_id="s", agent_id="a")
        return [(record.text, record.content, record.id) for record in found]

    assert records(shown) == records(said)
