"""The set of conversations on which facts with what they are linked with were measured."""

from __future__ import annotations

from collections import Counter

from langgraph.store.memory import InMemoryStore

from benchmarks.linked_context.__main__ import ask, fill, load_questions, load_sessions


def test_the_set_has_the_numbers_that_it_says() -> None:
    sessions = load_sessions()
    questions = load_questions(sessions)
    assert len(sessions) == 40
    assert Counter(question.kind for question in questions) == {"plain": 60, "outcome": 40, "step": 20}
    assert len({question.text for question in questions}) == 120
    assert all(question.answers for question in questions)


async def test_what_only_a_link_leads_to_is_shown_with_links() -> None:
    store = InMemoryStore()
    sessions = load_sessions()[:1]
    await fill(store, sessions)
    questions = load_questions(sessions)
    shown = {links: await ask(store, questions, links=links) for links in (True, False)}
    assert (shown[True]["evidence_step"], shown[False]["evidence_step"]) == (1, 0)
    assert shown[True]["prompt_tokens"] > shown[False]["prompt_tokens"]
