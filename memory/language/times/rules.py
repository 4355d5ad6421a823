"""How times are written in a question: a pattern each, and who reads it."""

from __future__ import annotations

import re

from react_mem.memory.language.times.named import Reader
from react_mem.memory.language.times.readers import (
    read_counted,
    read_day,
    read_english_day,
    read_english_month,
    read_holiday,
    read_iso,
    read_numeric,
    read_phrase,
    read_relative,
    read_season,
    read_vietnamese_month,
    read_vietnamese_weekday,
    read_weekday,
    read_year,
)
from react_mem.memory.language.times.unspaced import UNSPACED_RULES
from react_mem.memory.language.times.vocabulary import (
    HOLIDAYS,
    MONTHS,
    MONTHS_VI,
    NUMBERS,
    NUMBERS_VI,
    PHRASES,
    SAID_WHICH_VI,
    UNITS_VI,
    WEEKDAYS,
    WEEKDAYS_SHORT,
    WEEKDAYS_VI,
    one_of,
)
from react_mem.memory.language.times.years import YEAR

_TH = "(?:st|nd|rd|th)?"
_IN_YEAR = rf"(?:,? (?:of |in )?(?P<y>{YEAR}))?"
_IN_YEAR_VI = rf"(?:(?: ?[/-] ?|,? nam )(?P<y>{YEAR}))?"
_TO_DAY = rf"(?: ?(?:-|to|and|through) ?(?P<last>\d{{1,2}}){_TH}\b)?"
_WHICH_EN = r"(?:(?P<which>this past|this coming|last|past|previous|this|next|coming) )?"
_WHICH_VI = f"(?:{SAID_WHICH_VI})?"
_MONTH = rf"(?P<name>{one_of(MONTHS)})\b\.?"
_COUNT = rf"\b(?:an? )?(?P<count>\d{{1,4}}|few|several|{one_of(NUMBERS)})(?: of)?"
_COUNT_VI = rf"\b(?P<count>\d{{1,4}}|vai|may|{one_of(NUMBERS_VI)})"
_UNIT = "(?P<unit>minute|hour|day|week|weekend|month|year|decade)s?"
_UNIT_VI = rf"(?P<unit>{one_of(UNITS_VI)})"


RULES: tuple[tuple[re.Pattern[str], Reader], ...] = UNSPACED_RULES + tuple(
    (re.compile(pattern, re.ASCII), read)
    for pattern, read in (
        (
            rf"(?<![\d/.-])(?P<y>{YEAR})(?P<dash>[-/.])(?P<month>0?[1-9]|1[0-2])(?P=dash)(?P<day>\d{{1,2}})(?!\d)",
            read_iso,
        ),
        (rf"(?<![\d/.-])(?P<y>{YEAR})[-/](?P<month>0[1-9]|1[0-2])(?![-/\d])", read_iso),
        (rf"(?<![\d/.-])(?P<month>0?[1-9]|1[0-2])/(?P<y>{YEAR})", read_iso),
        (
            r"(?<![\d/.-])(?P<vi>\b(?:ngay|hom|mung|mong) )?(?<!\d)(?P<one>\d{1,2})(?P<dash>[-/.])(?P<two>\d{1,2})"
            rf"(?P=dash)(?P<y>{YEAR}|(?<=/)\d\d(?!\d))",
            read_numeric,
        ),
        (r"\b(?:on|(?P<vi>ngay|hom|mung|mong)) (?P<one>\d{1,2})[/-](?P<two>\d{1,2})(?![\d/-])", read_numeric),
        (
            rf"\b(?P<day>\d{{1,2}})(?P<th>st|nd|rd|th)?{_TO_DAY} (?P<of>of )?{_WHICH_EN}{_MONTH}{_IN_YEAR}",
            read_english_month,
        ),
        (
            rf"\b{_WHICH_EN}{_MONTH} (?:the )?(?P<day>\d{{1,2}})(?P<th>st|nd|rd|th)?\b(?![:/%]|[.,]\d| ?(?:am|pm|km)\b)"
            rf"{_TO_DAY}{_IN_YEAR}",
            read_english_month,
        ),
        (rf"\b{_WHICH_EN}{_MONTH}{_IN_YEAR}", read_english_month),
        (
            rf"\b(?:ngay |mung |mong )?(?P<day>\d{{1,2}}) ?(?:,? )?thang ?(?P<month>\d{{1,2}})(?!\d){_IN_YEAR_VI}",
            read_vietnamese_month,
        ),
        (
            rf"\b(?:ngay|mung|mong) (?P<day>\d{{1,2}}) thang (?P<month>{one_of(MONTHS_VI)})\b{_IN_YEAR_VI}",
            read_vietnamese_month,
        ),
        (
            rf"\bthang ?(?P<month>1[0-2]|0?[1-9]|{one_of(MONTHS_VI)})\b(?!/\d\b){_WHICH_VI}{_IN_YEAR_VI}",
            read_vietnamese_month,
        ),
        (r"\bthe (?P<day>[12]?\d|3[01])(?:st|nd|rd|th)\b", read_english_day),
        (r"\b(?:ngay|mung|mong) (?P<day>[12]?\d|3[01])\b(?![/:.,-]\d)", read_day),
        (rf"\b{_WHICH_EN}(?P<name>spring|summer|autumn|fall|winter)\b{_IN_YEAR}", read_season),
        (
            r"\b(?:mua |(?=he (?:nam|nay|vua|truoc|qua|20\d\d)\b))(?P<name>he|ha|thu|dong|xuan)\b"
            rf"{_WHICH_VI}{_IN_YEAR_VI}",
            read_season,
        ),
        (rf"\b{_WHICH_EN}(?P<name>{one_of(HOLIDAYS)})(?:'?s)?(?: day)?\b{_IN_YEAR}", read_holiday),
        (
            rf"(?<![\w$#])(?<!\d[.,:/-])(?:nam )?(?P<y>{YEAR})(?:(?<=0)(?P<decade>'?s)|(?![\w%]|[.,:/-]\d)"
            r"(?! (?:dollars?|euros?|usd|vnd|dong|calories|kcal|steps|people|words|times|km|miles|m|kg|g|mb|gb)\b))",
            read_year,
        ),
        (rf"\b{_WHICH_EN}(?P<name>{one_of(WEEKDAYS | WEEKDAYS_SHORT)})\b", read_weekday),
        (
            r"\b(?P<lead>(?:vao|hom|ngay|sang|trua|chieu|toi|dem|moi) )?"
            rf"(?:thu (?P<name>{one_of(WEEKDAYS_VI)})\b|(?P<sunday>chu nhat)\b){_WHICH_VI}"
            r"(?P<follows>(?= (?:tuan|ngay)\b))?",
            read_vietnamese_weekday,
        ),
        *((rf"\b(?:{phrase})\b", read_phrase(offsets)) for phrase, offsets in PHRASES),
        (
            r"\b(?P<which>last|previous|this|current|next|coming) (?P<unit>week|weekend|month|year)\b(?! of\b)",
            read_relative,
        ),
        (r"\b(?P<unit>week|weekend|month|year) (?P<second>before last)\b", read_relative),
        (r"\b(?P<unit>tuan|thang|nam) (?P<second>kia|truoc nua)\b", read_relative),
        (
            rf"\b(?P<unit>cuoi tuan|tuan|thang|nam){SAID_WHICH_VI}",
            read_relative,
        ),
        (rf"{_COUNT} {_UNIT} (?:(?P<ago>ago|back)|(?P<ahead>from now))\b", read_counted),
        (rf"\b(?:(?P<past>last|past|previous)|(?P<coming>next|coming)) {_COUNT} {_UNIT}\b", read_counted),
        (r"\b(?P<past>past)(?P<count>) (?P<unit>day|week|weekend|month|year)\b", read_counted),
        (
            rf"(?:\bcach day )?{_COUNT_VI} {_UNIT_VI} (?:(?P<ago>truoc|roi)(?! khi\b)(?: day)?|(?P<ahead>nua))\b",
            read_counted,
        ),
        (rf"\b(?P<ago>cach day) (?:khoang )?{_COUNT_VI} {_UNIT_VI}\b", read_counted),
        (rf"{_COUNT_VI} {_UNIT_VI} (?P<past>vua qua|qua|gan day|nay|tro lai day)\b", read_counted),
    )
)
