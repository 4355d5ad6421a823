"""One form for what can be said in many: subjects, predicates and objects as keys that can be compared.

Two facts with the same keys are the same fact, in whatever words it was said. What cannot be decided by keys is left
apart: to merge two true facts is worse than to keep one twice.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import permutations

from memory.records import normalise

# Predicates that mean the same, one line a meaning, the first word its name. `1` marks an attribute of which a person
# has one at a time: a new value ends the old one. `-name` is the denial of `name`.
_PREDICATES = """
1 lives_in live reside_in resides home home_city home_is location located_in based_in current_city residence city
  lives_at moved_to has_moved_to relocated_to sống_ở sống_tại sống ở cư_trú cư_trú_tại chuyển_đến chuyển_tới nhà_ở nhà
  nơi_ở nơi_sống chỗ_ở
1 name is_named named called is_called goes_by tên tên_là
1 works_as work_as job occupation profession role job_title is_a_professional nghề nghề_nghiệp làm_nghề
1 works_at work_at works_for employer employed_by employed_at company workplace làm_việc_tại làm_ở làm_tại làm_cho
1 age is_aged years_old has_age tuổi
1 birthday date_of_birth born_on birth_date sinh_nhật ngày_sinh
1 phone phone_number has_phone_number mobile số_điện_thoại điện_thoại
1 email email_address has_email e_mail địa_chỉ_email
1 marital_status relationship_status tình_trạng_hôn_nhân
1 time_zone timezone múi_giờ
1 nationality citizenship quốc_tịch
1 address home_address street_address địa_chỉ
. likes like loves love enjoys enjoy is_fond_of fond_of fan_of prefers prefer thích yêu_thích mê
. -likes dislikes dislike hates hate does_not_like cannot_stand can_not_stand can_t_stand detests không_thích ghét
. eats eat ăn
. -eats does_not_eat never_eats avoids_eating không_ăn
. drinks drink uống
. -drinks does_not_drink never_drinks no_longer_drinks stopped_drinking không_uống
. allergic_to has_allergy_to allergy allergies has_allergy is_allergic_to dị_ứng dị_ứng_với bị_dị_ứng_với bị_dị_ứng
. has_pet pet owns_pet keeps_pet nuôi có_thú_cưng
1 diet follows_diet follows_a_diet is_on_diet follows theo theo_chế_độ chế_độ_ăn
. speaks speak speaks_language language nói nói_tiếng
. owns own possesses has have có
. -owns does_not_have does_not_own no_longer_has không_có
. studies study studying learns learning học đang_học
. plays play chơi
. is be are was là
"""

_PAST = re.compile(
    r"^(?:used_to_|formerly_|previously_|once_|past_|former_|previous_|từng_|đã_từng_|trước_đây_)(?:be_|is_)?"
    r"|^(?=(?:lived|worked|resided|studied)_)"
)
_VERB_PAST = {"lived": "lives", "worked": "works", "resided": "reside", "studied": "studies"}
_NEGATION = re.compile(r"^(?:does_not_|do_not_|doesn_t_|don_t_|is_not_|not_|no_longer_|never_|không_|chưa_|hết_)")
_FAVOURITE = re.compile(r"^favou?rite_(?P<what>.+)|(?P<vi>.+)_(?:yêu_thích|ưa_thích)$")
_PET = re.compile(r"(?:^|_)(?P<kind>dog|cat|bird|fish|hamster|rabbit|chó|mèo|thỏ|chim)(?:_|$)")
_NAMING = {"named", "called", "name", "tên", "con", "pet"}
# What is said by "is" may have been said as an attribute: "is a nurse" and "works as a nurse" are one fact.
_SAME_VALUE = {
    "is": ("works_as", "diet", "marital_status", "nationality"),
    "eats": ("diet",),
}
_NUMBERS = {
    word: str(number)
    for words in (
        "no one two three four five six seven eight nine ten",
        "không một hai ba bốn năm sáu bảy tám chín mười",
    )
    for number, word in enumerate(words.split())
    if number
}
_SUBJECTS = {"user", "the_user", "i", "me", "myself", "self", "speaker", "tôi", "mình", "người_dùng", "em", "anh", "tớ"}
_FILLERS = {"a", "an", "the", "my", "his", "her", "their", "our", "of", "in", "at", "to", "city", "một", "những", "các"}
_DIET_FILLERS = {"diet", "chế", "độ", "ăn", "eat", "food", "only", "chỉ", "thôi"}
_NOT = {"no", "not", "without", "never", "không", "chẳng", "chưa"}

_MAX_PERMUTED = 4
MIN_FOLDED = 5
"""Letters from which two words that differ only in Vietnamese marks, one of them typed without any, are one name:
Hanoi and Hà Nội; but not ma and má."""


@dataclass(frozen=True)
class Predicate:
    """A predicate in its one form.

    Args:
        name: What is said, whether affirmed or denied.
        affirmed: False where it is denied.
        single: Whether a subject has one value at a time.
        past: Whether it is said to be over.
        known: Whether it is in the table; others are only compared literally.
    """

    name: str
    affirmed: bool = True
    single: bool = False
    past: bool = False
    known: bool = True


def _read_table() -> dict[str, Predicate]:
    table: dict[str, Predicate] = {}
    current: Predicate | None = None
    for line in _PREDICATES.strip().splitlines():
        words = line.split()
        if words[0] in {"1", "."}:
            name = words[1]
            current = Predicate(name.removeprefix("-"), affirmed=not name.startswith("-"), single=words[0] == "1")
            words = words[1:]
        assert current is not None  # noqa: S101 - the first line of the table names a predicate
        table.update({word.removeprefix("-"): current for word in words if word != f"-{current.name}"})
        if current.affirmed:
            table[current.name] = current
    return table


_TABLE = _read_table()


HOLDER = re.compile(
    r"\b(dog|cat|pet|wife|husband|partner|son|daughter|child|mother|mom|father|dad|brother|sister|friend|boss|company"
    r"|vợ|chồng|con trai|con gái|mẹ|bố|anh trai|chị gái|em trai|em gái|bạn thân|sếp|công ty|chó|mèo)s?\b"
)
"""Whom or what an attribute may belong to other than the user: the sister's home does not end the user's."""


def holders(text: str) -> tuple[str, ...]:
    """Return the people, animals and things of the user's that a statement mentions.

    >>> holders("User's sister lives in Hanoi")
    ('sister',)
    """
    return tuple(sorted(set(HOLDER.findall(normalise(text)))))


def subject_key(subject: str) -> str:
    """Return whom a fact is about; the user by any of their names is `user`.

    >>> subject_key("The user"), subject_key("Tôi"), subject_key("Lan's sister")
    ('user', 'user', 'lan_s_sister')
    """
    key = _snake(subject)
    return "user" if key in _SUBJECTS or not key else key


def predicate_key(predicate: str) -> Predicate:
    """Return a predicate in its one form.

    >>> predicate_key("resides in").name, predicate_key("dislikes").affirmed, predicate_key("used_to_live_in").past
    ('lives_in', False, True)
    """
    key = _snake(predicate)
    if key in _TABLE:
        return _TABLE[key]
    past = bool(_PAST.search(key))
    if past:
        key = _PAST.sub("", key)
        first, _, rest = key.partition("_")
        key = "_".join(filter(None, [_VERB_PAST.get(first, first), rest]))
    found = _TABLE.get(key) or _TABLE.get(key.removesuffix("_in")) or _TABLE.get(key.replace("live_in", "lives_in"))
    if found is not None:
        return Predicate(found.name, found.affirmed, found.single, past)
    if _NEGATION.search(key):
        positive = predicate_key(_NEGATION.sub("", key))
        return Predicate(positive.name, not positive.affirmed, positive.single, past, positive.known)
    favourite = _FAVOURITE.search(key)
    if favourite:
        return Predicate(f"favorite_{favourite['what'] or favourite['vi']}", single=True, past=past)
    if _PET.search(key):
        return Predicate("has_pet", past=past)
    return Predicate(key, past=past, known=False)


def value_key(predicate: str, object_: str) -> str:
    """Return what is said of the subject, in one form: some of it may stand in the predicate.

    Args:
        predicate: The predicate as it was said.
        object_: The object as it was said.

    >>> value_key("dog_name", "Rex") == value_key("has_pet", "a dog named Rex") == value_key("has_dog", "Rex")
    True
    >>> value_key("diet", "vegetarian") == value_key("follows", "vegetarian diet")
    True
    """
    name = predicate_key(predicate).name
    words = object_key(object_).split()
    if name == "has_pet":
        kind = _PET.search(_snake(predicate))
        said = {*words, *([kind["kind"]] if kind else ())} - _NAMING
        return " ".join(sorted(said or words))
    if name in {"diet", "eats"}:
        return " ".join([word for word in words if word not in _DIET_FILLERS] or words)
    return " ".join(words)


def same_value_names(name: str) -> tuple[str, ...]:
    """Return the predicates, beside its own, under which the same may have been said: "is" for "works as".

    >>> same_value_names("works_as"), same_value_names("likes")
    (('is',), ())
    """
    return (*_SAME_VALUE.get(name, ()), *(general for general, special in _SAME_VALUE.items() if name in special))


def counted(key: str) -> str:
    """Return what an object counts, empty where it counts nothing: two cats and three cats contradict each other.

    >>> counted(object_key("two cats")) == counted(object_key("3 cats")) != ""
    True
    """
    words = key.split()
    rest = [word for word in words if not word.isdecimal() and word not in _NUMBERS]
    return " ".join(rest) if rest and len(rest) == len(words) - 1 else ""


def object_key(text: str) -> str:
    """Return what is said of the subject: its words without articles, in order of the alphabet, numbers included.

    >>> object_key("the black coffee without sugar") == object_key("Coffee, black, no sugar")
    True
    >>> object_key("tea") == object_key("tea ceremonies")
    False
    """
    words = re.findall(r"\w+", normalise(text))
    kept = {"not" if word in _NOT else _singular(word) for word in words if word not in _FILLERS}
    return " ".join(sorted(kept or words))


def same_object(one: str, other: str) -> bool:
    """Tell whether two object keys name the same thing, one of them perhaps typed without Vietnamese marks.

    >>> same_object(object_key("Hà Nội"), object_key("Hanoi")), same_object(object_key("ma"), object_key("má"))
    (True, False)
    """
    if one == other:
        return True
    if not (one.isascii() or other.isascii()):
        return False
    return any(len(spelling) >= MIN_FOLDED for spelling in _spellings(one) & _spellings(other))


def refines(one: str, other: str) -> bool:
    """Tell whether one object key says the other and more: Da Nang, and Da Nang, Vietnam."""
    words, more = set(one.split()), set(other.split())
    return bool(words and more) and (words <= more or more <= words) and "not" not in words ^ more


def _snake(text: str) -> str:
    return re.sub(r"\W+", "_", normalise(text)).strip("_")


def _spellings(key: str) -> set[str]:
    """Return a key as one word without marks, in every order of its words: nobody knows where Hanoi is to be cut."""
    plain = unicodedata.normalize("NFD", key.replace("đ", "d"))
    words = "".join(char for char in plain if not unicodedata.combining(char)).split()
    return {"".join(order) for order in permutations(words)} if len(words) <= _MAX_PERMUTED else {"".join(words)}


def _singular(word: str) -> str:
    plural = word.isascii() and len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if plural else word
