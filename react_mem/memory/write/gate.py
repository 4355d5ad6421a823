"""Gate for proposals of a model's memory tools: only supported by the user's own words do they pass.

The same evidence as in extraction (`memory.write.extraction`), for one proposal at a time. Words of the assistant, of a
tool or of a page support nothing; a yes of the user does, unless a tool or a page may be behind the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from react_mem.memory.language import known_language, length, other_language
from react_mem.memory.language.clauses import cut, joined
from react_mem.memory.language.comparison import (
    Vocabulary,
    content_words,
    linking_words,
    may_link,
    missing,
    numbers,
    share,
    words,
)
from react_mem.memory.language.folding import fold, has_words, normalise
from react_mem.memory.language.hedging import assents, denies, is_denied, is_hypothetical
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.standing import as_stated
from react_mem.memory.language.statements import (
    asks_to_forget,
    forget_last,
    has_word_to_forget,
    is_pleasantry,
    is_question,
    is_request,
    speaks_of_self,
    statements_in,
)
from react_mem.memory.model.origins import Origin
from react_mem.memory.write.extraction.proposal import is_borne_out, without_user

_ANSWER_WORDS = 4  # least words of a message that says something without its question
_STATING_WORDS = 3  # least words of a reply that may state something by itself
_READ = 8_000  # characters read at either end of a message: comments on a long text stand before or behind it


@dataclass(frozen=True)
class Support:
    """The user's words that support a proposal: the text to store, the clause that says it, and the message's index."""

    origin: Origin
    text: str
    quote: str
    said: int


def support(text: str, own: Sequence[str], assistant: Sequence[str], tainted: bool) -> Support | None:
    """Return the latest evidence of a wording, such as a model's, in the user's messages; None if there is none.

    Quoted text in them does not count, nor a yes to the assistant's messages just before the latest of them, if a tool
    result, a page or a quotation was shown with them (`tainted`).

    >>> support("User lives in Hue", ["I moved to Hue. It is hot."], [], False).text
    'I moved to Hue.'
    >>> support("I work in Riga", ["No, I work in Riga."], [], False).text
    'I work in Riga.'
    >>> support("User never drinks tea", ["Never, ever tea."], [], False).text
    'Never, ever tea.'
    >>> support("User lives in Hue", ["Where is Hue?"], [], False) is None
    True
    >>> support("User lives in Hue", ["Yes."], ["Do you live in Hue?"], False).origin.value
    'assent'
    """
    wanted = " ".join(text.split())
    if not has_words(wanted):
        # nothing is borne out by anything
        return None
    if own and (answer := answered(wanted, own[-1], assistant, tainted=tainted)):
        return replace(answer, said=len(own) - 1)
    said = [(place, clause) for place, message in enumerate(own) for clause in stated_in(message)]
    borne = [(share(wanted, [clause]), place, clause) for place, clause in said if is_borne_out(wanted, [clause])]
    if not borne:
        return None
    # the last one of those that have most of it
    _, place, clause = max(borne, key=lambda one: one[:2])
    stated = as_stated(clause)
    # a no may be part of what is stated: "Never, ever tea"
    says_it = is_borne_out(wanted, [stated]) and bool(is_denied(stated)) is bool(is_denied(wanted))
    return Support(Origin.USER, stated if says_it else clause, clause, place)


def stated_in(message: str) -> list[str]:
    """Return the clauses of a user message that may state something; none of a hypothetical sentence.

    >>> stated_in("As I'm lactose intolerant, which latte should I take?")
    ["As I'm lactose intolerant,"]
    """
    sentences = groupby(cut(_own(message)), key=lambda clause: clause.sentence)
    told = [list(clauses) for _, clauses in sentences]
    return [
        clause.text
        for clauses in told
        if not is_hypothetical(joined(clauses))
        for clause in clauses
        if not (clause.asks or is_request(clause.text) or is_pleasantry(clause.text))
    ]


def shows_something(message: str) -> bool:
    """Return true if a user message has somebody else's text in it, such as a quoted mail."""
    return own_words_in(message) != message


def may_be_lost(texts: Sequence[str], message: str, before: Sequence[str] = ()) -> bool:
    """Return true if a user message asks to forget each of some texts, rather than a page or a tool.

    In a known language the user's own words must ask for it, and name some of it or their last statement; in another
    language they must state all of it, and more: the request.

    >>> may_be_lost(["I'm allergic to nuts"], "Forget my nut allergy."), may_be_lost(["I live in Hue"], "Sum up Hue.")
    (True, False)
    """
    own = _own(message)
    clauses = cut(own)
    requests = [clause.text for clause in clauses if may_ask_to_forget(clause.text, "", tainted=True)]
    meant = Vocabulary([*requests, *(map(_own, before) if any(map(forget_last, requests)) else ())])
    left = [text for text in texts if meant.share(text) == 0]
    if left and (known_language(own) or (other_language(own) and not has_word_to_forget(own))):
        return False
    told = [clause.text for clause in clauses if not clause.asks]
    for text in left:
        known = Vocabulary([text])
        if share(text, [clause for clause in told if known.share(clause) < 1]) < 1:
            return False
    return True


def may_ask_to_forget(clause: str, quoted: str, tainted: bool) -> bool:
    """Return true if a clause of the user may be a request to forget, as a model labels it.

    Args:
        quoted: The words of the request, as the model quotes them; they count in an unknown language.
        tainted: True if a page, a tool or a quotation may have asked instead.

    >>> [may_ask_to_forget(said, said, False) for said in ("Pls scrap my address", "Which snacks have nuts?")]
    [True, False]
    >>> may_ask_to_forget("Oublie mon adresse", "oublie", False), may_ask_to_forget("Oublie mon adresse", "", False)
    (True, False)
    """
    if asks_to_forget(clause):
        return True
    # a question is a request to forget from its first word on, or for what somebody else's text says
    if tainted and is_question(clause):
        return False
    if has_word_to_forget(clause):
        return True
    if tainted or is_question(clause) or known_language(clause) or other_language(clause):
        return False
    return has_words(quoted) and normalise(quoted) in normalise(clause)


def wishes_to_forget(texts: Sequence[str], message: str) -> list[str]:
    """Return the clauses of a user message that ask to forget something, and so repeat it.

    In an unknown language all clauses count that name some of it. Of a long message both ends are read.

    >>> wishes_to_forget(["I like green tea"], "Forget my green tea. I painted the kitchen green.")
    ['Forget my green tea.']
    """
    own = _own(message)
    # of the texts once, and not for each clause of a long message
    known = linking_words(*texts)
    linked = [clause.text for clause in cut(own) if not known.isdisjoint(linking_words(clause.text))]
    if known_language(own) is None:
        return linked
    wanted = [of_text for text in texts if (of_text := set(content_words(text)))]
    return [one for one in linked if asks_to_forget(one) or _says_one(one, wanted)]


def _says_one(clause: str, wanted: Sequence[set[str]]) -> bool:
    """Return true if a clause has all words of one of some texts; a text of far more words than it is not compared."""
    said, most = Vocabulary([clause]), 2 * len(words(clause))
    return any(len(of_text) <= most and all(word in said for word in of_text) for of_text in wanted)


def answered(
    wording: str, reply: str, assistant: Sequence[str], *, tainted: bool, before: Sequence[str] = ()
) -> Support | None:
    """Return the statement of a reply as an answer: a yes or no to the assistant, or the value asked for.

    The reply may be a clause; `before` has the user's other messages, which may name the topic. See `support`.
    """
    shows = shows_something(reply)
    reply = _own(reply).strip()
    brief = is_brief(reply) or is_pleasantry(reply) or not missing(reply, assistant)
    if not reply or not assistant or not brief or any(clause.asks for clause in cut(reply)):
        return None
    if not is_borne_out(wording, [reply, *assistant, *before]):
        return None
    denied, negates = is_denied(reply), is_denied(wording)
    # what is not a plain yes, such as "not yet" in whatever words, may be a no
    agrees = not denied and (is_pleasantry(reply) or assents(reply))
    if (denied and not negates) or (negates and agrees and not any(map(is_denied, assistant))):
        return None
    # with its marks: "đúng" (right) is no "dùng" (use)
    if set(missing(wording, assistant)) & set(words(reply)):
        # it names something itself, and only the question comes from the assistant: a single word, or "since 2019"
        states = speaks_of_self(reply) or _states_something(reply)
        completes = not states and missing(wording, [reply]) != missing(wording, [reply, *assistant])
        return Support(Origin.USER, wording, reply, 0) if length(reply) <= 1 or completes else None
    # a number says neither yes nor no
    if tainted or shows or is_request(reply) or _states_something(reply) or numbers(reply):
        return None
    return Support(Origin.ASSENT, wording, reply, 0) if _is_asked(wording, reply, assistant, before) else None


def is_brief(reply: str) -> bool:
    """Return true if a reply is so short that it may say nothing without its question."""
    return length(reply) < _ANSWER_WORDS


def _states_something(reply: str) -> bool:
    """Return true if a reply states something by itself, in a known language."""
    if not statements_in(reply, 1):
        return False
    return speaks_of_self(reply) or (length(reply) >= _STATING_WORDS and known_language(reply) is not None)


def _is_asked(wording: str, reply: str, assistant: Sequence[str], before: Sequence[str]) -> bool:
    """Return true if a wording is the assistant's question, with at most one word of its own in a spaced script."""
    told = without_user(wording)
    said = {word for word in content_words(told) if may_link(word) and not denies(word)}
    novel = [word for word in missing(told, [reply, *assistant, *before]) if word in said]
    if not share(told, assistant):
        return False
    asked = [clause.text for message in assistant for clause in cut(message) if clause.asks] or list(assistant)
    telling = [word for one in asked for word in dict.fromkeys(content_words(one)) if may_link(word)]
    left = [word for word in missing(" ".join(asked), [told]) if word in telling]
    # "keinen" is said for "einen", and one word besides for one of the question's: "besitzt" for "haben"
    novel = [word for word in novel if not any(_resembles(word, one) for one in left)]
    left = [word for word in left if not any(_resembles(word, one) for one in content_words(told))]
    if known_language(wording) is not None:
        return not novel
    return len(novel) <= 1 and (len(left) <= 1 or (not novel and len(telling) - len(left) >= _COVERED))


_COVERED = 2  # words of a question in an answer to a part of it, in an unknown language


def _resembles(word: str, other: str) -> bool:
    one, two = fold(word), fold(other)
    return one[:_ALIKE] == two[:_ALIKE] or one.endswith(two) or two.endswith(one)


_ALIKE = 3  # least letters in common between forms of a word


def _own(message: str) -> str:
    said = own_words_in(message)
    return said if len(said) <= 2 * _READ else f"{said[:_READ]}\n{said[-_READ:]}"
