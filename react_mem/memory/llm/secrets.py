"""Secrets in a text: what looks like a key, a token or a password. Logs leave them out, and an audit counts them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence

from react_mem.memory.language import FILES

HIDDEN = "[hidden]"
_MIN_SECRET = 6  # local servers take "none" for a key, and that is a word
# the signs in it are named, not those outside of it: without regard to case "s" is among these
_VALUE = r"(?!\[hidden\])[!#-&(-+\--:<-|~]{4,}"

_NAMED = (
    r"(?:[\w-]{0,40}?(?:api[-_ ]?key|passw(?:or)?d|passphrase|token|secret"
    r"|(?:secret|private|signing)[-_ ]?(?:access[-_ ]?)?key)|pwd|authorization)"
)
"""The name of a setting or a field that holds a secret, in any spelling of identifiers."""


_LANGUAGES = [
    (
        bool(data.get("unspaced")),
        [name.replace("_", " ") for name in str(data.get("secret_names") or "").split()],
        str(data.get("secret_links") or "").split(),
    )
    for data in FILES.values()
]
_NAMES = sorted({name for _, names, _ in _LANGUAGES for name in names})


def _told() -> tuple[str, str]:
    """Return patterns for a password that is told in a language with a file: its name, and a value behind it."""
    names = "|".join(map(re.escape, _NAMES))
    spaced = "|".join(link for dense, _, links in _LANGUAGES for link in links if not dense)
    dense = "|".join(link for dense, _, links in _LANGUAGES for link in links if dense)
    of_whom = r"(?:\s+[^\W\d_]{1,30}){0,4}?"
    quote = "[\"'„“”「『«]?"
    behind = rf"(?:\s*[:：=]|\s+(?:{spaced})\s|\s*(?:{dense}))\s*{quote}"
    return (
        # with other words around it a word is no password, and what has a digit may be
        rf"(?i)((?:{names}){of_whom}{behind})(?=[!-~]{{0,200}}\d){_VALUE}",
        rf"(?i)((?:{names})\s*[:：=]\s*{quote}){_VALUE}",
    )


_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*(?:-----END[A-Z0-9 ]*-----)?",
            HIDDEN,
        ),
        # to the last @ before the path: a password that is not percent-encoded may hold one
        (r"://[^/\s]*@", f"://{HIDDEN}@"),
        (r"(?<=\?)[^\s'\"]*=[^\s'\"]*", HIDDEN),
        (r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+", rf"\1 {HIDDEN}"),
        (
            rf"(?i)\b({_NAMED}['\"]?\s*(?:[:=]|provided:?|is)\s*['\"]?)(?!\[hidden\])[^\s'\",;}}]+",
            rf"\1{HIDDEN}",
        ),
        # providers repeat a refused key in part: the rest of it is not for logs either
        (r"\b(?:sk|pk|rk|gsk|xai|key|token)-[^\s'\",}]{4,}", HIDDEN),
        (r"\b(?:sk|pk|rk|gsk|hf|gh[pousr]|github_pat|xox[a-z]|npm|key)_[\w*.-]{4,}", HIDDEN),
        (r"\b(?:xox[a-z]|xapp|glpat|gldt|glrt|glptt|glcbt|glft|glimt|glsoat|gloas|pypi)-[\w*.-]{8,}", HIDDEN),
        (r"\b(?:AKIA|ASIA|AIza|eyJ)[\w*.-]{8,}", HIDDEN),
        (r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{24,}\b", HIDDEN),
    )
)
_TOLD = tuple((re.compile(pattern), rf"\1{HIDDEN}") for pattern in _told())
_NAME = re.compile(_NAMED, re.IGNORECASE)


def without_secrets(text: str, secrets: Sequence[str] = ()) -> str:
    """Return a text without anything secret, and otherwise as it is.

    Args:
        text: The text.
        secrets: What must not be in it, beside what looks like a key and the environment's secrets.

    >>> without_secrets("401 at https://ann:pw@host/v1\\nBearer xyz")
    '401 at https://[hidden]@host/v1\\nBearer [hidden]'
    >>> without_secrets("Mein Passwort ist hunter2secret"), without_secrets("密码：hunter2secret")
    ('Mein Passwort ist [hidden]', '密码：[hidden]')
    """
    for value in secrets_of_the_environment() + [one for one in secrets if len(one) >= _MIN_SECRET]:
        text = text.replace(value, HIDDEN)
    for pattern, replacement in _patterns_for(text):
        text = pattern.sub(replacement, text)
    return text


def holds_secret(text: str, known: Sequence[str] = ()) -> bool:
    """Return whether a text holds a secret, in whatever Unicode form.

    Args:
        text: The text.
        known: What is secret, beside what looks like a key.
    """
    text = unicodedata.normalize("NFKC", text)
    return any(one in text for one in known) or any(
        pattern.sub(replacement, text) != text for pattern, replacement in _patterns_for(text)
    )


def _patterns_for(text: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Return the patterns that may find something: few texts name a password, and to look for a name is faster."""
    lowered = text.casefold()
    return (*_SECRETS, *_TOLD) if any(name in lowered for name in _NAMES) else _SECRETS


def names_secret(name: str) -> bool:
    """Return whether a field of this name holds a secret.

    >>> names_secret("client_secret"), names_secret("apiKey"), names_secret("max_tokens")
    (True, True, False)
    """
    return _NAME.fullmatch(name) is not None


def secrets_of_the_environment() -> list[str]:
    """Return the values of the environment's variables that are named as secrets."""
    found = [value for name, value in os.environ.items() if re.search(r"KEY|TOKEN|SECRET|PASSWORD", name)]
    return [value for value in found if len(value) >= 8]


_SAYING = re.compile(r"[^\W_]{4}")
"""Part of a value that may be a secret: not of signs in the place of one."""

_ID = re.compile(r"[0-9a-fA-F-]{16,}|[\w:/-]*[0-9a-f]{24,}[\w:/-]*")
"""An id, a hash or a UUID, which looks like a key and is none."""


def secret_finder() -> Callable[[str, str], bool]:
    """Return a function of a field's name and text: whether that is a secret, by its form, its name or the environment.

    >>> finds = secret_finder()
    >>> finds("api_key", "hunter2!"), finds("text", "I live in Hue")
    (True, False)
    """
    known = secrets_of_the_environment()

    def finds(name: str, text: str) -> bool:
        if names_secret(name) and text != HIDDEN and _SAYING.search(text):
            return True
        return _ID.fullmatch(text) is None and holds_secret(text, known)

    return finds
