"""When a statement says that something was or is: computed from its words, or proposed by a model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from react_mem.memory.model.profile_schema import Profile, ProfileField, zone_of
from react_mem.memory.write.when import When, over_by, resolve

ZONE = ZoneInfo("Asia/Ho_Chi_Minh")
SAID_AT = datetime(2026, 3, 3, 20, tzinfo=UTC)  # a Wednesday, the 4th, for the user


def _told(when: When) -> tuple[str, str, str]:
    times = (when.event_at, when.valid_from, when.valid_to)
    start, end = "T00:00:00+07:00", "T23:59:59+07:00"
    return tuple((at.isoformat() if at else "").removesuffix(start).removesuffix(end) for at in times)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("clause", "event_at", "valid_from", "valid_to"),
    [
        ("I flew to Rome yesterday", "2026-03-03", "", ""),
        ("I fly to Rome tomorrow at 3pm", "2026-03-05T15:00:00+07:00", "", ""),
        ("I fly to Rome next Tuesday", "2026-03-10", "", ""),
        ("I have lived here since March", "", "2026-03-01", ""),
        ("I must hand in my thesis by the 24th", "2026-03-24", "", ""),
        ("I am on leave from 3 May to 10 May 2026", "", "2026-05-03", "2026-05-10"),
        ("Hồi năm ngoái tôi chuyển nhà", "2025-01-01", "", ""),
        ("9 giờ sáng mai tôi họp", "2026-03-05T09:00:00+07:00", "", ""),
        ("Tôi sống ở Huế từ năm 2020 đến năm 2022", "", "2020-01-01", "2022-12-31"),
        ("我下周二去上海", "2026-03-10", "", ""),
        ("明天下午三点半开会", "2026-03-05T15:30:00+07:00", "", ""),
        ("我去年三月搬家", "2025-03-01", "", ""),
        ("我两年前结婚", "2024-01-01", "", ""),
        ("我在这里住到下个月底", "", "", "2026-04-30"),
        ("昨日の午後3時に会った", "2026-03-03T15:00:00+07:00", "", ""),
        ("来週の火曜日に東京へ行きます", "2026-03-10", "", ""),
        ("来月5日に引っ越す", "2026-04-05", "", ""),
        ("3月から東京に住んでいます", "", "2026-03-01", ""),
        ("2028年3月まで大阪にいます", "", "", "2028-03-31"),
    ],
)
def test_times_that_the_words_name(clause: str, event_at: str, valid_from: str, valid_to: str) -> None:
    # whatever a careless model makes of them
    for proposed in ("", "next week", "2026-99-99"):
        assert _told(resolve(clause, SAID_AT, ZONE, proposed)) == (event_at, valid_from, valid_to)


@pytest.mark.parametrize(
    ("clause", "proposed", "event_at", "valid_from", "valid_to"),
    [
        # its date is wrong: the words are read
        ("I fly next Tuesday", "2026-03-12", "2026-03-10", "", ""),
        ("I met her on Friday", "2026-02-26", "2026-02-27", "", ""),
        ("I have lived here since March", "2026-02..", "", "2026-03-01", ""),
        # it decides what is open
        ("I met her on Friday", "2026-02-27", "2026-02-27", "", ""),
        ("I have lived here since March", "2024-03..", "", "2024-03-01", ""),
        ("I go there the Tuesday after next", "2026-03-17", "2026-03-17", "", ""),
        ("I am in Rome until May", "..2026-05", "", "", "2026-05-31"),
        # it says what role a time has
        ("I moved to Rome last March", "2025-03..", "", "2025-03-01", ""),
        ("Last summer I lived in Hue", "2025-06..2025-08", "", "2025-06-01", "2025-08-31"),
        ("I have lived here since March", "2026-03", "", "2026-03-01", ""),
        # nobody said that it begins when it ends
        ("I am in Rome until 2028", "2028..", "", "", "2028-12-31"),
        # it may be more exact
        ("I see a doctor tomorrow at three in the afternoon", "2026-03-05T15:00", "2026-03-05T15:00:00+07:00", "", ""),
        # languages whose times are not read
        ("Vivo aquí desde marzo", "2026-03..", "", "2026-03-01", ""),
        ("Estuve en Lima hasta 2020", "..2020", "", "", "2020-12-31"),
        ("Ich wohne seit 2019 hier", "2019..", "", "2019-01-01", ""),
    ],
)
def test_a_proposal_beside_the_words(clause: str, proposed: str, event_at: str, valid_from: str, valid_to: str) -> None:
    assert _told(resolve(clause, SAID_AT, ZONE, proposed)) == (event_at, valid_from, valid_to)


@pytest.mark.parametrize(
    "proposed",
    [
        "...",
        "2026-13",
        "2026-02-30",
        "1700",
        "2300-01-01..",
        "2026..soon",
        "٢٠٢٦",
        "2026-03-04T10:00 in Rome",
    ],
)
def test_what_is_no_date_is_no_proposal(proposed: str) -> None:
    assert resolve("Vivo en Lima", SAID_AT, ZONE, proposed) == When()


def test_of_a_period_that_ends_before_it_begins_one_end_is_kept() -> None:
    assert _told(resolve("Vivo en Lima", SAID_AT, ZONE, "2026-05..2026-02")) == ("", "2026-05-01", "")
    assert _told(resolve("I live in Lima until 2028", SAID_AT, ZONE, "2030..2027")) == ("", "", "2028-12-31")


def test_the_day_is_the_users() -> None:
    late = datetime(2026, 3, 3, 23, 30, tzinfo=ZoneInfo("America/New_York"))
    assert resolve("I left today", late, ZoneInfo("America/New_York"), "").event_at == datetime(
        2026, 3, 3, tzinfo=ZoneInfo("America/New_York")
    )
    assert resolve("I left today", late, UTC, "").event_at == datetime(2026, 3, 4, tzinfo=UTC)


WORDS = (
    "I moved", "since ", "until ", "from ", "to ", "by the 24th", "last ", "next ", "May", "Tuesday", "2019",
    "3pm", "từ ", "đến ", "tháng ", "năm ", "ngày 31", "thứ hai", "tuần sau", "从", "到", "下周", "三", "月",
    "二十", "日", "两年前", "上个月", "31号", "之前", "每", "来週の", "火曜日", "まで", "から", "3時半", "\ud800",
    "٣", "Ⅷ", "两", "十十十", "零", "〇", "99", "/", "-",
)  # fmt: skip
PROPOSED = st.one_of(
    st.text(max_size=30),
    st.from_regex(r"(\d{4}(-\d\d(-\d\d(T\d\d:\d\d)?)?)?)?(\.\.)?(\d{4}(-\d\d)?)?", fullmatch=True),
)
ZONES = st.sampled_from([UTC, ZONE, timezone(timedelta(hours=-12)), timezone(timedelta(hours=14))])


@given(
    st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=12).map("".join)),
    st.datetimes(timezones=st.one_of(st.none(), ZONES)),
    ZONES,
    PROPOSED,
)
@example("tomorrow", datetime.max.replace(tzinfo=UTC), timezone(timedelta(hours=14)), "9999-12-31")
@example("yesterday, 99 years ago", datetime.min.replace(tzinfo=UTC), timezone(timedelta(hours=-12)), "0001")
def test_nothing_said_makes_it_fail(text: str, said_at: datetime, zone: tzinfo, proposed: str) -> None:
    when = resolve(text, said_at, zone, proposed)
    assert all(at is None or at.tzinfo for at in (when.event_at, when.valid_from, when.valid_to))
    assert when.valid_from is None or when.valid_to is None or when.valid_from <= when.valid_to
    over = over_by(text, said_at, zone, proposed)
    assert over is None or over < (said_at if said_at.tzinfo else said_at.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("clause", "proposed", "over"),
    [
        ("I stopped smoking last year", "", "2025-12-31T23:59:59+07:00"),
        ("Tôi bỏ thuốc từ năm ngoái", "", "2025-01-01T00:00:00+07:00"),
        ("我去年戒烟了", "", "2025-12-31T23:59:59+07:00"),
        ("I quit my job yesterday at 3pm", "", "2026-03-03T15:00:00+07:00"),
        ("I lived there until 2024", "", "2024-12-31T23:59:59+07:00"),
        ("I have not smoked since 2024", "", "2024-01-01T00:00:00+07:00"),
        ("I no longer smoke", "", ""),
        ("I quit today", "", ""),
        ("I am quitting", "2027-01-01", ""),
    ],
)
def test_by_when_it_was_over(clause: str, proposed: str, over: str) -> None:
    found = over_by(clause, SAID_AT, ZONE, proposed)
    assert (found.isoformat() if found else "") == over


def _profile(**fields: str) -> Profile:
    return Profile(
        id="profile",
        text="",
        session_id="s",
        agent_id="a",
        fields={name: ProfileField(value=value) for name, value in fields.items()},
    )


@pytest.mark.parametrize(
    ("name", "value", "hours"),
    [
        ("time_zone", "Asia/Ho_Chi_Minh", 7),
        ("Time zone", "Asia/Ho_Chi_Minh (UTC+7)", 7),
        ("tz", "UTC+5:30", 5.5),
        ("timeZone", "GMT-03:00", -3),
        ("time_zone", "UTC", 0),
        ("time_zone", "UTC+99", 0),
        ("time_zone", "../../etc/passwd", 0),
        ("time_zone", "\0\ud800" * 500, 0),
        ("pronouns", "they/them", 0),
    ],
)
def test_the_zone_of_a_profile(name: str, value: str, hours: float) -> None:
    assert SAID_AT.astimezone(zone_of(_profile(**{name: value}))).utcoffset() == timedelta(hours=hours)


def test_without_a_profile_the_zone_is_utc() -> None:
    assert zone_of(None) is UTC
    assert zone_of(_profile()) is UTC
