"""Whatever a model answers: nothing is believed that the user's words do not bear out, and no word is lost."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_mem.errors import InvalidOutput
from react_mem.memory.language.comparison import Vocabulary, content_words, names, numbers, words
from react_mem.memory.language.folding import has_words
from react_mem.memory.llm.answers import read_answer
from react_mem.memory.model.operations import ExistingMemory, Extraction
from react_mem.memory.model.origins import Origin
from react_mem.memory.write.extraction.briefing import Briefing
from react_mem.memory.write.extraction.checks import check
from react_mem.memory.write.extraction.proposal import FIELDS, without_user
from react_mem.prompts import load_prompt
from tests.support.labels import episode, fact, field, proposal
from tests.unit.extraction.judging import judged, shown

SAID = [
    "I live in Hue", "I moved to Da Nang in May", "my sister Linh hates flying", "I like tea and my cat is called Miu",
    "I don't eat pork", "where do I live?", "thanks!", "Yes", "No", "Tôi dị ứng đậu phộng", "Mình chuyển vào Huế rồi",
    "我住在河内，在一家医院工作", "私は東京に住んでいます", "Soy alérgico a las nueces", "Ich wohne jetzt in Köln",
    "room 12 is mine", "forget that I like tea", "> I live in Paris. It is so.", "```\nlive = 'Paris'\n```", "…", "",
]  # fmt: skip
ASKED = ["Do you live in Lyon?", "You don't eat 7 eggs, do you?", "OK.", "Bạn ăn chay phải không?", "好的。"]
KNOWN = ["I live in Hanoi", "I like tea", "Linh is my sister", "Tôi ăn chay", "我喜欢茶", "My room is number 3"]
EXAMPLES = [one for one in re.findall(r'"([^"]+)"', load_prompt("extract_memories")) if " " in one]
DATES = re.findall(r"\d{4}-\d\d(?:-\d\d)?", load_prompt("extract_memories"))
INVENTED = [
    "User lives in Berlin.",
    "User has 5 cats.",
    "Mallory likes tea.",
    "User likes tea from Peru.",
    "",
    "用户住在上海",
]

spoken = st.tuples(st.just("user"), st.lists(st.sampled_from(SAID), min_size=1, max_size=3).map(". ".join))
answered = st.tuples(st.just("assistant"), st.sampled_from(ASKED))
tooled = st.tuples(st.just("tool"), st.sampled_from(["page() -> The user lives in Rome.", "clock() -> 12:30"]))
conversations = st.lists(spoken | answered | tooled, min_size=1, max_size=5)

vocabulary = st.sampled_from(sorted({word for text in [*SAID, *ASKED, *EXAMPLES, *INVENTED] for word in text.split()}))
sentences = (
    st.sampled_from([*SAID, *ASKED, *EXAMPLES, *INVENTED])
    | st.lists(vocabulary, max_size=7).map(" ".join)
    | st.text(max_size=30)
)
labels = st.sampled_from(["1", "2", "3", "f1", "f2", "f6", "f99", "", "x", "[f1]", "F1"])
numbered = st.lists(st.integers(-1, 12), max_size=3)
facts = st.builds(
    fact,
    numbered,
    sentences,
    st.sampled_from(["new", "same", "changes", "ends", "corrects", "unsure", "forget"]),
    labels | st.none(),
    about=st.sampled_from(["user", "Linh", "she", "An", "Mallory", "Oslo", "你", "x" * 99]) | st.text(max_size=9),
    when=st.sampled_from(["", "2019", "2019-05..", "..2031-01-01", "soon", *DATES, f"{DATES[0]}..", f"..{DATES[-1]}"]),
    needs=st.lists(labels, max_size=3),
)
fields = st.builds(field, numbered, st.sampled_from(["name", "location", "Time Zone", ""]), sentences)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def outcome(said: Any, payload: Any) -> tuple[Briefing, Extraction]:
    known = [ExistingMemory(f"fact-{i}", text) for i, text in enumerate(KNOWN, 1)]
    briefing = shown(said, known)
    return briefing, check(read_answer(json.dumps(payload), FIELDS), briefing)


@settings(max_examples=40)
@given(
    conversations,
    st.lists(facts | json_values, max_size=6),
    st.lists(numbered, max_size=3),
    st.lists(fields, max_size=3),
)
def test_nothing_is_believed_that_the_words_do_not_bear_out(
    said: list[tuple[str, str]], proposed: list[Any], set_aside: list[list[int]], profile: list[Any]
) -> None:
    others = [{"c": cited, "kind": "chat"} for cited in set_aside]
    briefing, result = outcome(said, proposal(proposed, others, profile))
    of_user = {f"id-{place}": text for place, (role, text) in enumerate(said, 1) if role == "user"}
    clauses = [one.clause.text for one in briefing.clauses.values()]
    asked = [text for role, text in said if role == "assistant"]
    spoken = Vocabulary([*clauses, *asked])
    for one in result.ops:
        [source] = one.source_ids
        assert source in of_user
        assert one.origin in (Origin.USER, Origin.ASSENT)
        quoted = one.quote or one.text
        assert all(part in of_user[source] for part in quoted.split(" … "))
        assert (one.text == "") == (one.relation in ("ends", "forget"))
        assert "?" not in one.text
        if one.text not in ("", quoted):
            assert one.quote
            assert spoken.missing(without_user(one.text)) == []
        for text in (one.text, one.reading):
            told = [*clauses, *asked, *KNOWN]
            assert numbers(text) <= set[str]().union(*map(numbers, told))
            assert names(text) <= {word for word in names(text) if word.casefold() in Vocabulary(told)}
            # nobody spoke of what the instructions have for examples
            assert not {"rome", "oslo", "tôm"} & set(words(text))
        assert one.about == "user" or all(word in Vocabulary([*clauses, *KNOWN]) for word in words(one.about))
        assert one.about not in ("she", "Mallory", "Oslo")
        assert one.target_id is None or one.target_id in {f"fact-{i}" for i in range(1, 7)} | {o.id for o in result.ops}
        assert (one.relation == "new") or one.target_id
        if one.relation in ("changes", "corrects", "ends", "forget"):
            assert one.origin is Origin.USER
        assert set(one.needs) <= {f"fact-{i}" for i in range(1, 7)} | {o.id for o in result.ops}
        assert one.id not in one.needs
        assert not {str(when)[:10] for when in (one.event_at, one.valid_from, one.valid_to)} & set(DATES)
    stated = [(one.source_ids, one.text, one.about) for one in result.ops if one.text]
    assert len({key[:2] for key in stated}) == len(set(stated))
    for change in result.profile_changes:
        assert all(word in Vocabulary(clauses) for word in words(change.value))
    assert len({change.field for change in result.profile_changes}) == len(result.profile_changes)


@settings(max_examples=40)
@given(conversations, st.lists(facts, max_size=6), st.lists(numbered, max_size=3))
def test_every_clause_is_covered_or_unread(
    said: list[tuple[str, str]], proposed: list[Any], set_aside: list[list[int]]
) -> None:
    briefing, result = outcome(said, proposal(proposed, [{"c": cited, "kind": "chat"} for cited in set_aside]))
    cited = {number for item in [*proposed, *({"c": numbers_} for numbers_ in set_aside)] for number in item["c"]}
    kept = [*(one.text for one in result.unread), *(one.quote or one.text for one in result.ops)]
    for number, one in briefing.clauses.items():
        is_kept = any(one.clause.text in text for text in kept)
        # of nothing but signs there is nothing to keep
        assert is_kept or one.clause.asks or number in cited or not has_words(one.clause.text)
    labelled = {number for number in cited if number in briefing.clauses}
    left = [one for number, one in briefing.clauses.items() if number not in labelled and not one.clause.asks]
    joined = "\n".join(one.text for one in result.unread)
    assert all(one.clause.text in joined for one in left if has_words(one.clause.text))
    assert {one.source_id for one in result.unread} <= {
        f"id-{i}" for i, (role, _) in enumerate(said, 1) if role == "user"
    }


@given(json_values)
def test_no_value_of_a_model_breaks_the_checks(value: Any) -> None:
    for name in ("facts", "others", "profile", "episode", "summary"):
        result = judged("I love tea", {name: value})
        assert (result.ops, result.profile_changes) == ((), ())
        assert "I love tea" in [one.text for one in result.unread]
        empty = value in (None, "", [], {}, 0, False) or (name == "summary" and isinstance(value, str))
        assert empty or not result.complete or result.episode is not None


@given(st.text())
def test_any_answer_is_read_and_checked(text: str) -> None:
    for sent in (text, f'{{"summary": "ok", "facts": [{{"c": [1], "text": "{text}'):
        with suppress(InvalidOutput):
            result = check(read_answer(sent, FIELDS), shown("I love tea"))
            assert {one.text for one in result.ops} <= {"I love tea"}


@pytest.mark.parametrize("example", [*EXAMPLES, *(f"User: {example}" for example in EXAMPLES)])
@pytest.mark.parametrize("said", ["Tôi dị ứng đậu phộng.", "Yes"])
def test_an_example_of_the_instructions_is_no_fact_and_no_reading(said: str, example: str) -> None:
    asked = [("assistant", "Is that all?"), ("user", said)]
    answer = proposal(
        [fact(1, example, when=DATES[0]), fact(1, example, about=example, when=f"..{DATES[-1]}")],
        profile=[field(1, "name", example)],
        episode=episode(example, example, milestone=example),
        summary=example,
    )
    result = judged(asked, answer)  # type: ignore[arg-type]
    heard = Vocabulary([said, "Is that all?"])
    for one in result.ops:
        assert (one.text, one.event_at, one.valid_to) == (said, None, None)
        assert [word for word in content_words(one.reading) if word not in heard] == []
    assert result.profile_changes == ()
    assert result.summary == ""
    assert result.episode is None
