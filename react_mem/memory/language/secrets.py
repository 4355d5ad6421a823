"""Secrets in a text, such as passwords, keys, card numbers and recovery phrases; and messages off the record.

A secret is known by its form (prefixes of providers, key blocks, passwords in addresses, card numbers, randomness), or
by its name with a value behind or before it; the names are data of the languages. Ids are none: UUIDs, hashes, IBANs,
order and phone numbers stay, unless a name says otherwise. A text is read in pieces, each in bounded steps: in a thread
it holds up nobody, and it takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby, pairwise, zip_longest
from typing import Any, NamedTuple

from react_mem.memory.language import FILES, UNSPACED, pattern_of, words_under
from react_mem.memory.language.own_words import own_words_in


class Secret(NamedTuple):
    """A secret in a text: its kind, and where it stands."""

    kind: str
    start: int
    end: int


_PIECE, _REACH = 8_000, 1_000  # characters that are read at once, and those behind them for what begins within


def secrets_in(text: str) -> list[Secret]:
    """Return the secrets in a text, in order, none within another.

    >>> text = "My wifi password is Blue$ky42, order 114-3941689."
    >>> [(kind, text[start:end]) for kind, start, end in secrets_in(text)]
    [('password', 'Blue$ky42')]
    """
    found = [*_key_blocks(text)]
    for begin in range(0, len(text), _PIECE):
        stop = min(begin + _PIECE + _REACH, len(text))
        for kind, start, end in (*_by_form(text, begin, stop), *_by_name(text, begin, stop)):
            rest = _RUN.match(text, end) if end == stop else None
            found.append(Secret(kind, start, rest.end() if rest else end))
    apart: list[Secret] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
        elif one.end > apart[-1].end:
            apart[-1] = apart[-1]._replace(end=one.end)
    return apart


def masked(text: str, known: Collection[str] = (), mark: str = "") -> str:
    """Return a text with a mark in place of each secret, by default by its kind, and of each text of `known` ones.

    >>> masked("mysql://ann:pa55@db/shop"), masked("It is hunter2.", ["hunter2"])
    ('mysql://ann:[secret: password]@db/shop', 'It is [secret].')
    """
    pieces, done = [], 0
    for kind, start, end in secrets_in(text):
        pieces += [text[done:start], mark or _mark(kind)]
        done = end
    text = "".join((*pieces, text[done:]))
    for one in known:
        if one in text:
            text = re.sub(rf"(?<!\w){re.escape(one)}(?!\w)", "[secret]", text)
    return text


def _mark(kind: str) -> str:
    return f"[secret: {'recovery phrase' if kind == 'phrase' else kind}]"


_REPEATED, _MOST_KNOWN = 5, 200  # least characters of a secret that is known again without its name, and most of these


def values_of(texts: Iterable[str]) -> list[str]:
    """Return the secrets that some texts tell, the longest first: other texts may repeat them without their names."""
    values = {text[start:end] for text in texts for _, start, end in secrets_in(text)}
    return sorted((one for one in values if len(one) >= _REPEATED), key=len, reverse=True)[:_MOST_KNOWN]


_NO_TEXTS = frozenset(
    (
        *("id", "kind", "session_id", "agent_id", "user_id", "flow_id", "node_id", "run_id", "thread_id", "source_ids"),
        *("created_at", "updated_at", "said_at", "origin", "role", "speaker", "ref", "mime", "type", "base64", "data"),
        *("used", "after", "standing", "level"),
    )
)
"""Fields of records and of content blocks that hold ids, times, marks and bytes."""


def masked_in(value: Any, known: Collection[str] = (), name: str = "") -> Any:
    """Return JSON with its texts masked; the name of a field tells of its value, and ids and times stay."""
    if isinstance(value, dict):
        return {key: part if key in _NO_TEXTS else masked_in(part, known, str(key)) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked_in(part, known, name) for part in value)
    if isinstance(value, str) and not value.startswith("data:"):
        kind = _named_by(name)
        return _mark(kind) if kind and _is_value(value, kind, quoted=True) else masked(value, known)
    return value


# What a user asks to keep out: parts within <private>...</private>, and a message that begins or ends with the request.

_PRIVATE = pattern_of(r"<private>.*?(?:</private>|\Z)", re.IGNORECASE | re.DOTALL)
_JOINS = "|".join(one.replace("_", " ") for one in words_under("secret_joins"))
_WISHES = "|".join(f"(?:{one})" for data in FILES.values() for one in data.get("off_record") or ())
_BEGINS = pattern_of(
    rf"[\W_]*(?:{_WISHES})(?:\s*[:：,，、.。!！;；)）–—-]|\s*\n|\s*$|\s+(?=(?:{'|'.join(words_under('first_person'))})\b))",
    re.IGNORECASE,
)
_ENDS = pattern_of(
    rf"(?:^|[.!?。！？…\n(（—–;；-]|[,，、](?!\s*off\b))[\s(（*_]*(?:(?:{_JOINS})[,，]? ?)?(?:{_WISHES})[\W_]*$",
    re.IGNORECASE,
)
_EDGE = 300  # characters at either end of a message that are read for the request


def kept_of(message: str) -> str | None:
    """Return a user's message without its private parts; None if it is off the record, or all of it is private.

    >>> kept_of("I like tea. <private>I owe Bo money.</private>"), kept_of("Off the record: I quit."), kept_of("Hi")
    ('I like tea.', None, 'Hi')
    """
    left = _PRIVATE.sub("", message).strip() if _PRIVATE.search(message) else message
    if not left:
        return None if message else ""
    own = own_words_in(left).strip()
    return None if own and (_BEGINS.match(own[:_EDGE]) or _ENDS.search(own[-_EDGE:])) else left


# By their form, of which a hint in small letters stands near. The group `v`, where there is one, is the secret.

_VENDORS = (
    r"(?:sk|rk|pk|gsk|xai|pplx|r8|hf|gh[pousr]|github_pat|glpat|gldt|glrt|npm|pypi|xox[a-z]|xapp|dckr_pat|shp(?:at|ss|ca)"
    r"|lin_api|ntn|tvly|figd|do[opr]_v1|rubygems|nvapi|whsec|sq0(?:csp|atp)|PMAK|CFPAT|lsv2_[ps]t|hv[sb]|dp\.pt|secret"
    r"|rnd|sbp|re|phc|phx|dapi|shippo_live|pat|ops|SG|GOCSPX|ya29|1//0)[-_.](?=[\w.-]{0,80}\d)[\w.=-]{14,400}"
)
_FORMS = [
    (kind, hints.split(), pattern_of(source))
    for kind, hints, source in (
        # to the last @ before the path: a password that is not percent-encoded may hold one
        ("password", "://", r"://[^\s:/@?#\"']{0,200}:(?P<v>[^\s/\"'<>]{1,300})@(?=[\w.\[-])"),
        ("password", "wifi:", r"(?i)\bWIFI:(?:[^\n;]{0,60};){0,4}?P:(?P<v>(?:\\.|[^;\\\n]){1,100})"),
        ("password", "-u --user", r"(?:\s-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:(?P<v>[^\s\"'/][^\s\"']{1,200})"),
        (
            "password",
            "sshpass mysql maria",
            r"(?:sshpass|mysql|mariadb)[^\n|;]{0,80}?\s-p ?[\"']?(?P<v>[^\s\"'-][^\s\"']{3,99})",
        ),
        ("password", "identified", r"(?i)\bidentified by\s{1,9}[\"'](?P<v>[^\"'\n]{1,200})"),
        ("password", "$", r"\$(?:2[aby]|argon2id?|[156]|y)\$[\w./$,=+-]{20,300}"),
        ("password", "machine", r"\bmachine\s\S{1,100}\slogin\s\S{1,100}\spassword\s(?P<v>\S{1,200})"),
        ("password", "</", r"(?i)<[\w:-]{0,40}(?:passw(?:or)?d|pwd|secret|apikey|token)>(?P<v>[^<\n]{3,300})</"),
        ("token", "bearer basic", r"(?i)\b(?:bearer|basic)\s(?P<v>(?=[\w.~+/-]{0,400}(?:\d|=))[\w.~+/-]{8,800}=*)"),
        ("token", "cookie", r"(?i)\b(?:set-)?cookie['\"]?\s{0,3}:\s{0,3}['\"]?(?P<v>[\w.-]{1,60}=[^\n'\"]{6,800})"),
        ("token", "eyj", r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"),
        ("token", ":aa", r"(?<!\d)\d{8,10}:AA[\w-]{30,60}"),
        ("token", ".", r"\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,60}"),
        ("token", "hooks", r"(?i)(?:hooks\.slack\.com/(?:services|workflows)|/api/webhooks)/(?P<v>[\w/-]{1,200})"),
        ("token", "sig auth", r"(?i)[?&](?:sig|x-amz-signature|x-goog-signature|auth)=(?P<v>[^\s&\"'<>]{8,300})"),
        ("key", "- _ .", rf"(?<![\w-])(?:{_VENDORS})"),
        ("key", "age-sec", r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,80}"),
        ("key", "akia asia aroa", r"\b(?:AKIA|ASIA|AROA)[A-Z0-9]{12,40}"),
        ("key", "aiza sk key-", r"\bAIza[\w-]{20,60}|\b(?:SK|key-)[0-9a-f]{32}\b"),
    )
]
_RUN = pattern_of(r"[\w.~+/=-]*")
_BLOCK = pattern_of(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_FOOT = pattern_of(r"-----(?:END[A-Z0-9 ]{0,40}-----)?")
_CARD = pattern_of(r"(?<![\w.,/+:#-])(?:\d[ -]?){13,18}\d(?![\w/]|[.,-]\d)")
_IBAN = pattern_of(r"\b[A-Z]{2}\d{2}[ A-Z0-9]{0,30}$")
_ISSUERS = pattern_of(
    r"(?:4\d{15}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}|5[06-8]\d{14})"
)
_GROUPS = ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4], [4, 4, 4, 4, 3])
_RANDOM = pattern_of(r"(?<![\w/.=+-])[A-Za-z0-9_+/=-]{24,200}(?![\w/-]{0,60}\.\w)")
_COIN = pattern_of(r"[13][1-9A-HJ-NP-Za-km-z]{25,34}")
_DIGEST = pattern_of(r"(?:sha\d*|md5|integrity|digest|etag|base64,)[-:= \"']*$", re.IGNORECASE)
_PHRASE = pattern_of(
    r"(?<![\w'’,;-])(?<![\w'’,;] )(?:(?:\d{1,2}[.)] ?)?[a-z]{3,8}[ \n]{1,3}){11,23}(?:\d{1,2}[.)] ?)?[a-z]{3,8}"
    r"(?![\w'’-])(?! [\w'’])"
)
_PHRASE_LENGTHS = {12, 15, 18, 21, 24}
"""A recovery phrase has so many words, few of them twice, and stands by itself: not in a longer run of words."""


def _key_blocks(text: str) -> Iterator[Secret]:
    for head in _BLOCK.finditer(text):
        foot = _FOOT.search(text, head.end())
        yield Secret("private key", head.start(), foot.end() if foot else len(text))


def _by_form(text: str, begin: int, stop: int) -> Iterator[Secret]:
    near = text[begin:stop].casefold()
    for kind, hints, pattern in _FORMS:
        for match in pattern.finditer(text, begin, stop) if any(hint in near for hint in hints) else ():
            group = "v" if "v" in match.groupdict() else 0
            if not _PLACEHOLDER.search(match[group]):
                yield Secret(kind, *match.span(group))
    for match in _CARD.finditer(text, begin, stop):
        if _is_card(match[0]) and not _IBAN.search(text, max(begin, match.start() - 34), match.start()):
            yield Secret("card", *match.span())
    for match in _RANDOM.finditer(text, begin, stop):
        if _is_random(match[0]) and not _DIGEST.search(text, max(0, match.start() - 20), match.start()):
            yield Secret("key", *match.span())
    for match in _PHRASE.finditer(text, begin, stop):
        words = re.findall(r"[a-z]+", match[0])
        if len(words) in _PHRASE_LENGTHS and 4 * len({*words}) >= 3 * len(words) and _SMALL.isdisjoint(words):
            yield Secret("phrase", *match.span())


def _is_card(written: str) -> bool:
    groups = re.split(r"[ -]", written)
    digits = "".join(groups)
    if not _ISSUERS.fullmatch(digits) or (len(groups) > 1 and [*map(len, groups)] not in _GROUPS):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


def _is_random(token: str) -> bool:
    """Return true if letters of both cases and digits change as often as in a random key; camel case does not."""
    letters = ["d" if one.isdigit() else "u" if one.isupper() else "l" for one in token if one.isalnum()]
    if min(map(letters.count, "dul")) < 2 or len(letters) < len(token) * 0.8 or _COIN.fullmatch(token):
        return False
    return sum(one != other for one, other in pairwise(letters)) >= 0.45 * len(letters)


# By their names: a value right behind the name, behind a link in its sentence, or before it.

_NAMES = {
    re.sub("[-_]", "", name): kind
    for kind in ("card", "key", "password", "code", "phrase")
    for name in words_under(f"secret_{kind}s")
}
"""Names of secrets, each with its kind; written together, or with a space, a `-` or a `_` at each `_` of the data."""


def _spelt(names: Iterable[str]) -> str:
    ordered = sorted(names, key=lambda name: (name[0], -len(name)))
    return "|".join(
        first + "(?:" + "|".join(re.sub("[-_]", "[-_ ]?", name[1:]) for name in group) + ")"
        for first, group in groupby(ordered, key=lambda name: name[0])
    )


def _named() -> str:
    names = frozenset[str]().union(*(words_under(f"secret_{kind}s") for kind in _NAMES.values()))
    spaced = {name for name in names if name[0] < "\u3040"}
    # a name stands apart from letters; the longest few end an identifier too, as in `dbpassword`
    letter, dense = rf"(?![{UNSPACED}])[^\W_]", _spelt(names - spaced)
    ends = _spelt(words_under("secret_endings"))
    return rf"((?<!{letter})(?:{_spelt(spaced)})|(?<!\d)(?:{ends})|{dense})(?:e?[sn])?(?:[-_]?\d)?(?!{letter})"


def _links(name: str, *, dense: bool) -> str:
    files = [data for data in FILES.values() if bool(data.get("unspaced")) is dense]
    return "|".join(re.escape(link.replace("_", " ")) for data in files for link in str(data.get(name) or "").split())


_NAME = pattern_of(_named())
_IS, _SPACED, _DENSE = (
    _links("secret_is", dense=False),
    _links("secret_links", dense=False),
    _links("secret_links", dense=True),
)
_LINK = pattern_of(
    rf"(?P<assigned>[\"'”»*`\])]{{0,3}}\s{{0,3}}(?::=|=>|=|[:：](?!//))\s{{0,3}})|(?P<opened>\(\s?(?=[\"']))|['’]s(?=\s)"
    rf"|\s(?P<is>{_IS})(?=\s)|\s(?:{_SPACED})(?=\s)|\s?(?:{_DENSE})\s?[:：]?\s?",
    re.IGNORECASE,
)
_NEXT = pattern_of(r"[\"'”»*`]{0,3}\s?[（(]?\s?")
_QUOTED = pattern_of(r"(?:\"\"\"|[\"'`„“”「『«*]{1,2})(?P<v>[^\"'`“”」』»*\n]{2,100})[\"'`“”」』»*]")
_PLAIN = pattern_of(rf"[^\s\"'`“”「」『』，。、；！？（）,;<>{UNSPACED}]{{2,400}}")
_ONE_CODE = r"(?=[A-Za-z-]{0,9}\d)[A-Za-z0-9]{1,12}(?:[-–][A-Za-z0-9]{1,12}){0,4}"
_CODES = pattern_of(rf"\d(?: \d){{3,7}}(?!\w)|{_ONE_CODE}(?:(?:[,;、]\s?|\s){_ONE_CODE}){{0,20}}#?(?![A-Za-z0-9_%])")
_STOPS = pattern_of(r"[.!?](?:\s|$)|[。！？]|\n\s*\n")
_ENDS_HERE = pattern_of(rf"[ \t]*(?:[.,;:!?)）\]。，！？\n]|$|(?:{_JOINS})\s)")
_WORDS = pattern_of(r"[^\W\d_]+(?: [^\W\d_]+){0,29}")
_PLACEHOLDER = pattern_of(
    r"^(?:[*•xX.…_-]+|<.*|\$\{?.*|%\w.*|\{+.*|\[.*)$|\[secret|\[hidden\]|\*{4,}|\.{3}|…"
    rf"|^(?:{'|'.join(words_under('secret_placeholders'))})",
    re.IGNORECASE,
)
_EXPRESSION = pattern_of(r"(?:[A-Za-z_][\w.]*[(\[{].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|&\w+)\Z")
_NO_VALUE = pattern_of(
    r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d|v?\d+(?:\.\d+){1,3}|[$€£¥]\S+"
    r"|[\w.+-]+@[\w-]+\.[\w.]+|\w+://\S+|(?:[\w-]+\.)+[a-z]{2,6}(?:/\S*)?|\S*/\S*\.\w{1,5}"
)
"""Dates, amounts, versions, addresses and paths."""
_STATES = words_under("secret_states")
_SMALL = words_under("stop") | words_under("words") | words_under("secret_links") | words_under("secret_is")
_WINDOW, _FILLERS, _BEFORE = 90, 7, 60  # characters behind a name, words between, and characters before it


def _by_name(text: str, begin: int, stop: int) -> Iterator[Secret]:
    near = text[begin:stop]
    lowered = near.lower()
    lowered = lowered if len(lowered) == len(near) else near
    named = [*_NAME.finditer(lowered)]
    for one, other in zip_longest(named, named[1:]):
        if one.start() >= _PIECE:
            return
        kind = _NAMES[re.sub("[-_ ]", "", one[1])]
        until = min(begin + (other.start() if other else len(near)), begin + one.end() + _WINDOW)
        found = [*_behind(text, begin + one.end(), until, kind)]
        # "1Password is my password manager": a name before a noun is a part of another one
        behind = _WORDS.match(text, begin + one.end() + 1) if near[one.end() : one.end() + 1].isspace() else None
        if (
            found
            or _ENDS_HERE.match(text, begin + one.end())
            or not behind
            or behind[0].split()[0].casefold() in _SMALL
        ):
            yield from found or _before(text, begin + one.start(), kind)


def _named_by(field: str) -> str:
    """Return the kind of secret that a field's name, or an identifier, stands for; empty for none."""
    field = field[-60:].lower()
    at_end = next((one for one in _NAME.finditer(field) if one.end() == len(field)), None)
    return _NAMES[re.sub("[-_ ]", "", at_end[1])] if at_end else ""


def _behind(text: str, at: int, until: int, kind: str) -> Iterator[Secret]:
    """Yield the values behind a name: right behind it, or behind a link of the same sentence."""
    end = stop.start() if (stop := _STOPS.search(text, at, until)) else until
    near = _NEXT.match(text, at)
    found = _value(text, near.end(), kind, "direct") if near and near.end() > at else None
    if found:
        yield found
    for link in _LINK.finditer(text, at, min(end + 1, until)):
        if link.start() < (found.end if found else 0):
            continue
        filler = text[at : link.start()].split()
        if len(filler) > _FILLERS:
            return
        # "the password manager is Bitwarden" names no password: a plain word belongs to the name itself
        own = not filler or (link["is"] and filler[0].casefold() in _SMALL)
        how = "assigned" if link["assigned"] or link["opened"] else "stated" if own and not found else "apart"
        if value := _value(text, link.end(), kind, how):
            found = value
            yield value


def _before(text: str, at: int, kind: str) -> Iterator[Secret]:
    """Yield the value before a name: "hunter2 is my password", "hunter2 as the passphrase"."""
    if kind in ("card", "phrase"):
        return
    for told in _TOLD.finditer(text, max(0, at - _BEFORE), at):
        start, end = _trimmed(text, *told.span("v"))
        value = text[start:end]
        fits = re.fullmatch(r"(?:[A-Z]-)?\d{3,8}", value) if kind == "code" else _is_made(value)
        if fits and not (_NO_VALUE.fullmatch(value) or _PLACEHOLDER.search(value) or _named_by(value)):
            yield Secret(kind, start, end)


_TOLD = pattern_of(
    rf"(?P<v>(?<![!-~])[!-~]{{3,50}})(?:\s(?:{_IS}|{_SPACED})\s(?:[^\W\d_]+\s){{0,3}}|\s?(?:{_DENSE})\s?[^\x00-\x7f]{{0,6}})\Z",
    re.IGNORECASE,
)


def _value(text: str, at: int, kind: str, how: str) -> Secret | None:
    """Return the value at a place behind a name as a secret; None if it is none."""
    at += text[at : at + 1].isspace()
    if (quoted := _QUOTED.match(text, at)) and _is_value(quoted["v"], kind, quoted=True):
        return Secret(kind, *quoted.span("v"))
    if kind == "code":
        code = _CODES.match(text, at, at + 200)
        return Secret(kind, *code.span()) if code and _is_value(code[0], kind) else None
    if kind == "card":
        number = re.compile(r"\d[\d -]{10,30}\d").match(text, at)
        return Secret(kind, *number.span()) if number else None
    words = _WORDS.match(text, at) if how != "direct" and kind in ("password", "phrase") else None
    many = words[0].casefold().split() if words and _ENDS_HERE.match(text, words.end()) else []
    if (
        words
        and len(many) > (2 if kind == "phrase" else 3)
        and _SMALL.isdisjoint(many)
        and len(_STATES.intersection(many)) < 2
    ):
        return Secret(kind, *words.span())
    if not (plain := _PLAIN.match(text, at)):
        return None
    start, end = _trimmed(text, *plain.span())
    value = text[start:end]
    if (
        value.startswith("=")
        or _NO_VALUE.fullmatch(value)
        or (how in ("assigned", "direct") and _EXPRESSION.match(value))
    ):
        return None
    if _is_value(value, kind) and _is_made(value):
        return Secret(kind, start, end)
    if kind != "password" or how in ("direct", "apart") or not _is_value(value, kind):
        return None
    is_word = value.isdigit() or (value.casefold() not in _SMALL and _ENDS_HERE.match(text, end))
    return Secret(kind, start, end) if is_word and len(value) > 2 + value.isdigit() else None


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    return start, start + len(text[start:end].rstrip(".,;:)]}\"'*`"))


def _is_value(value: str, kind: str, *, quoted: bool = False) -> bool:
    """Return true if a value that stands at the name of a secret may be one."""
    folded = value.casefold().strip()
    if _PLACEHOLDER.search(value) or folded in _STATES or (_named_by(folded.rstrip(":= ").removesuffix("pw"))):
        return False
    digits = sum(one.isdigit() for one in value)
    if kind in ("card", "code"):
        return digits >= (12 if kind == "card" else 3) and not _NO_VALUE.fullmatch(value)
    if kind == "key":
        return len(value) >= (6 if quoted else 8) and digits < len(value) and _is_made(value) and " " not in value
    return not quoted or (len(folded) >= 3 and not _SMALL.issuperset(folded.split()))


def _is_made(value: str) -> bool:
    """Return true if a text is made up rather than a word: letters with digits or signs, or capitals within it."""
    core = value.strip("\"'`.,;:!?()")
    letters, digits = sum(map(str.isalpha, core)), sum(map(str.isdigit, core))
    signs = sum(not one.isalnum() and one not in " -'’/" for one in core)
    if len(core) < 4 or not letters:
        return False
    return bool(digits or signs or core.count("-") >= 2 or re.search(r"[a-z][A-Z]", core))
