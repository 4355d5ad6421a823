"""Bytes of a page as text, whatever they say they are."""

from __future__ import annotations

import codecs
import re

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
"""What pages are written in. Python knows more, some of which are no text and some slow on purpose-made input."""

_VALID_AS_UTF8 = frozenset(
    codecs.lookup(name).name for name in ("iso2022_jp", "iso2022_kr", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
)
"""Their bytes are those of ASCII as well."""

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
    it declares; then what it looks like.

    Args:
        body: The bytes.
        declared: What the server says they are.

    >>> decode("giá vàng".encode(), "latin-1")
    'giá vàng'
    >>> decode("giá vàng".encode("cp1258", "ignore"), "windows-1258")[:3]
    'giá'
    >>> decode(b"caf\\xe9", "utf-8")
    'café'
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
    except LookupError:
        return ""
    # what calls itself latin-1 is windows-1252, as browsers read it
    known = "cp1252" if known in ("iso8859-1", "ascii") else known
    return known if known in _KNOWN else ""


def _from_markup(body: bytes) -> str:
    found = _DECLARED.search(body[:_HEAD])
    return found.group(1).decode("ascii", "ignore") if found else ""


def _guessed(body: bytes) -> str:
    # most of what is left: an accent or two of western Europe, or bytes cut in half
    try:
        return body.decode("cp1252")
    except UnicodeError:
        return body.decode("utf-8", "replace")
