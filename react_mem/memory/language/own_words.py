"""Separation of a user's own words from shown text: code, quoted lines, forwarded mail, pasted pages and chats.

Shown text is somebody else's and teaches nothing about the user (provenance: the author of a text decides its rights,
not its place). Structure, the same in every language, sets most of it apart, each kind in one pass, in linear time.

A line that orders work on a text, or names its author, makes the text behind it material, to the end of the message or
to a closing question behind a blank line. A quotation on one line is the speaker's as far as it goes. The words of such
lines are data of the languages; the labels of a mail and the time and name of a chat line are structure.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from react_mem.memory.language import FILES, LANGUAGES, UNSPACED, pattern_of, words_under
from react_mem.memory.language import shown_parts as shown
from react_mem.memory.language.folding import normalise, unmarked
from react_mem.memory.language.shown_parts import Span, joined, or_else

_LINE_BREAK = pattern_of("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class Part(NamedTuple):
    """A stretch of a message; `shown` is true for somebody else's text and for code."""

    text: str
    shown: bool


@or_else(lambda text: [Part(text, True)])
def parts(text: str) -> list[Part]:
    r"""Split a message into own and shown stretches, in turns; joined they are the message.

    A quotation of several sentences is shown. A shorter one is a name, a title or a motto, and the user's own.

    >>> [part.text for part in parts("I love tea.\n> I hate tea.\nHe does not.") if part.shown]
    ['> I hate tea.\n']
    """
    if not shown.MARK.search(text):
        return [Part(text, False)] if text else []
    # with one kind of line break, every character in its place
    left = _LINE_BREAK.sub("\n", text.replace("\r\n", " \n"))
    spans: list[Span] = []
    for find in shown.KINDS:
        if found := joined(find(left)):
            spans += found
            left = _blanked(left, found)
    for more in (heads_of_mail(left), _chats(left), _announced(left, spans), _reported(left)):
        spans += more
    return _cut(text, joined(spans))


def own_words_in(text: str) -> str:
    r"""Return a message without its shown parts; each leaves a blank line.

    >>> own_words_in("My boss wrote:\n> I hate flying.\nI do not.")
    'My boss wrote:\n\n\nI do not.'
    """
    return "".join("\n\n" if part.shown else part.text for part in parts(text))


def _blanked(text: str, spans: list[Span]) -> str:
    """Return a text with blanks in place of spans, so that nothing is found in them again."""
    pieces: list[str] = []
    done = 0
    for begin, end in spans:
        closed = text.endswith("\n", begin, end)
        pieces += (text[done:begin], " " * (end - begin - closed), "\n" * closed)
        done = end
    return "".join((*pieces, text[done:]))


def _cut(text: str, spans: list[Span]) -> list[Part]:
    """Return the parts of a text: the spans are shown, and so is white space between two of them."""
    cut: list[Part] = []
    shown_from: int | None = None
    done = 0
    for begin, end in spans:
        said = text[done:begin]
        if shown_from is None or said.strip():
            cut += [Part(text[shown_from:done], True)] if shown_from is not None else []
            cut += [Part(said, False)] if said else []
            shown_from = begin
        done = end
    if shown_from is not None:
        if not text[done:].strip():
            done = len(text)
        cut.append(Part(text[shown_from:done], True))
    return [*cut, Part(text[done:], False)] if done < len(text) else cut


# Somebody else's text by the line that announces it or by its shape: heads of mail, pasted chats. Each function takes a
# text with line feeds as line ends, and is linear in its length.

_DATA: Sequence[tuple[dict[str, Any], bool]] = [
    (dict(data["shows"]), bool(data.get("typed_plain"))) for data in FILES.values() if "shows" in data
]
_MAX_LEAD = 200  # characters of a line that announces something
_MOST_LEADS = 100  # candidate lines; a message with more was not typed


def _patterns(name: str, *, behind_courtesy: bool) -> re.Pattern[str]:
    """Return the patterns of a name in all languages as one, and their forms without diacritics."""
    found: list[str] = []
    for data, typed_plain in _DATA:
        begin = f"^(?:{data['courtesy']})*+" if behind_courtesy else ""
        own = f"{begin}(?:{'|'.join(f'(?:{one})' for one in data.get(name, ()))})"
        found += [own, f"(?=[\\x00-\\x7f]*$){unmarked(own)}"] if typed_plain else [own]
    return pattern_of("|".join(f"(?:{one})" for one in found), re.IGNORECASE)


_ASKS, _PRESENTS, _SAYS = (_patterns(name, behind_courtesy=True) for name in ("asks", "presents", "says"))
_POINTS, _OWN = (_patterns(name, behind_courtesy=False) for name in ("points", "own"))

_LABEL_CHARS = r"[^\s:：*#>|\[\](){}][^:：\n]{0,30}"
_HEADER = pattern_of(
    rf"^[ \t]*+\*{{0,2}}({_LABEL_CHARS}?)[ \t]*+\*{{0,2}}[:：]\*{{0,2}}[ \t]*+(\S[^\n]*)$", re.MULTILINE
)
_MARKS = frozenset(word for data, _ in _DATA for word in data.get("mail_marks", ()))
_LABELS = _MARKS | {word for data, _ in _DATA for word in data.get("mail_labels", ())}
_WORDED_RULE = pattern_of(r"[ \t]*([-_=*—–─━－])\1\1[^\n]*[^\W_][^\n]*")
_DATED = pattern_of(r"\d{1,2}[:：]\d{2}|\d{4}|\S@\S")

_CLAUSE_END = pattern_of(r"[.!?…]\s+|[,;]\s+|[，；。！？]")
_HEADING = pattern_of(r"#{1,6} \S")
_QUESTION = pattern_of(r"[^,，、;；.!?。！？…]{1,200}[?？]+[ \t]*")

_QUOTATION = pattern_of(
    r"\s*(?:“[^“”]+”|„[^„“”]+[“”]|«[^«»]+»|「[^「」]+」|『[^『』]+』|‘[^‘’]+’|\"[^\"]+\"|'[^']+'(?!\w))"
)
_MAX_BEHIND = 200
"""Characters behind a quotation that are the user's own again; an article that begins with one goes on for longer."""

_TIME = r"\d{1,2}[:：]\d{2}(?:[:：]\d{2})?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"(?:\d{1,4}[./-]\d{1,2}(?:[./-]\d{1,4})?|\d{4}[^\W\d_]\d{1,2}[^\W\d_]\d{1,2}[^\W\d_])"
_NAME = r"[^\s:：\d\[\]][^:：\n\[\]]{0,40}"
_STAMPED = pattern_of(
    rf"[ \t]*(?:[\[(（【][^\n\])）】]{{0,30}}{_TIME}[^\n\])）】]{{0,30}}[\])）】][ \t]*{_NAME}[:：]"
    rf"|{_DATE},?[ \t]+{_TIME}[ \t]*(?:[-–—][ \t]*)?{_NAME}[:：]"
    rf"|{_NAME}[\[(（]{_DATE},?[ \t]+{_TIME}[\])）][:：]?[ \t]*$)"
)
_SPEAKER = pattern_of(r"[ \t]*([^\W\d_][^\n:：.!?。！？]{0,29}?)[ \t]*[:：][ \t]*\S")
_MIN_SPEAKER = 2
_MIN_SPOKEN = 3
"""Lines of two who speak in turns, of whom one speaks again, are a conversation; two labelled lines are a list."""


def _announced(text: str, taken: Sequence[Span]) -> Iterator[Span]:
    """Yield the span of the text that a line announces; a lead right before a span found already announces no more."""
    starts = sorted({begin for begin, _ in taken})
    looked = 0
    for begin, end in _lines(text):
        line = text[begin : min(end, begin + 2 * _MAX_LEAD)]
        if not line.strip():
            continue
        may_lead = ":" in line or "：" in line or text.startswith("\n", end)
        if (looked := looked + may_lead) > _MOST_LEADS:
            return
        material = _after_lead(text, begin, end, line)
        if material is None:
            continue
        following = bisect_left(starts, material)
        if following < len(starts) and not text[material : starts[following]].strip():
            continue
        if text[material:].strip():
            yield material, _quoted_to(text, material) if material < end else _closing(text, material)
            return


def _reported(text: str) -> Iterator[Span]:
    """Yield the words of a speaker on a line: to the end of the line, or of the quotation at its beginning.

    "My boss says: I am lazy" says nothing about the user.
    """
    looked = 0
    for begin, end in _lines(text) if ":" in text or "：" in text else ():
        colon = re.search("[:：]", text[begin : min(end, begin + _MAX_LEAD)])
        if not colon or not text[begin + colon.end() : end].strip():
            continue
        if (looked := looked + 1) > _MOST_LEADS:
            return
        if _leads(colon.string[: colon.start()], _SAYS):
            quotation = _QUOTATION.match(text, begin + colon.end(), end)
            yield begin + colon.end(), quotation.end() if quotation else end


def heads_of_mail(text: str) -> Iterator[Span]:
    """Yield mail by its head: labels that only mail has, or one of them under a rule with words in it."""
    previous = ""
    known: set[str] = set()
    first = -1
    for begin, end in _lines(text) if ":" in text or "：" in text else ():
        line = text[begin:end].rstrip()
        found = _HEADER.match(line[:_MAX_LEAD])
        label = found[1].casefold() if found else ""
        if label in _LABELS:
            first = begin if not known else first
            known.add(label)
            if (len(known) > 1 and not _MARKS.isdisjoint(known)) or _WORDED_RULE.fullmatch(previous[:_MAX_LEAD]):
                yield first, len(text)
                return
        elif not line[:1].isspace():
            # what is folded under a label is its own
            known = set()
        previous = line if line.strip() else previous


def is_mail_label(word: str) -> bool:
    """Return true for a label of a mail's head, in any language.

    >>> is_mail_label("Subject"), is_mail_label("Lan")
    (True, False)
    """
    return word.casefold() in _LABELS


def _chats(text: str) -> Iterator[Span]:
    """Yield a pasted conversation: lines with a time and a name, or names that speak in turns."""
    stamped: list[Span] = []
    spoken: list[tuple[str, Span]] = []
    for span in _lines(text) if ":" in text or "：" in text else ():
        line = text[span[0] : min(span[1], span[0] + _MAX_LEAD)]
        if _STAMPED.match(line.rstrip("\n")):
            stamped.append(span)
        elif (found := _SPEAKER.match(line)) and len(found[1]) >= _MIN_SPEAKER:
            spoken.append((found[1].casefold(), span))
    names = Counter(name for name, _ in spoken)
    if not stamped and len(spoken) >= _MIN_SPOKEN and 1 < len(names) < len(spoken):
        stamped = [span for _, span in spoken]
    if stamped:
        last = text.find("\n\n", stamped[-1][1] - 1)
        yield stamped[0][0], _closing(text[: last + 1] if last >= 0 else text, stamped[-1][1], blank=False)


_WHO = r"[^\W\d_][^\n:：,，;.!?。！？<>\[\](){}\"]{0,39}"
_HEAD = pattern_of(
    rf"\s*(?:<@!?(\w{{2,40}})>[:,]?[ \t]+|\[({_WHO})\][:：]?[ \t]+|({_WHO}?)[ \t]*[:：](?!//)[ \t]*)(?=\S)"
)

GENERIC_NAMES = frozenset(words_under("generic_names"))
"""Words for the user of a chat, such as "user" or "human", in all languages."""

_GIVEN_NAMES = tuple(words_under("given_names"))
_UNSPACED_NAME = pattern_of(f"[{UNSPACED}]+")
_SPOKEN_OF = pattern_of(
    "|".join(one.replace("_", " ") + r"(?!\w)" * (not _UNSPACED_NAME.match(one)) for one in words_under("spoken_of")),
    re.IGNORECASE,
)


class NamedLead(NamedTuple):
    """Name that stands before the words of a message, and where the words begin.

    `is_person` is true for a person's name who is not spoken of behind it, and for the id of one.
    """

    name: str = ""
    begin: int = 0
    is_person: bool = False


def named_in(text: str) -> NamedLead:
    """Return the lead of a message that may name its speaker, such as `Bob:`.

    A given name in another line as well makes it a conversation, which somebody shows.

    >>> [named_in(said).is_person for said in ("Bob: I love tea", "[Carol] Hi", "Paris: I love it", "Bob: he is nice")]
    [True, True, False, False]
    """
    found = _HEAD.match(text, 0, _MAX_LEAD)
    if found is None:
        return NamedLead()
    name = _name_of(found)
    lines = islice(_lines(text, found.end()), _MOST_LEADS)
    heads = filter(None, (_HEAD.match(text, begin, min(end, begin + _MAX_LEAD)) for begin, end in lines))
    others = set(map(_name_of, heads))
    if any(map(_is_given, others - {name})):
        return NamedLead()
    of_person = bool(found[1]) or (_is_given(name) and not _SPOKEN_OF.match(text, found.end()))
    return NamedLead(name, found.end(), of_person)


def _name_of(head: re.Match[str]) -> str:
    return head[1] or (head[2] or head[3]).strip()


def _is_given(name: str) -> bool:
    """Return true for a person's name: a given name in capitals, at most two other words behind it."""
    if _UNSPACED_NAME.fullmatch(name):
        return len(name) <= _NAME_LETTERS and name.startswith(_GIVEN_NAMES)
    words = name.split()
    capitals = len(words) <= _NAME_WORDS and all(word[0].isupper() for word in words)
    return capitals and normalise(words[0]) in _GIVEN_NAMES


_NAME_WORDS = 3
_NAME_LETTERS = 6
"""Most words of a name, and most letters in a script without spaces."""


def _after_lead(text: str, begin: int, end: int, line: str) -> int | None:
    """Return the start of the text that a line announces; None for no announcement."""
    bare = line.rstrip()
    if len(bare) <= _MAX_LEAD and bare.endswith((":", "：")):
        lead = bare[:-1]
        is_led = any(_leads(lead, one) for one in (_ASKS, _PRESENTS, _SAYS))
        if is_led or (_is_shaped(text, end) and not _is_own(lead)):
            return end
        return None
    colon = re.search("[:：]", line[:_MAX_LEAD])
    if colon and _leads(line[: colon.start()], _ASKS):
        return begin + colon.end()
    closes = len(bare) <= _MAX_LEAD and text.startswith("\n", end)
    return end if closes and _POINTS.search(bare) and _leads(bare.rstrip(" .!?。！？"), _ASKS) else None


def _leads(lead: str, pattern: re.Pattern[str]) -> bool:
    """Return true if part of a line announces a text about somebody other than the writer."""
    parts = _parts_of(lead)
    # the whole of it as well: what is said of a text may stand behind a comma
    return any(map(pattern.search, parts)) and not _OWN.search(parts[-1])


def _parts_of(lead: str) -> list[str]:
    plain = unicodedata.normalize("NFC", lead).replace("’", "'").strip()
    return [part.strip() for part in (*_CLAUSE_END.split(plain), plain) if part.strip()] or [""]


def _is_own(lead: str) -> bool:
    return bool(_OWN.search(_parts_of(lead)[-1])) or any(one.first_person.search(lead) for one in LANGUAGES)


def _is_shaped(text: str, place: int) -> bool:
    """Return true at the start of a document: a heading with others behind it, or labels with an address or a time."""
    few = islice(_lines(text, place), _HEAD_LINES)
    lines = [text[begin : min(end, begin + _MAX_LEAD)].strip() for begin, end in few]
    lines = lines[1:] if lines and not lines[0] else lines
    if not lines:
        return False
    if _HEADING.match(lines[0]):
        return len(re.findall(r"^#{1,6} \S", text[place:], re.MULTILINE)) > 1
    labelled = 0
    while labelled < len(lines) and _HEADER.match(lines[labelled]):
        labelled += 1
    return labelled > 1 and any(map(_DATED.search, lines[:labelled]))


_HEAD_LINES = 8


def _closing(text: str, begin: int, *, blank: bool = True) -> int:
    """Return the end of shown text: a last line that only asks, behind a blank line, is the user's again.

    A question with a clause before it may be the stranger's, and would state that.
    """
    end = len(text.rstrip())
    line = text.rfind("\n", 0, end) + 1
    apart = not blank or not text[text.rfind("\n", 0, max(line - 1, 0)) + 1 : line].strip()
    asks = line > begin - (not blank) and apart and _QUESTION.fullmatch(text[line : min(end, line + 2 * _MAX_LEAD)])
    return line if asks else len(text)


def _quoted_to(text: str, begin: int) -> int:
    """Return the end of shown text on the line of its lead: a whole quotation that few words follow ends it."""
    end = len(text.rstrip())
    quotation = _QUOTATION.match(text, begin)
    if quotation and end - quotation.end() <= _MAX_BEHIND and text.find("\n", quotation.end(), end) < 0:
        return quotation.end()
    return _closing(text, begin)


def _lines(text: str, place: int = 0) -> Iterator[Span]:
    while place < len(text):
        end = text.find("\n", place) + 1 or len(text)
        yield place, end
        place = end
