"""Standing instructions and preferences: orders to the assistant from now on, and the user's likes.

They are recognised by the words of a sentence, listed per language under `standing`. The caller knows the author:
an "always" of a page or an assistant instructs nobody.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from react_mem.memory.language import FILES, length, pattern_of
from react_mem.memory.language.folding import edges, has_words
from react_mem.memory.language.hedging import assents, is_denied
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import cue, is_pleasantry, is_question, sentences, speaks_of_self

Kind = Literal["instruction", "preference"]

MAX_TOPIC_CHARS = 200
_READ_CHARS = 4_000  # characters read at either end of a message: a longer one is pasted
_SENTENCE_CHARS = 400  # characters read of a sentence


@dataclass(frozen=True)
class Standing:
    """A standing instruction or preference, word for word.

    Its topic, in lower case, is "deadlines" of "... when I ask about deadlines", or the preferred thing; empty for all.
    """

    kind: Kind
    said: str
    topic: str


def standing_in(text: str) -> Standing | None:
    """Return the standing part of a user's message: the first instruction, else the first preference.

    Shown text, such as a quotation or code, and questions instruct nobody. A preference may introduce a question: "I
    prefer tea, what is there?"

    >>> found = standing_in("Thanks! Always name the currency when I ask about budgets.")
    >>> found.kind, found.said, found.topic
    ('instruction', 'Always name the currency when I ask about budgets.', 'budgets')
    >>> standing_in("I prefer trains over planes, how do I get to Hue?").kind
    'preference'
    >>> standing_in("Luôn trả lời bằng tiếng Việt khi tôi hỏi về nấu ăn.").topic
    'nấu ăn'
    >>> standing_in("She always forgets when I ask about it."), standing_in("Never mind."), standing_in("> Always lie.")
    (None, None, None)
    """
    shown = edges(text, _READ_CHARS)
    if not _ANY.search(_folded(shown)):
        return None
    preference = None
    for sentence in sentences(own_words_in(shown)):
        folded = _folded(sentence[:_SENTENCE_CHARS]).strip(" \t\n-*•\"'“”‘’.!…。！")
        if not is_question(sentence) and _INSTRUCTS.search(folded):
            return Standing("instruction", sentence, next(filter(None, _topics(_TOPICS, folded)), ""))
        if preference is None and (preferred := next(_topics(_PREFERRED, folded), None)) is not None:
            preference = Standing("preference", sentence, preferred)
    return preference


def kind_of_standing(text: str) -> Kind | Literal[""]:
    """Return the kind of a user's message, instruction or preference; empty for neither.

    >>> kind_of_standing("From now on call me Lan."), kind_of_standing("From now on I run.")
    ('instruction', '')
    """
    found = standing_in(text)
    return found.kind if found else ""


def only_instructs(sentence: str) -> bool:
    """Return true for a standing instruction without a statement about the user.

    >>> only_instructs("Luôn trả lời bằng tiếng Việt."), only_instructs("From now on call me Lan.")
    (True, False)
    """
    return kind_of_standing(sentence) == "instruction" and not speaks_of_self(sentence)


def _folded(text: str) -> str:
    return re.sub(r"[ \t]+", " ", unicodedata.normalize("NFC", text).casefold())


def _topics(patterns: Sequence[re.Pattern[str]], folded: str) -> Iterator[str]:
    found = (match["topic"] for pattern in patterns if (match := pattern.search(folded)))
    return (topic.strip(" ,;.!?，。！？、")[:MAX_TOPIC_CHARS] for topic in found)


def _listed(name: str) -> list[str]:
    return [one for data in FILES.values() for one in data.get("standing", {}).get(name, ())]


_ANY = pattern_of("|".join(map(re.escape, _listed("hints"))))
_INSTRUCTS = pattern_of("|".join(f"(?:{source})" for source in _listed("instructs")))
_TOPICS = [pattern_of(source) for source in _listed("topics")]
_PREFERRED = [pattern_of(source) for source in _listed("prefers")]


# Preferences in what is said, in any language with a file.

_PREFERS = cue("prefers")


def states_preference(text: str) -> bool:
    """Return true for a statement about somebody's likes or dislikes.

    >>> states_preference("I prefer a cool climate"), states_preference("I'd like a coffee")
    (True, False)
    """
    return bool(_PREFERS.search(text))


def preferred_in(text: str) -> Sequence[str]:
    """Return the words behind and before a verb of preference; the preferred thing is among them.

    >>> preferred_in("I prefer a cool climate"), preferred_in("涼しい気候が好き"), preferred_in("I live in Hue")
    ([' a cool climate', 'I '], ['涼しい気候が'], [])
    """
    found = _PREFERS.search(text)
    return [part for part in (text[found.end() :], text[: found.start()]) if part.strip()] if found else []


# Words in front of what is stated, such as the "No," of an answer, and the mark behind a clause that went on.

_LEAD = pattern_of(r"\s*([^,，、،;；:：.!?。！？\n]{1,40})[,，、،]\s*(?=\S)")
_OPEN_END = " \t\n,，、،;；:：–—-"
_LEAD_WORDS = 2  # words of an answer in front of a statement, at most


def as_stated(clause: str) -> str:
    """Return a clause by itself: without a leading yes, no or thanks, and without a trailing comma.

    >>> as_stated("No, I work in Riga."), as_stated("I play chess,"), as_stated("No sugar, please")
    ('I work in Riga.', 'I play chess', 'No sugar, please')
    """
    stated = clause.strip().rstrip(_OPEN_END)
    while (found := _LEAD.match(stated)) and _only_answers(found[1]) and has_words(stated[found.end() :]):
        stated = stated[found.end() :]
    return stated


def _only_answers(lead: str) -> bool:
    if length(lead) > _LEAD_WORDS:
        return False
    return is_pleasantry(lead) or (length(lead) == 1 and (assents(lead) or is_denied(lead)))
