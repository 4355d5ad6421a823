"""Bytes of a page as text, whatever they say they are."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

_DECLARED = re.compile(rb"""<(?:meta|\?xml)\b[^>]{0,300}?(?:charset|encoding)\s*=\s*["']?\s*([\w-]{2,40})""", re.I)
_HEAD = 2048
"""Bytes. A browser looks for the declaration in the first 1024."""

_NAMES = """
ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 latin-1 cp437 cp850 cp852 cp866 cp874 cp932 cp949 cp950
cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6
iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u
gb2312 gbk gb18030 big5 big5hkscs euc-jp euc-kr shift_jis iso2022_jp iso2022_kr tis-620 mac-roman mac-cyrillic
"""
_KNOWN = frozenset(codecs.lookup(name).name for name in _NAMES.split())
"""Encodings of pages. Python knows more, some of which are not text and some slow on purpose-made input."""

_VALID_AS_UTF8 = frozenset(
    codecs.lookup(name).name for name in ("iso2022_jp", "iso2022_kr", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
)
"""Their bytes are those of ASCII as well."""

_UNDECLARED = ["cp874", "cp932", "cp949", *(f"cp125{number}" for number in range(9)), "cp866", "koi8_r", "koi8_u"]
_UNDECLARED += ["iso8859_2", "iso8859_5", "iso8859_7", "gb18030", "big5", "euc_jp"]
"""Candidates for a page that does not declare one: encodings that differ in their letters. The fewer, the surer."""

_SAMPLE = 4096
"""Bytes that an encoding is told from: more take longer and tell little more."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(body: bytes, declared: str = "") -> str:
    """Return a page's text. It never fails: what cannot be read becomes the sign for that.

    Its byte order mark counts first; then UTF-8 where the bytes are that, which no other text is by chance; then what
    it declares; then what its letters look like. Blocks for some ten milliseconds where that has to be found out.

    Args:
        body: The bytes.
        declared: What the server says they are.

    >>> decode("giá vàng".encode(), "latin-1")
    'giá vàng'
    >>> decode("giá vàng".encode("cp1258", "ignore"), "windows-1258")[:3]
    'giá'
    >>> decode(b"caf\\xe9", "utf-8")
    'café'
    >>> decode("Сегодня в Москве дождь, а цены на золото выросли.".encode("koi8-r"))
    'Сегодня в Москве дождь, а цены на золото выросли.'
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    names = [name for name in (_canonical(declared), _canonical(_from_markup(body))) if name]
    for name in (*(name for name in names if name in _VALID_AS_UTF8), "utf-8", *names):
        try:
            return body.decode(name)
        except UnicodeError:
            continue
    return _guessed(body)


def _canonical(name: str) -> str:
    try:
        known = codecs.lookup(name.strip().strip("'\"")).name if name else ""
    except (LookupError, ValueError):
        return ""
    # what calls itself latin-1 is windows-1252, as browsers read it
    known = "cp1252" if known in ("iso8859-1", "ascii") else known
    return known if known in _KNOWN else ""


def _from_markup(body: bytes) -> str:
    found = _DECLARED.search(body[:_HEAD])
    return found.group(1).decode("ascii", "ignore") if found else ""


def _guessed(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    others = len(text) - len(text.encode("ascii", "ignore"))
    # a letter of UTF-8 that is whole speaks for it: other encodings hardly ever make one by chance
    if others >= 2 * text.count("\ufffd"):
        return text
    return body.decode(_detected(_sample(body)), "replace")


def _detected(sample: bytes) -> str:
    # in some encodings a letter has up to four bytes, and the sample may end within one
    for end in range(len(sample), len(sample) - 4, -1):
        matches = from_bytes(sample[:end], cp_isolation=_UNDECLARED)
        best = matches.best()
        if best is not None:
            equal = [match for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
            western = any("cp1252" in match.could_be_from_charset for match in equal)
            return "cp1252" if western else best.encoding
    return "cp1252"


def _sample(body: bytes) -> bytes:
    """Return the beginning of what tells encodings apart: the lines with letters outside ASCII."""
    return b"\n".join(line for line in body.splitlines() if not line.isascii())[:_SAMPLE]
