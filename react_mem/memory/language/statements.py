"""Sentences of a text and their kind: statement, question, request, pleasantry; used where no model reads them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import chain
from typing import Literal

from react_mem.memory.language import EVERY, LANGUAGES, either, languages_of, length, pattern_of, patterns_under
from react_mem.memory.language.declarations import QUOTED, declares, has_structure
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, edges, has_words, normalise
from react_mem.memory.language.hedging import has_sign, is_hypothetical
from react_mem.memory.language.line_breaks import unwrapped, unwrapped_lines
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.shown_parts import bounded, is_code, or_else, split_line

_SENTENCE_END = pattern_of(r"\n\s*\n|[.!?…]\s|[。！？]")
_LINE_END = pattern_of(r"\n")

_MAX_PLEASANTRY_WORDS = 6

_LAUGHTER = pattern_of(r"(\w{1,3}?)\1{2,}\w?")
"""Something short again and again, in any language: "hahaha", "jajaja", "哈哈哈"."""

_INDENTED = ("    ", "\t")
_END_CHARS = 20_000  # characters read at each end of a long text for a few statements: many times a model's share
_ASKING_CHARS = 200  # a question shows at its beginning or its end; reading further costs time on long text


@or_else(lambda text: [])
def sentences(text: str) -> list[str]:
    r"""Return the sentences of a text in any script, word for word and in order, each at most `MAX_INDEXED_CHARS` long.

    A line break within a sentence is white space (`memory.language.line_breaks`); a longer sentence is split, not cut.

    >>> sentences("I paid 3.5 dollars to Dr. Lan, e.g. on example.com. Tôi vui!\nYes")
    ['I paid 3.5 dollars to Dr. Lan, e.g. on example.com.', 'Tôi vui!', 'Yes']
    """
    lines = unwrapped(text).splitlines()
    return [piece for line in lines for sentence in split_line(line) for piece in bounded(sentence)]


def is_question(sentence: str) -> bool:
    """Return true for a question, with a question mark or, where its language has a file, without one.

    >>> is_question("where do I live"), is_question("Tôi sống ở đâu"), is_question("When I was young, I lived in Hue.")
    (True, True, False)
    """
    folded = unicodedata.normalize("NFC", sentence).strip()
    bare = folded.rstrip("\"'”’»)]」』） ")
    if bare.endswith(("?", "？")) or not {"?", "？"}.isdisjoint(bare[len(bare.rstrip("!?！？")) :]):
        return True
    bare = edges(bare.rstrip(" .!…。！"), _ASKING_CHARS, " ")
    return any(language.asks_without_mark(bare) for language in languages_of(bare))


def is_pleasantry(sentence: str) -> bool:
    """Return true for a mere greeting, thanks, assent, laughter or the like: nothing to remember.

    >>> is_pleasantry("Thanks!"), is_pleasantry("cảm ơn bạn nhiều"), is_pleasantry("Thanks, I live in Hue")
    (True, True, False)
    """
    if not has_words(sentence):
        return True
    if len(sentence) > _ASKING_CHARS:
        return False
    folded = unicodedata.normalize("NFC", sentence).casefold().strip(" .!…。！~～")
    words = re.findall(r"[^\W_]+(?:['’]\w+)?", folded)
    if len(words) <= _MAX_PLEASANTRY_WORDS and all(map(_says_nothing, words)):
        return True
    return any(language.chatter.search(folded) for language in languages_of(folded))


def is_request(sentence: str) -> bool:
    """Return true for an order to the assistant, which is not a fact about the user.

    >>> is_request("write me a haiku"), is_request("帮我写一首诗"), is_request("Call me Lan")
    (True, True, False)
    """
    bare = edges(_bare(sentence), _ASKING_CHARS, " ")
    told = any(one.requests.search(bare) or one.overview.search(bare) for one in languages_of(bare))
    return told or asks_to_forget(bare)


def asks_to_forget(sentence: str) -> bool:
    """Return true for a request to forget something, or everything.

    >>> asks_to_forget("Forget that I like tea."), asks_to_forget("Don't forget that I like tea.")
    (True, False)
    """
    return bool(forget_all(sentence) or forget_last(sentence) or to_forget(sentence))


def has_word_to_forget(text: str) -> bool:
    """Return true if a text has a word that asks to forget, anywhere, of a language with a file.

    >>> has_word_to_forget("Actually scrap that."), has_word_to_forget("Bitte nicht vergessen!")
    (True, False)
    """
    folded = unicodedata.normalize("NFC", text)
    return any(language.forgetting.search(folded) for language in EVERY)


def to_forget(sentence: str) -> str:
    """Return the object of a request to forget; empty for another sentence.

    >>> to_forget("Please forget that I am allergic to penicillin."), to_forget("请忘记我对青霉素过敏。")
    ('I am allergic to penicillin', '我对青霉素过敏')
    """
    bare = _bare(sentence)
    if len(bare) > _ASKING_CHARS * 2 or forget_all(sentence) or forget_last(sentence):
        return ""
    match = _forget_match(bare)
    return match["what"].strip(" ,，、") if match else ""


def forgets_all_about(sentence: str) -> bool:
    """Return true for a request to forget everything about its object.

    >>> forgets_all_about("Forget everything about my boss."), forgets_all_about("Forget that I like everything.")
    (True, False)
    """
    bare = _bare(sentence)
    match = _forget_match(bare) if to_forget(sentence) else None
    around = f"{bare[: match.start('what')]} {bare[match.end('what') :]}" if match else ""
    return any(language.totality.search(around) for language in EVERY)


def forget_all(sentence: str) -> bool:
    """Return true for a request to forget everything about the user."""
    bare = _bare(sentence)[:_ASKING_CHARS]
    return any(language.forgets_all.search(bare) for language in EVERY)


def forget_last(sentence: str) -> bool:
    """Return true for a request to forget the user's last words.

    >>> forget_last("Forget what I just said."), forget_last("忘掉我刚才说的话"), forget_last("Forget that I like tea.")
    (True, True, False)
    """
    bare = _bare(sentence)[:_ASKING_CHARS]
    return any(language.forgets_last.search(bare) for language in EVERY)


def asks_for_overview(sentence: str) -> bool:
    """Return true for a request for everything in memory about the user.

    >>> asks_for_overview("What do you know about me?"), asks_for_overview("你记得我什么？")
    (True, True)
    """
    bare = edges(_bare(sentence), _ASKING_CHARS, " ")
    return any(language.overview.search(bare) for language in languages_of(bare))


def speaks_of_self(text: str) -> bool:
    """Return true for a text about its writer, in a language with a file.

    >>> speaks_of_self("Where do I live?"), speaks_of_self("What is the capital of France?"), speaks_of_self("我住哪")
    (True, False, True)
    """
    folded = unicodedata.normalize("NFC", text)
    return any(language.first_person.search(folded) for language in languages_of(folded))


def speaks_of_own(text: str) -> bool:
    """Return true for a text about something of its writer's, who is more than the receiver of a favour.

    >>> speaks_of_own("Write a card for my sister"), speaks_of_own("Write me a poem"), speaks_of_own("Wo wohne ich?")
    (True, False, True)
    """
    said = QUOTED.sub(" ", unicodedata.normalize("NFC", text[:_MAX_QUESTION]))
    order, colon, _ = said.replace("：", ":").partition(":")
    if colon and is_request(order):
        # the rest is what it is to be done with
        said = order
    return any(one["own"].search(one["favour"].sub(" ", said)) for one in _OWN)


@or_else(lambda text: [])
def statements_in(text: str, limit: int | None = None, *, told: bool = False) -> list[str]:
    """Return the user's statements, word for word and in order, without questions, requests, pleasantries and code.

    A statement on the way to a question counts: "I am vegetarian, what can I eat?" states "I am vegetarian". With a
    `limit` the first different ones are returned, and of a long text only both ends are read: a megabyte takes a
    second. A text that is `told` to memory itself need not speak of the user.

    >>> statements_in("Hi! I live in Da Nang. Where should I eat?")
    ['I live in Da Nang.']
    """
    said = own_words_in(text)
    if limit is None:
        return list(_statements(said, told=told))
    different: dict[str, str] = {}
    for statement in chain.from_iterable(_statements(part, told=told) for part in ends_of(said)):
        different.setdefault(normalise(statement), statement)
        if len(different) == limit:
            break
    return list(different.values())


def may_state(words: str) -> bool:
    """Return true if a clause may state something: no question, request, pleasantry or supposition, no lone word.

    >>> may_state("and never touch shellfish."), may_state("Thanks!"), may_state("从来不吃贝类。")
    (True, False, True)
    """
    says_no_fact = is_question(words) or is_pleasantry(words) or is_request(words) or is_hypothetical(words)
    return not says_no_fact and says_something(words)


def ends_of(text: str) -> tuple[str, ...]:
    """Return the beginning and the end of a text too long to read whole: a paste, and the words about it."""
    if len(text) <= 2 * _END_CHARS:
        return (text,)
    head, tail = text[:_END_CHARS], text[-_END_CHARS:]
    # of "I never eat meat" neither half is what was said
    begin = len(head) - MAX_INDEXED_CHARS
    ends = [end.end() for end in _SENTENCE_END.finditer(head, begin)] or [head.rfind("\n", begin) + 1 or len(head)]
    first = _SENTENCE_END.search(tail, 0, MAX_INDEXED_CHARS) or _LINE_END.search(tail, 0, MAX_INDEXED_CHARS)
    return head[: ends[-1]], tail[first.end() :] if first else tail


def _statements(text: str, *, told: bool = False) -> Iterator[str]:
    for line in unwrapped_lines(text.splitlines()):
        # what is indented is the body of program text
        for sentence in split_line(line) if not (line.startswith(_INDENTED) or is_code(line)) else ():
            said = before_question(sentence) if is_question(sentence) else sentence
            keeps = bool(said) and any(one.keeps.search(_bare(said)) for one in languages_of(said))
            if said and (keeps or may_state(said)) and (declares(said) or ((told or keeps) and has_structure(said))):
                yield from bounded(said)


def before_question(question: str) -> str:
    """Return the clauses before the question of a sentence, if they state something about the user; else nothing."""
    commas = [match.start() for match in re.finditer(r"[,;:–—]\s|\s-\s|[，；：、]", question)]
    head = question[: commas[-1]].strip() if commas else ""
    # Three words are the least that says something: "I am vegetarian". "In 2019" and "Hi An" say nothing alone.
    told = length(head) > 2 and speaks_of_self(head) and not is_question(head) and not has_sign(head, "conditions")
    return head if told else ""


def says_something(words: str) -> bool:
    """Return true for more than one word, or three letters of a script without spaces.

    A single word is an answer, an exclamation or a name, and states nothing without its question.

    >>> says_something("Hue"), says_something("I swim"), says_something("我吃素")
    (False, True, True)
    """
    return has_words(words) if len(words) > _ASKING_CHARS else length(words) > 1


def _says_nothing(word: str) -> bool:
    if _LAUGHTER.fullmatch(word):
        return True
    return any(
        word in language.pleasantries or (language.unspaced and _is_made_of(word, language.pleasantries))
        for language in languages_of(word)
    )


def _is_made_of(word: str, parts: frozenset[str]) -> bool:
    """Return true for a word without spaces made of nothing but the given parts."""
    # only as far as a part is long: of every beginning and every end there are thousands in a short sentence
    lengths = set(map(len, parts))
    ends = {0}
    for start in range(len(word)):
        if start in ends:
            ends.update(start + length for length in lengths if word[start : start + length] in parts)
    return len(word) in ends


def _forget_match(bare: str) -> re.Match[str] | None:
    matches = (pattern.match(bare) for language in EVERY for pattern in language.forgets)
    return next((match for match in matches if match), None)


def _bare(sentence: str) -> str:
    return unicodedata.normalize("NFC", sentence).strip(" \"'“”‘’«»()[]「」『』（）.!…。！?？¿¡")


# Phrases that show how a text is meant, as every language's file lists them.


def phrases(name: str) -> str:
    """Return the source of a pattern for the phrases under a name in all files, whole words where there are spaces.

    Each phrase is a pattern itself; without any, nothing is found.
    """
    found = [either(one.cues[name], unspaced=one.unspaced) for one in EVERY if one.cues.get(name)]
    return f"(?:{'|'.join(found) or '(?!)'})"


def cue(name: str) -> re.Pattern[str]:
    """Return the case-insensitive pattern of `phrases`.

    >>> bool(cue("past").search("Where did I live before?")), bool(cue("past").search("我以前住在哪里？"))
    (True, True)
    """
    return pattern_of(phrases(name), re.IGNORECASE)


def cue_words(name: str) -> str:
    """Return the words of a name, of all languages, as one text."""
    return " ".join(word for one in LANGUAGES for word in one.cues.get(name, ()))


def listed(topic: Literal["web", "fields"], name: str) -> list[str]:
    """Return the entries under a topic in all files: patterns, or lines of words."""
    found = [getattr(one, topic).get(name, ()) for one in LANGUAGES]
    return [entry for one in found for entry in ([one] if isinstance(one, str) else one)]


# Cues of a whole message: whose messages a question is for, a question about the past.

_MAX_QUESTION = 2_000

_OWN = patterns_under("of_own")
_ANSWERED = patterns_under("answered")
_FIRST_PERSON = cue("speaks_of_itself")
_LENGTH, _OF_A_THING, _PAST = cue("no_past"), cue("past_of_a_thing"), cue("past")


def role_asked(question: str) -> Literal["user", "assistant", ""]:
    """Return the role of the messages that a question asks for; empty for both, as in a summary, or none.

    >>> role_asked("Which hotel did you suggest for me?"), role_asked("Which hotel did I tell you about?")
    ('assistant', 'user')
    >>> role_asked("你给我推荐了哪些书？"), role_asked("Summarise our talks"), role_asked("Who painted it?")
    ('assistant', '', '')
    """
    asked = unicodedata.normalize("NFC", question[:_MAX_QUESTION])
    for one in _ANSWERED:
        if one["said"].search(asked):
            return "assistant"
    is_for_both = any(one["both"].search(asked) for one in _ANSWERED)
    return "user" if not is_for_both and _FIRST_PERSON.search(asked.casefold()) else ""


def asks_about_the_past(question: str) -> bool:
    """Return true for a question about a former state: "where did I live before?".

    >>> asks_about_the_past("Where did I live before?"), asks_about_the_past("Where do I live?")
    (True, False)
    """
    asked = _LENGTH.sub(" ", normalise(question[:_MAX_QUESTION]))
    return bool(_PAST.search(asked) or _OF_A_THING.search(asked))
