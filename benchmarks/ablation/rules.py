"""The rules: the function that each is, and its result while it is off (a value, or a function of its arguments)."""

from __future__ import annotations

from typing import Any

_E, _L = "react_mem.memory.write.extraction", "react_mem.memory.language"


def _first(first: Any, *_: Any, **__: Any) -> Any:
    return first


def _second(_: Any, second: Any, *__: Any, **___: Any) -> Any:
    return second


RULES: dict[str, tuple[str, Any]] = {
    "hypothetical": (f"{_L}.hedging:is_hypothetical", False),
    "condition": (f"{_E}.parting:drops_condition", False),
    "hedging": (f"{_L}.hedging:has_sign", False),
    "question": (f"{_E}.parting:drops_question", False),
    "asks_again": (f"{_E}.parting:asks_again", False),
    "from_quotation": (f"{_E}.parting:is_from_quotation", False),
    "speaks_of_user": (f"{_E}.parting:speaks_of_user", False),
    "says_nothing_of": (f"{_E}.parting:says_nothing_of", False),
    "reads_stranger": (f"{_E}.parting:reads_stranger", False),
    "consistency": (f"{_E}.located:Locator._inconsistent", ""),
    "repeats": (f"{_E}.parting:repeats", False),
    "denies_instead": (f"{_E}.proposal:denies_instead", False),
    "names_instead": (f"{_E}.proposal:names_instead", False),
    "repeats_example": (f"{_E}.proposal:repeats_example", False),
    "own_dates": (f"{_E}.proposal:own_dates", _first),
    "about_whom": (f"{_E}.proposal:about_whom", lambda about, *_: about or "user"),
    "hallucination": (f"{_L}.hallucination:Told.invented", []),
    "language_of_model": (f"{_L}.hallucination:Speech.has", True),
    "borne_out": (f"{_E}.proposal:is_borne_out", True),
    "forget_asked": ("react_mem.memory.write.gate:may_ask_to_forget", True),
    "forget_word": (f"{_L}.statements:has_word_to_forget", False),
    "retirement": (f"{_E}.composing:Composer._retirement", lambda _, fact, *__: fact.proposed.rel),
    "with_question": (f"{_E}.composing:Composer._with_question", ""),
    "answered": (f"{_E}.composing:Composer._answered", None),
    "from_question": (f"{_E}.composing:Composer._is_from_question", False),
    "behind_answer": (f"{_E}.composing:Composer._behind_answer", lambda _, facts, __: (facts, {})),
    "besides": (f"{_E}.composing:Composer._besides", _first),
    "parting": (f"{_E}.parting:divided", lambda text, sentences: [text] * len(sentences)),
    "before_question": (f"{_E}.parting:before_question", ""),
    "without_asking": (f"{_E}.parting:without_asking", _first),
    "announced": (f"{_L}.own_words:_announced", []),
    "reported": (f"{_L}.own_words:_reported", []),
    "chats": (f"{_L}.own_words:_chats", []),
    "heads_of_mail": (f"{_L}.own_words:heads_of_mail", []),
    "quoted_clause": (f"{_L}.clauses:_is_within", False),
    "symbols": (f"{_L}.clauses:_ends_at", True),
    "line_breaks": (f"{_L}.line_breaks:unwrapped", _first),
    "abbreviations": (f"{_L}.sentence_ends:is_abbreviated", False),
    "declares": (f"{_L}.declarations:declares", True),
    "requests": (f"{_L}.statements:is_request", False),
    "pleasantries": (f"{_L}.statements:is_pleasantry", False),
    "may_state": (f"{_L}.statements:may_state", True),
    "standing": (f"{_L}.standing:standing_in", None),
    "spelt": (f"{_L}.hedging:spelt", set()),
    "is_oneself": (f"{_L}.hedging:is_oneself", False),
}
