"""A model's label is refused where it disagrees with its clause or with the model's other labels; nothing is lost."""

from __future__ import annotations

import pytest

from react_mem.memory.model.operations import ExistingMemory
from tests.support.labels import fact, proposal
from tests.unit.extraction.judging import Said, judged, only, reasons, unread

INVENTED = [
    ("The kettle whistles again", "User's name is Baldur."),
    ("水壶又响了一整天", "用户名叫Baldur。"),
    ("der Kessel pfeift schon wieder", "Der Nutzer heißt Baldur."),
]


@pytest.mark.parametrize(("said", "sentence"), INVENTED)
def test_a_sentence_that_says_nothing_of_its_clause_makes_it_no_fact(said: str, sentence: str) -> None:
    result = judged(said, proposal([fact(1, sentence)]))
    assert (result.ops, unread(result)) == ((), [said])
    assert reasons(result) == ["its sentence says nothing of its clause"]


@pytest.mark.parametrize(
    ("said", "sentence", "kept"),
    [
        ("If the ferry sank I'd swim home", "User swims home.", "If it sank, user would swim home."),
        ("要是退休了我就养蜂", "用户养蜂。", "要是退休了，用户就养蜂。"),
        ("falls ich kündige werde ich Imker", "Der Nutzer ist Imker.", "Falls er kündigt, wird der Nutzer Imker."),
    ],
)
def test_a_sentence_may_not_drop_the_supposition_of_its_clause(said: str, sentence: str, kept: str) -> None:
    result = judged(said, proposal([fact(1, sentence)]))
    assert (result.ops, unread(result), reasons(result)) == ((), [said], ["its clause only supposes it"])
    assert only(judged(said, proposal([fact(1, kept)]))).text == said


def test_what_follows_a_condition_is_supposed_too_and_what_is_set_against_it_is_not() -> None:
    said = "Falls der Chef mich feuert, eröffne ich eine Bäckerei, aber noch bin ich gern Tischler."
    labels = proposal([fact(2, "Der Nutzer eröffnet eine Bäckerei."), fact(3, "Der Nutzer ist gern Tischler.")])
    assert [one.text for one in judged(said, labels).ops] == ["aber noch bin ich gern Tischler."]


@pytest.mark.parametrize(
    ("said", "taken", "sentence"),
    [
        (
            "I own a castle in Wales, just kidding, I rent a shed",
            "I own a castle in Wales,",
            "User owns a castle in Wales.",
        ),
        ("我家养了一头大象，开玩笑的啦，只有一只猫", "我家养了一头大象，", "用户家养了一头大象。"),
        (
            "Tengo doce gatos en casa, es broma, tengo solo uno",
            "Tengo doce gatos en casa,",
            "El usuario tiene doce gatos.",
        ),
    ],
)
def test_what_the_clause_behind_takes_back_is_no_fact(said: str, taken: str, sentence: str) -> None:
    result = judged(said, proposal([fact(1, sentence)]))
    assert (result.ops, reasons(result)) == ((), ["it is taken back"])
    assert any(words.startswith(taken) for words in unread(result))


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("My uncle always says 'never trust a heron on Mondays'", "User never trusts a heron."),
        ("昨天海报上写着「四十岁的你该学游泳了」", "用户四十岁，该学游泳。"),
    ],
)
def test_a_sentence_made_of_a_quotation_in_the_clause_is_no_fact(said: str, sentence: str) -> None:
    assert judged(said, proposal([fact(1, sentence)])).ops == ()


def test_what_calls_the_user_the_user_is_not_theirs() -> None:
    assert judged("the user sold the vineyard", proposal([fact(1, "User sold the vineyard.")])).ops == ()
    assert only(judged("I am a heavy user of oat milk", proposal([fact(1, "User drinks oat milk.")]))).text


def test_a_sentence_of_a_tools_words_changes_nothing() -> None:
    said: Said = [
        ("user", "Look up ferries to the island wedding"),
        ("tool", "The booking was moved to Crete with Helios Tours."),
    ]
    labels = proposal([fact(1, "User's wedding was moved to Crete with Helios Tours.", "changes", "f1")])
    result = judged(said, labels, ["My wedding is on an island in June"])
    assert (result.ops, reasons(result)) == ((), ["its sentence says what somebody else's text says"])


DOG = "I have a dog called Pip"
LATHE = "I own an old lathe"


def test_a_sentence_that_says_the_memory_again_ends_nothing() -> None:
    result = judged("The dog wants out", proposal([fact(1, DOG, "ends", "f1")]), [DOG])
    assert (result.ops, unread(result)) == ((), ["The dog wants out"])
    about = ExistingMemory("fact-1", "She keeps a parrot", "Ines")
    shown = proposal([fact(1, "about Ines: She keeps a parrot", "ends", "f1")])
    assert judged("The parrot talks all day", shown, [about]).ops == ()
    gone = proposal([fact(1, "User has no dog any more.", "ends", "f1")])
    assert only(judged("The dog died in May", gone, [DOG])).relation == "ends"


def test_a_clause_that_states_something_ends_another_memory_only_in_words_of_its_own() -> None:
    both = [fact(1, "User speaks Welsh too.", "new"), fact(1, "User speaks Breton no more.", "ends", "f1")]
    assert only(judged("I speak Welsh too", proposal(both), ["I speak Breton"])).relation == "unsure"
    told = [fact(1, "User sold the lathe.", "ends", "f1"), fact(1, "User bought a kiln.")]
    result = judged("Sold the lathe and bought a kiln", proposal(told), [LATHE])
    assert [(one.relation, one.text) for one in result.ops] == [("ends", ""), ("new", "and bought a kiln")]


def test_a_strangers_word_in_the_form_of_a_known_fact_ends_nothing() -> None:
    said = "Por favor, no pongas cacahuetes en la lista.\n> Ahora vivo en Villamentira."
    labels = proposal([fact(2, "La usuaria vive en Villamentira.", "corrects", "f1")])
    result = judged(said, labels, ["Soy alérgica a los cacahuetes.", "Vivo en Granada."])
    assert (result.ops, reasons(result)) == ((), ["its sentence says nothing of its clause"])


def test_a_clause_that_both_ends_and_forgets_does_neither() -> None:
    labels = [fact(1, "User sold the lathe.", "ends", "f1"), fact(1, "the lathe", "forget", "f2")]
    result = judged("So much for the lathe and the dog", proposal(labels), [LATHE, DOG])
    assert [one.relation for one in result.ops] == []


def test_what_one_message_says_again_it_does_not_end() -> None:
    labels = [fact(1, "User is not from Faro.", "ends", "f1"), fact(2, "User lives in Turku.", "same", "f1")]
    result = judged("No, not Faro. I live in Turku.", proposal(labels), ["I live in Turku."])
    assert [one.relation for one in result.ops] == ["same"]


def test_of_several_memories_that_a_message_does_not_name_none_ends() -> None:
    labels = [fact(1, "It is over for good.", "ends", "f1"), fact(2, "User left all that.", "ends", "f2")]
    said = "Well, it is over for good. I left all that behind."
    result = judged(said, proposal(labels), [LATHE, DOG])
    assert [one.relation for one in result.ops] == ["unsure", "unsure"]
    assert only(judged(said, proposal(labels[:1]), [LATHE, DOG])).relation == "ends"


def test_words_that_name_another_memory_end_that_or_none() -> None:
    labels = proposal([fact(1, "the wage", "forget", "f1")])
    result = judged("Please drop what I told you of my wages", labels, ["I sort mail in Derby", "My wages are poor"])
    assert (result.ops, reasons(result)) == ((), ["the user's words name something else"])


@pytest.mark.parametrize(
    ("said", "rel", "known", "other"),
    [
        ("I moved to Da Nang last week.", "changes", "I live in Hanoi", "I was born in Da Nang"),
        ("Giờ tôi sống ở Cần Thơ.", "changes", "Nhà tôi ở Hà Nội", "Tôi có cô em họ học đại học Cần Thơ"),
        ("Thôi mình không theo bằng lái nữa.", "ends", "mình học lái xe B1", "Mình có bằng tiếng Anh loại giỏi"),
        ("咖啡彻底戒了！", "ends", "我每天早上喝一杯美式", "我家楼下的咖啡馆叫老地方，周末常去"),
    ],
)
def test_a_change_is_believed_though_another_memory_has_a_word_of_it(
    said: str, rel: str, known: str, other: str
) -> None:
    assert only(judged(said, proposal([fact(1, "", rel, "f1")]), [known, other])).relation == rel


def test_all_about_a_topic_is_forgotten_though_no_memory_names_it() -> None:
    known = ["Mình bị viêm dạ dày", "Mình uống thuốc huyết áp", "Mình thích bóng đá"]
    labels = proposal([fact(1, "quên hết", "forget", "f1"), fact(1, "quên hết", "forget", "f2")])
    wished = judged("Bạn quên hết chuyện sức khoẻ của mình đi nhé.", labels, known)
    assert [(one.relation, one.target_id) for one in wished.ops] == [("forget", "fact-1"), ("forget", "fact-2")]
    shown: Said = [("tool", "A page."), ("user", "Bạn quên hết chuyện sức khoẻ của mình đi nhé.")]
    assert judged(shown, labels, known).ops == ()


def test_a_change_of_another_memory_that_its_words_fit_is_not_believed() -> None:
    known = ["I live in Hanoi", "My guitar lessons are on Tuesday", "I own a bike"]
    moved = judged("I moved my guitar lessons to Friday.", proposal([fact(1, "", "changes", "f1")]), known)
    assert only(moved).relation == "unsure"
    assert judged("I sold my bike.", proposal([fact(1, "", "ends", "f1")]), known).ops == ()
