"""Secrets in a text, such as passwords, keys, card numbers and recovery phrases; and what is said off the record.

A secret is known by its form (prefixes of providers, key blocks, passwords in addresses, card numbers, randomness), or
by its name with a value behind or before it; the names are data of the languages. Ids are none: UUIDs, hashes, IBANs,
order and phone numbers stay, unless a name says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

from react_mem.memory.language import FILES, pattern_of, words_under
from react_mem.memory.language.own_words import own_words_in


class Secret(NamedTuple):
    """A secret in a text: its kind, and where it stands."""

    kind: str
    start: int
    end: int


def secrets_in(text: str) -> list[Secret]:
    """Return the secrets in a text, in order, none within another.

    >>> text = "My wifi password is Blue$ky42, order 114-3941689."
    >>> [(kind, text[start:end]) for kind, start, end in secrets_in(text)]
    [('password', 'Blue$ky42')]
    """
    found = sorted({*_by_form(text), *_by_name(text)}, key=lambda one: (one.start, -one.end))
    apart: list[Secret] = []
    for one in found:
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
    return f"[secret: {_KIND_NAMES.get(kind, kind)}]"


def values_of(texts: Iterable[str]) -> list[str]:
    """Return the secrets that some texts tell, the longest first: other texts may repeat them without their names."""
    values = {text[start:end] for text in texts for _, start, end in secrets_in(text)}
    return sorted((one for one in values if len(one) >= _REPEATED), key=len, reverse=True)


def masked_in(value: Any, known: Collection[str] = (), name: str = "") -> Any:
    """Return JSON with its texts masked; the name of a field tells of its value, and ids and times stay."""
    if isinstance(value, dict):
        return {key: part if key in _NO_TEXTS else masked_in(part, known, str(key)) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked_in(part, known, name) for part in value)
    if isinstance(value, str) and not value.startswith("data:"):
        kind = _is_name(name)
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
    rf"(?:^|[.!?。！？…\n(（—–;；-]|[,，、](?!\s*off\b))[\s(（*_]*(?:(?:{_JOINS})[,，]? ?)?"
    rf"(?:{_WISHES})[\W_]*$",
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


_REPEATED = 5  # least characters of a secret that is known again without its name
_NO_TEXTS = frozenset(
    (
        *("id", "kind", "session_id", "agent_id", "user_id", "flow_id", "node_id", "run_id", "thread_id", "source_ids"),
        *("created_at", "updated_at", "said_at", "origin", "role", "speaker", "ref", "mime", "type", "base64", "data"),
        *("used", "after", "standing", "level"),
    )
)
"""Fields of records and of content blocks that hold ids, times, marks and bytes."""

# By their form. The group `v`, where there is one, is the secret.

_VENDORS = (
    r"(?:sk|rk|pk|gsk|xai|pplx|r8|hf|gh[pousr]|github_pat|glpat|gldt|glrt|npm|pypi|xox[a-z]|xapp|dckr_pat|shp(?:at|ss|ca)"
    r"|lin_api|ntn|tvly|figd|do[opr]_v1|rubygems|nvapi|whsec|sq0(?:csp|atp)|PMAK|CFPAT|lsv2_[ps]t|hv[sb]|dp\.pt|secret"
    r"|rnd|sbp|re|phc|phx|dapi|shippo_live|pat|ops|SG|GOCSPX|ya29|1//0)[-_.](?=[\w.-]*\d)[\w.=-]{14,}"
)
_FORMS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, tuple(hints.split()), pattern_of(source))
    for kind, hints, source in (
        (
            "private key",
            "private age-secret",
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*(?:-----END[A-Z0-9 ]*-----)?"
            r"|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}",
        ),
        # to the last @ before the path: a password that is not percent-encoded may hold one
        ("password", "://", r"://[^\s:/@?#\"']{0,200}:(?P<v>[^\s/\"'<>]{1,300})@(?=[\w.\[-])"),
        ("password", "wifi:", r"(?i)\bWIFI:(?:[^\n;]{0,60};){0,4}?P:(?P<v>(?:\\.|[^;\\\n])+)"),
        ("password", "-u --user", r"(?:\s-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:(?P<v>[^\s\"'/][^\s\"']{1,200})"),
        (
            "password",
            "sshpass mysql mariadb",
            r"(?:sshpass|mysql|mariadb)[^\n|;]{0,80}?\s-p ?[\"']?(?P<v>[^\s\"'-][^\s\"']{3,})",
        ),
        (
            "password",
            "identified $",
            r"(?i)\bidentified by\s+[\"'](?P<v>[^\"'\n]+)|\$(?:2[aby]|argon2id?|[156]|y)\$[\w./$,=+-]{20,}",
        ),
        ("password", "machine", r"\bmachine\s+\S{1,100}\s+login\s+\S{1,100}\s+password\s+(?P<v>\S+)"),
        ("password", "</", r"(?i)<[\w:-]{0,40}(?:passw(?:or)?d|pwd|secret|apikey|token)>(?P<v>[^<\n]{3,300})</"),
        ("token", "bearer basic", r"(?i)\b(?:bearer|basic)\s+(?P<v>(?=[\w.~+/-]{0,400}(?:\d|=))[\w.~+/-]{8,}=*)"),
        ("token", "cookie", r"(?i)\b(?:set-)?cookie['\"]?\s{0,3}:\s{0,3}['\"]?(?P<v>[\w.-]{1,60}=[^\n'\"]{6,})"),
        ("token", "eyj", r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"),
        ("token", ":aa .", r"(?<!\d)\d{8,10}:AA[\w-]{30,}|\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
        (
            "token",
            "hooks",
            r"(?i)hooks\.slack\.com/(?:services|workflows)/(?P<v>[\w/]+)|/api/webhooks/(?P<w>\d+/[\w-]+)",
        ),
        ("token", "sig auth", r"(?i)[?&](?:sig|x-amz-signature|x-goog-signature|auth)=(?P<v>[^\s&\"'<>]{8,})"),
        ("key", "- _ .", rf"(?<![\w-])(?:{_VENDORS})"),
        (
            "key",
            "akia asia aroa aiza sk key-",
            r"\b(?:AKIA|ASIA|AROA)[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\b(?:SK|key-)[0-9a-f]{32}\b",
        ),
    )
)
"""Kinds with their patterns, and texts of which one must be there."""

_CARD = pattern_of(r"(?<![\w.,/+:#-])(?:\d[ -]?){13,18}\d(?![\w/]|[.,-]\d)")
_IBAN = pattern_of(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_ISSUERS = pattern_of(
    r"(?:4\d{15}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}|5[06-8]\d{14})"
)
_RANDOM = pattern_of(r"(?<![\w/.=+-])[A-Za-z0-9_+/=-]{24,200}(?![\w/-]{0,60}\.\w)")
_DIGEST = pattern_of(r"(?i)(?:sha\d*|md5|integrity|digest|etag|base64,)[-:= \"']*$")
_MOST_RANDOM = 20.0
_PHRASE_RUN = pattern_of(
    r"(?<![\w'’-])(?:(?:\d{1,2}[.)] ?)?[a-z]{3,8}[ \n]+){11,23}(?:\d{1,2}[.)] ?)?[a-z]{3,8}(?![\w'’-])"
)
_PHRASE_LENGTHS = {12, 15, 18, 21, 24}


def _by_form(text: str) -> Iterator[Secret]:
    lowered = text.casefold()
    for kind, hints, pattern in _FORMS:
        for match in pattern.finditer(text) if any(hint in lowered for hint in hints) else ():
            group = next((name for name in ("v", "w") if match.groupdict().get(name)), 0)
            value = match[group]
            if value and not _PLACEHOLDER.search(value):
                yield Secret(kind, *match.span(group))
    ibans = [match.span() for match in _IBAN.finditer(text)]
    for match in _CARD.finditer(text):
        within = any(start <= match.start() < end for start, end in ibans)
        if not within and _is_card(match[0]):
            yield Secret("card", *match.span())
    for match in _RANDOM.finditer(text):
        if _is_random(match[0]) and not _DIGEST.search(text, max(0, match.start() - 20), match.start()):
            yield Secret("key", *match.span())
    for match in _PHRASE_RUN.finditer(text):
        words = re.findall(r"[a-z]+", match[0])
        if len(words) in _PHRASE_LENGTHS and _SMALL.isdisjoint(words):
            yield Secret("phrase", *match.span())


def _is_card(written: str) -> bool:
    groups = re.split(r"[ -]", written.strip())
    digits = "".join(groups)
    grouped = len(groups) == 1 or [len(one) for one in groups] in ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4], [4, 4, 4, 4, 3])
    if not grouped or not _ISSUERS.fullmatch(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


def _is_random(token: str) -> bool:
    """Return true if letters of both cases and digits change as often as in a random key; camel case does not."""
    classes = ["d" if one.isdigit() else "u" if one.isupper() else "l" if one.islower() else "" for one in token]
    letters = [one for one in classes if one]
    if min(map(letters.count, "dul")) < 2 or len(letters) < len(token) * 0.8:
        return False
    return sum(one != other for one, other in pairwise(letters)) >= 0.45 * len(letters)


# By their names: a value behind the name and a link, right behind the name, or before it.

_KINDS = ("card", "phrase", "code", "password", "key")
_HOLDERS = ("api", "access", "auth", "secret", "private", "signing", "encryption", "account", "master", "client")
_KEYS = (*_HOLDERS, "service", "shared", "sharedaccess", "totp", "wifi", "ssh")
_TOKENS = (*_HOLDERS, "refresh", "bearer", "id", "session", "bot", "csrf", "xsrf", "deploy", "personal")
_JOINED = (
    *(f"{one}{gap}key" for one in _KEYS for gap in ("", " ")),
    *(f"{one}{gap}token" for one in _TOKENS for gap in ("", " ")),
)
_NAMES: dict[str, str] = {
    **dict.fromkeys((*_JOINED, "token", "secret", "credential", "authorization"), "key"),
    **dict.fromkeys(("password", "passwd", "passphrase", "pwd", "pass"), "password"),
    **dict.fromkeys(("pin", "cvv", "cvv2", "cvc", "cvc2", "otp"), "code"),
    **{
        name.replace("_", " ").replace("-", " "): kind
        for kind in reversed(_KINDS)
        for name in words_under(f"secret_{kind}s")
    },
}
"""Names of secrets, with a space for each `-` and `_`, and the kind of secret that each names."""

_KIND_NAMES = {"phrase": "recovery phrase"}
_WITHIN = frozenset((*_JOINED, "password", "passwd", "passphrase", "secret", "credential"))
"""Names that may end a longer identifier, as in `dbpassword`; others stand apart: `DB_PASS`, `dbPass`."""

_SUFFIX = pattern_of(r"(?:e?[sn])?[-_]?\d?(?![^\W_])", re.IGNORECASE)
_LETTERS = str.maketrans("-_ABCDEFGHIJKLMNOPQRSTUVWXYZ", "  abcdefghijklmnopqrstuvwxyz")


def _links(*, dense: bool) -> str:
    files = [data for data in FILES.values() if bool(data.get("unspaced")) is dense]
    return "|".join({re.escape(link) for data in files for link in str(data.get("secret_links") or "").split()})


_STATES = words_under("secret_states")
_SMALL = words_under("stop") | words_under("words") | words_under("secret_links")


def _named(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the names of secrets in a text: where each stands, and its kind; of two at a place the longer one."""
    lowered = text.lower()
    lowered = (lowered if len(lowered) == len(text) else text).translate(_LETTERS)
    found: dict[int, tuple[int, str]] = {}
    for name, kind in _NAMES.items():
        at = lowered.find(name)
        while at >= 0:
            if (end := _end_of(text, at, name)) and end > found.get(at, (0, ""))[0]:
                found[at] = end, kind
            at = lowered.find(name, at + 1)
    done = 0
    for start, (end, kind) in sorted(found.items()):
        if start >= done:
            done = end
            yield start, end, kind


def _end_of(text: str, at: int, name: str) -> int:
    """Return the end of a name with its ending; 0 if it is a part of another word."""
    end = at + len(name)
    if not name.isascii() and not name[-1:].isascii() and name[-1:] >= "\u3040":
        return end
    before = text[at - 1 : at]
    apart = name in _WITHIN or not before.isalpha() or before >= "\u3040" or (before.islower() and text[at].isupper())
    suffix = _SUFFIX.match(text, end)
    if not apart or (suffix is None and text[end : end + 1] < "\u3040"):
        return 0
    return suffix.end() if suffix else end


def _is_name(text: str) -> str:
    """Return the kind of secret that a field's name, or an identifier, stands for; empty for none."""
    core = text.lower().translate(_LETTERS).rstrip("0123456789 ")
    ends = [name for name in _NAMES if core.endswith(name)] if core.endswith(_ANY) and len(core) <= 60 else []
    name = max(ends, key=len, default="")
    return _NAMES[name] if name and _end_of(text, len(core) - len(name), name) else ""


_ANY = tuple(_NAMES)

_LINK = pattern_of(
    rf"(?P<assigned>[\"'”»*`\])]*\s*(?::=|=>|=|[:：](?!//))\s*)|(?P<opened>\(\s*(?=[\"']))"
    rf"|\s(?P<stated>{_links(dense=False)})\s+(?:[:：]\s*)?|\s*(?P<dense>{_links(dense=True)})\s*[:：]?\s*",
    re.IGNORECASE,
)
_NEXT = pattern_of(r"[\"'”»*`]*\s*[（(]?\s*")
_VALUE = pattern_of(
    r"(?P<q>\"\"\"|[\"'`„“”「『«*]+)(?P<quoted>[^\"'`“”」』»*\n]{2,300})[\"'`“”」』»*]"
    r"|(?P<plain>[^\s\"'`“”「」『』，。、；！？（）,;<>\u3040-\u30ff\u3400-\u9fff]{2,400})"
)
_STOPS = pattern_of(r"[.!?。！？](?:\s|$)|[。！？]|\n\s*\n")
_WINDOW, _FILLERS = 90, 7  # characters and words between a name and its value
_PLACEHOLDER = pattern_of(r"^(?:[*•xX.…_-]+|<.*|\$\{?.*|%\w.*|\{+.*|\[.*|\.\.\.)$|\[secret|\[hidden\]|\*{4,}|\.{3}|…")
_EXPRESSION = pattern_of(r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*(?:[(\[].*|(?<=\.)\w+)?|&\w+|self\.\S+|process\.env\S*")
_CODE_SHAPE = pattern_of(r"[#*]?[A-Za-z0-9]{0,6}(?:[-–][A-Za-z0-9]{1,10})*#?|\d[\d -]{2,20}\d|\d{3,12}")
_DATE_OR_AMOUNT = pattern_of(
    r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d|v?\d+(?:\.\d+){1,3}|[$€£¥]\S+"
)
_ADDRESS = pattern_of(r"[\w.+-]+@[\w-]+\.[\w.]+|\w+://\S+|(?:[\w-]+\.)+[a-z]{2,6}(?:/\S*)?|\S*/\S*\.\w{1,5}")
_JOINERS = pattern_of(rf"[ \t]*(?:[.,;:!?)）\]。，！？\n]|$|(?:{_JOINS})\s)")
_MORE = pattern_of(rf"(?:[ \t]*[,;•、]\s*|\s*(?:{_JOINS})\s*|\s*\n\s*[-*•\d.)]*\s*|\s+)")


def _by_name(text: str) -> Iterator[Secret]:
    named = [*_named(text)]
    for (start, end, kind), (until, *_) in zip_longest(named, named[1:], fillvalue=(len(text), 0, "")):
        found = next(_behind(text, end, until, kind), None) or _before(text, start, kind)
        if found is None:
            continue
        yield found
        # of several codes, each
        while found and kind in ("code", "key") and (more := _MORE.match(text, found.end)):
            value = _VALUE.match(text, more.end())
            alike = value and value["plain"] and _shape(value["plain"]) == _shape(text[found.start : found.end])
            found = Secret(kind, *_trimmed(text, *value.span("plain"))) if value and alike else None
            if found:
                yield found


def _shape(value: str) -> str:
    return re.sub(r"[A-Za-z0-9]+", lambda run: str(len(run[0])), value.rstrip(".,;:"))


def _behind(text: str, at: int, until: int, kind: str) -> Iterator[Secret]:
    """Yield the values behind a name: right behind it, or behind a link of the same sentence."""
    end = min(until, at + _WINDOW)
    if stop := _STOPS.search(text, at, end):
        end = max(stop.start(), at)
    if (near := _NEXT.match(text, at)) and near.end() > at and (value := _VALUE.match(text, near.end())):
        yield from filter(None, [_taken(text, value, kind, "direct")])
    for link in _LINK.finditer(text, at, min(until, end + 1)):
        if len(text[at : link.start()].split()) > _FILLERS:
            return
        how = "stated" if link.lastgroup in ("stated",) else "assigned"
        if (value := _VALUE.match(text, link.end())) and (found := _taken(text, value, kind, how)):
            yield found


def _before(text: str, at: int, kind: str) -> Secret | None:
    """Return the value before a name: "hunter2 is my password", "hunter2 as the passphrase"."""
    head = text[max(0, at - 60) : at]
    told = _BEFORE.search(head)
    if told is None or kind in ("card", "phrase"):
        return None
    value = told["v"].strip("\"'`“”.,;:")
    start = at - len(head) + told.start("v") + told["v"].find(value)
    fits = _is_made(value) if kind != "code" else bool(re.fullmatch(r"\d{3,8}", value))
    is_none = not value or _is_no_value(value) or _is_name(value)
    return Secret(kind, start, start + len(value)) if fits and not is_none else None


_BEFORE = pattern_of(
    rf"(?P<v>[!-~]{{3,80}}?)[\"'`”]?(?:\s+(?:{_links(dense=False)})\s+(?:[^\W\d_]+\s+){{0,3}}?|\s*(?:{_links(dense=True)})"
    rf"\s*[^\x00-\x7f]{{0,6}}?)$",
    re.IGNORECASE,
)


def _taken(text: str, value: re.Match[str], kind: str, how: str) -> Secret | None:
    """Return the value behind a name as a secret; None if it is none."""
    if value["quoted"] is not None:
        whole = value["quoted"]
        return Secret(kind, *value.span("quoted")) if _is_value(whole, kind, quoted=True) else None
    start, end = _trimmed(text, *value.span("plain"))
    plain = text[start:end]
    if not plain or _PLACEHOLDER.search(plain):
        return None
    if kind in ("password", "phrase") and how != "direct":
        words = _words_from(text, start)
        if len(words) >= (3 if kind != "password" else 4):
            return Secret(kind, start, start + len(" ".join(words)))
    if kind in ("code", "card"):
        numbers = re.compile(r"\d[\d -]*\d").match(text, start)
        if numbers and numbers.end() > end:
            end = numbers.end()
            plain = text[start:end]
    if how == "assigned" and text[start - 1 : start] == "=" and plain.startswith("="):
        return None
    if _is_value(plain, kind, quoted=False, how=how, ends=bool(_JOINERS.match(text, end))):
        return Secret(kind, start, end)
    return None


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while end > start and text[end - 1] in ".,;:)]}\"'*`":
        end -= 1
    return start, end


def _words_from(text: str, at: int) -> list[str]:
    """Return the words of a phrase that begins there and goes on to the end of its sentence or line."""
    run = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,29}").match(text, at)
    words = run[0].split(" ") if run else []
    return words if run and _JOINERS.match(text, run.end()) and _SMALL.isdisjoint(map(str.casefold, words)) else []


def _is_no_value(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value) or _ADDRESS.fullmatch(value) or _DATE_OR_AMOUNT.fullmatch(value))


def _is_value(value: str, kind: str, *, quoted: bool, how: str = "assigned", ends: bool = True) -> bool:
    """Return true if a value that stands at the name of a secret may be one."""
    folded = value.casefold().strip()
    if _PLACEHOLDER.search(value) or folded in _STATES or folded.startswith("your") or _is_name(value):
        return False
    digits = sum(one.isdigit() for one in value)
    if kind == "card":
        return digits >= 12
    if kind == "code":
        return (
            digits >= 3
            and len(value) <= 24
            and bool(_CODE_SHAPE.fullmatch(value))
            and not _DATE_OR_AMOUNT.fullmatch(value)
        )
    if kind == "phrase":
        return quoted or _is_made(value)
    if kind == "key":
        return len(value) >= 6 and digits < len(value) and _is_made(value) and not (" " in value or _is_no_value(value))
    if quoted:
        return len(value) >= 3 and len(value) <= 100 and not (_SMALL.issuperset(folded.split()))
    if _is_no_value(value):
        return False
    if _is_made(value):
        return how != "assigned" or not (_EXPRESSION.fullmatch(value) and re.search(r"[(\[.]", value))
    if value.isdigit():
        return how != "direct" and len(value) >= 4
    letters = folded not in _SMALL and len(value) >= 3 and value.isascii() is not None
    return letters and how != "direct" and ends and not _EXPRESSION_CALL.search(value)


_EXPRESSION_CALL = pattern_of(r"[(\[\]{}]|\w\.\w")


def _is_made(value: str) -> bool:
    """Return true if a text is made up rather than a word: letters with digits or signs, or capitals within it."""
    core = value.strip("\"'`.,;:!?()")
    letters = sum(one.isalpha() for one in core)
    digits = sum(one.isdigit() for one in core)
    signs = len(core) - letters - digits - core.count(" ")
    if len(core) < 4 or not (letters or digits):
        return False
    if letters and digits:
        return True
    if digits:
        return False
    return (
        core.count("-") >= 2
        or signs - core.count("-") - core.count("'") - core.count("’") - core.count("/") > 0
        or bool(re.search(r"[a-z][A-Z]", core))
    )
