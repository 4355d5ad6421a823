"""Whether the words of a question send it to the web. Case and diacritics make no difference."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Literal

from react_mem.memory.language.cues import cue
from react_mem.memory.language.indexed_words import terms, words

Decision = Literal["search", "ask", "no"]
"""Search; leave it to the model; or do not search, whatever the model would say."""

_ENDS = 600
"""Characters at either end of a long message that are read: what is pasted in between is no question."""

_PERSONAL = 0.5
"""What speaking of oneself, or of what is one's own as a rule, takes off: whether "the best phone that I can buy today"
or "the plan for today" is on the web is a matter for the model."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)(?:{'|'.join(' '.join(pattern.split()) for pattern in patterns)})(?!\S)")


# All of what follows is matched against the folded words of a message with one space between them, without "'s".

# What weighs how much. Of one kind, the heaviest counts once.
_NEW = _any(
    r"latest|newest|up to date|breaking|headlines?|news",
    r"moi nhat|tin (?:tuc|moi|nong|nhanh)|thoi su|cap nhat",
)
_NOW = _any(
    r"today|tonight|current(?:ly)?|right now|at the moment|this (?:week|weekend|month|year|season)",
    r"recent(?:ly)?|this (?:morning|afternoon|evening)|as of|these days|nowadays",
    r"hom nay|toi nay|sang nay|chieu nay|hien (?:nay|tai|gio)|bay gio|luc nay",
    r"(?:tuan|thang|nam|mua) (?:nay|qua|truoc|toi|sau)|gan day|vua qua|dao nay",
)
_NEAR = _any(r"now|tomorrow|yesterday|next (?:week|month|year)|last (?:week|month|year|night)|hom qua|ngay mai|mai")
_LIVE = _any(
    r"weather|rain|forecast|temperature|prices?|stocks?|shares?|exchange rates?|interest rates?|scores?|polls?",
    r"election|release dates?|schedules?|timetables?|traffic|flights?|standings",
    r"thoi tiet|co mua|mua bao|nhiet do|ty gia|gia (?:vang|xang|dau|bitcoin|nha|dien|ve|dat|ca)|lai suat|ty so",
    r"ket qua|lich thi dau|bang xep hang|co phieu|chung khoan|bau cu",
)
_INFORMATION = _any(
    r"what (?:is|are|was|were|will|happen\w*|the|new)|who \w+|where (?:is|are|can|to)",
    r"when (?:is|are|was|will|does|did|do)|how (?:much|many|do|does|is|are|can|far|long|the)|which|why (?:is|are|did)",
    r"find(?: out)?|tell me(?: about)?|information (?:on|about)|info (?:on|about)|any(?:thing)? new",
    r"tim(?: hieu)?|cho (?:toi |minh |em |anh )?biet|la (?:gi|ai|bao nhieu|nao)|o dau|bao (?:nhieu|gio|lau)|khi nao",
    r"(?:nhu )?the nao|thong tin|nao|ra sao|tai sao|vi sao|may gio|co gi (?:moi|hot|hay)",
)
_REQUEST = _any(
    r"search(?: for)?|look (?:it |this |that )?up",
    r"tim kiem|tra cuu|tra (?:giup|ho|xem)",
)

# Asked for in so many words: whatever else is said.
_WEB_PLACE = r"(?:on |in |across |through |via )?(?:the )?(?:web|internet|online|google|bing|duckduckgo)"
_ON_THE_WEB = _any(
    rf"(?:search|look|browse|check|find)(?: (?!memory|notes|files)\w+){{0,8}} {_WEB_PLACE}",
    r"(?:web|internet|online|google) search|(?:please|you) google|google (?:it|for|that|this|about|what|who|when|how)",
    r"(?:tim|tra|search|xem|kiem)(?: \w+){0,8} (?:tren|qua|o) (?:mang|google|internet|web)",
    r"(?:len|tra|hoi) (?:mang|google|internet)",
)
_DO_NOT = _any(
    r"(?:do not|don|dont|never|without|no need to|stop|not)(?: \w+)? "
    r"(?:search\w*|google|googling|brows\w+|look\w*(?: \w+)? up)",
    r"(?:dung|khong|khong can|khoi|khoi can|chua can) (?:len mang )?"
    r"(?:search|google|(?:tra cuu|tra mang|tim kiem|tim)(?! thay| ra| duoc))",
)

# About the user, this conversation, what is remembered, the assistant, the clock: nothing of it is on the web.
_ABOUT_US = _any(
    r"(?:what|who|where|when|which|whose|how old|how tall|how many|how)"
    r"(?: (?!near|around|for|to|in|can|should|could|do|does|would|if|than|from|affect\w*)\w+){0,5} (?:my|mine|our)",
    r"(?:who|what|where) (?:am|was) i|about me|know me|(?:did|have|had) (?:i|we)",
    r"do i (?:like|love|have|own|prefer|live|work)",
    r"(?:do|can|did|could|will|please)(?: \w+)? (?:recall|remind)|remember|remind me|i (?:recall|forgot)",
    r"(?:i|we|you)(?: \w+)? (?:told|said|mentioned|discussed|talked|suggested|recommended|promised|meant)",
    r"did you (?:say|tell|mention|suggest|recommend|mean)",
    r"(?:our|this|last|previous|earlier) (?:chat|conversation|discussion|talk|session)",
    r"(?:how|who|what|where|^) ?are you|your (?:name|memory|instructions|prompt|opinion|favou?rite)|what can you do",
    r"what(?: is)?(?: the| today)?(?: current)? (?:time|date|day)(?: is)?(?: it| today)?(?: now| today| right now)?$",
    r"what (?:day|date|month|year) (?:of the week )?is (?:it|today)(?: now| today)?",
    r"(?:cua|ve) (?:toi|minh|em|anh|chi|chung (?:ta|toi|minh))(?: \w+){0,2} "
    r"(?:gi|ai|nao|dau|bao nhieu|may|khi nao|the)",
    r"(?:toi|minh|em|anh|chi|tui)(?: ten)?(?: la)? (?:ten gi|la ai|la gi|(?:dang )?(?:song|lam|hoc|o) (?:o )?dau)",
    r"(?:toi|minh|em|anh|chi|tui) (?:bao nhieu tuoi|sinh (?:nam|ngay) nao|thich (?:gi|an gi|mau|mon|nhat|cai gi))",
    r"(?:toi|minh|em|anh|chi|tui|chung ta) (?:(?:da|vua|tung|co) )+(?:noi|ke|bao|nhac|hoi|dan|dat|mua|hen)",
    r"ten (?:cua )?(?:toi|minh|em|anh|chi|ban)|ban (?:la ai|ten (?:la )?gi|ten la gi|(?:co )?khoe khong|lam duoc gi)",
    r"(?:ban|cau) (?:co |con |co con )?nho|(?:co|con|ghi|hay) nho (?:khong|gi|rang|giup|ho|toi|minh|la|ten)",
    r"ghi nho|^nho (?:giup|ho|la|rang)",
    r"(?:ban|bot|cau) (?:(?:da|vua|tung) )+(?:noi|bao|ke|goi y|khuyen)|(?:cuoc|doan) (?:tro chuyen|hoi thoai|chat)",
    r"(?:bay gio|gio|hien tai|luc nay)(?: dang)?(?: la)? may gio(?: roi)?|may gio roi",
    r"hom nay(?: la)? (?:ngay|thu) (?:may|bao nhieu|gi|nao)|(?:ngay|thu) may(?: roi)?$",
)

# Ways of asking that only sound as if it were about oneself.
_COURTESY = _any(
    r"(?:tell|give|show|let|help|find|get|update|for|with) (?:me|us)|can (?:i|we) (?:know|see|get|ask|have)",
    r"i (?:want|need|like|d like|would like|wonder|am wondering|m wondering)(?: to)?(?: (?:know|find|see|ask|hear))?",
    r"(?:cho|giup|voi|ho) (?:toi|minh|em|anh|chi)|(?:toi|minh|em|anh|chi) (?:muon|can)(?: (?:biet|tim|hoi|xem))*",
)
_OURS = _any(
    r"plans?|agenda|meetings?|appointments?|calendar|to do|todo|tasks?|notes|deadlines?|homework",
    r"ke hoach|lich (?:hop|hen|lam viec)|cuoc hop|buoi hop|cong viec|bai tap",
)
_ONESELF = cue("about_oneself")


def decide(question: str, *, now: datetime, domain_terms: Iterable[str] = (), threshold: float = 1.0) -> Decision:
    """Decide by its words whether a message needs the web.

    Temporal words, live topics, requests for information and the deployment's own terms have a weight; from the
    threshold on they send it to the web. What is about the user, this conversation or what is remembered never goes
    there, unless the web is asked for in so many words.

    Args:
        question: The message.
        now: When it is asked: this year and later ones are temporal words.
        domain_terms: Words and phrases that ask for a search by themselves.
        threshold: The weight from which on to search.

    >>> now = datetime(2026, 5, 4)
    >>> decide("What is the latest version of Python?", now=now), decide("giá vàng hôm nay", now=now)
    ('search', 'search')
    >>> decide("What is my name?", now=now), decide("Today I am tired", now=now), decide("Who wrote Faust?", now=now)
    ('no', 'no', 'ask')
    """
    read = question if len(question) <= 2 * _ENDS else f"{question[:_ENDS]} {question[-_ENDS:]}"
    said = " ".join(words(read))
    if not terms(read) or _DO_NOT.search(said):
        return "no"
    if _ON_THE_WEB.search(said):
        return "search"
    if _ABOUT_US.search(said):
        return "no"
    personal = _is_personal(read)
    if personal and not _asks(read, said):
        return "no"
    weight = _weight(said, now, tuple(domain_terms))
    return "search" if weight - (_PERSONAL if personal or _OURS.search(said) else 0) >= threshold else "ask"


def _weight(said: str, now: datetime, domain_terms: tuple[str, ...]) -> float:
    temporal = 1.0 if _NEW.search(said) else 0.6 if _NOW.search(said) or _names_year(said, now) else 0.0
    temporal = temporal or (0.4 if _NEAR.search(said) else 0.0)
    return (
        temporal
        + (0.5 if _LIVE.search(said) else 0.0)
        + (1.0 if _REQUEST.search(said) else 0.5 if _INFORMATION.search(said) else 0.0)
        + (1.0 if domain_terms and _phrases(domain_terms).search(said) else 0.0)
    )


def _names_year(said: str, now: datetime) -> bool:
    return any(now.year <= int(year) <= now.year + 10 for year in re.findall(r"\b(?:19|20)\d\d\b", said))


@lru_cache(maxsize=64)
def _phrases(domain_terms: tuple[str, ...]) -> re.Pattern[str]:
    phrases = {" ".join(words(term)) for term in domain_terms} - {""}
    return _any(*map(re.escape, phrases)) if phrases else re.compile(r"(?!)")


def _asks(read: str, said: str) -> bool:
    return "?" in read or "？" in read or bool(_INFORMATION.search(said) or _REQUEST.search(said))


def _is_personal(read: str) -> bool:
    # as written: without its marks "tối nay", this evening, reads as "tôi"
    plain = re.sub(r"[\s,.;:!?]+", " ", unicodedata.normalize("NFC", read).casefold().replace("’", "'")).strip()
    folded = " ".join(words(plain))
    courteous = _COURTESY.search(folded)
    if courteous is None:
        return bool(_ONESELF.search(plain))
    return bool(_ONESELF.search(_without(plain, courteous)))


def _without(plain: str, courteous: re.Match[str]) -> str:
    """Return a text without the words that a phrase takes up in its folded form."""
    before = len(courteous.string[: courteous.start()].split())
    count = len(courteous.group().split())
    parts = plain.split()
    return " ".join(parts[:before] + parts[before + count :])
