"""Audit of what a store holds: what each check finds, of any store and of ours, and what it keeps and shows."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.agents.cli import main
from react_mem.integrations import audit_quality
from react_mem.integrations.quality import QualityCheck, QualityReport
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.records import Fact, Message
from react_mem.memory.opening import Storage

ANN, BOB = ("memories", "ann"), ("memories", "bob")
SECRET = "password: quagga-4711"


async def holding(*texts: str, namespace: tuple[str, ...] = ANN) -> BaseStore:
    store = InMemoryStore()
    for number, text in enumerate(texts):
        await store.aput(namespace, str(number), {"text": text})
    return store


def pairs(report: QualityReport, check: QualityCheck) -> list[tuple[str, str]]:
    return [(place.key, place.beside) for place in report.findings[check].examples]


class TestAnyStore:
    async def test_the_same_words_are_duplicates_and_other_order_is_not(self) -> None:
        store = await holding("I live in Hue.", "i live, in HUE!", "Ann loves Bob", "Bob loves Ann")
        await store.aput(BOB, "0", {"text": "I live in Hue."})
        report = await audit_quality(store)
        assert pairs(report, "duplicates") == [("1", "0")]
        assert report.findings["duplicates"].count == 1

    async def test_other_numbers_and_denials_of_one_matter_contradict(self) -> None:
        store = await holding("I have 2 cats", "I have 3 cats", "I eat meat", "I don't eat meat", "I have a dog")
        report = await audit_quality(store)
        assert pairs(report, "contradictions") == [("1", "0"), ("3", "2")]
        assert report.findings["duplicates"].count == 0

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Tôi thích trà", "Tôi không thích trà"),
            ("Tôi có hai con mèo", "Tôi có ba con mèo"),
            ("Ich esse Fleisch", "Ich esse kein Fleisch"),
            ("Ich habe zwei Katzen", "Ich habe drei Katzen"),
            ("Como carne", "No como carne"),
            ("Tengo dos gatos", "Tengo tres gatos"),
            ("我住在上海", "我不住在上海"),
            ("我有两只猫", "我有三只猫"),
            ("大阪に住んでいます", "大阪に住んでいません"),
            ("猫が二匹います", "猫が三匹います"),
            ("She eats meat", "She doesn’t eat meat"),
            ("I have one cat", "I have 2 cats"),
            ("I have two cats", "I have no cats"),
        ],
    )
    async def test_a_number_or_a_denial_contradicts_in_any_language(self, one: str, other: str) -> None:
        for texts in ((one, other), (other, one)):
            report = await audit_quality(await holding(*texts))
            assert pairs(report, "contradictions") == [("1", "0")]
            assert report.findings["duplicates"].count == 0

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("I have 2 cats", "I have two cats"),
            ("I have three cats", "I don't have 2 cats"),
            ("I like tea", "I don't like coffee"),
            ("Tôi thích bò", "Tôi không thích bơ"),
            ("りんごが好きです", "みかんが好きではありません"),
        ],
    )
    async def test_another_matter_contradicts_nothing(self, one: str, other: str) -> None:
        report = await audit_quality(await holding(one, other))
        assert pairs(report, "contradictions") == pairs(report, "duplicates") == []

    @pytest.mark.parametrize(
        "value",
        [
            {"content": "I live in Hue"},
            {"kind": "Memory", "content": {"content": "I live in Hue"}},
            {"memory": "I live in Hue"},
            {"kind": "Triple", "content": {"subject": "I", "predicate": "live in", "object": "Hue"}},
        ],
    )
    async def test_items_of_other_systems_are_read(self, value: dict[str, Any]) -> None:
        store = await holding("I live in Hue")
        await store.aput(ANN, "theirs", value)
        assert pairs(await audit_quality(store), "duplicates") == [("theirs", "0")]

    async def test_secrets_are_found_wherever_they_stand_and_never_shown(self) -> None:
        store = InMemoryStore()
        await store.aput(ANN, "a", {"text": SECRET})
        await store.aput(ANN, "b", {"deep": [{"note": "use sk-quagga4711quagga"}]})
        await store.aput(ANN, "id", {"text": "tea", "source": "0123456789abcdef0123456789abcdef"})
        await store.aput(ANN, "plain", {"text": "I keep my password in my head"})
        report = await audit_quality(store)
        found = report.findings["secrets"]
        assert [(place.key, place.field) for place in found.examples] == [("a", "text"), ("b", "deep[].note")]
        assert "quagga" not in json.dumps(report.to_json())

    @pytest.mark.parametrize(
        "value",
        [
            {"text": "glpat-quaggaQUAGGA4711quag"},
            {"text": "aws_secret_access_key = quagga/4711+quagga"},
            {"text": "-----BEGIN RSA PRIVATE KEY-----\nquagga\n-----END RSA PRIVATE KEY-----"},
            {"password": "quagga"},
            {"text": "My password for the bank is quagga4711"},
            {"text": "Mein Passwort ist quagga4711"},
            {"text": unicodedata.normalize("NFD", "Mật khẩu wifi là quagga4711")},
            {"text": "Mi contraseña es quagga4711"},
            {"text": "我的密码是quagga4711"},
            {"text": "パスワードは「quagga4711」です"},
        ],
    )
    async def test_secrets_are_known_by_form_field_or_words(self, value: dict[str, Any]) -> None:
        store = InMemoryStore()
        await store.aput(ANN, "a", value)
        report = await audit_quality(store)
        assert report.findings["secrets"].count == 1
        assert "quagga" not in json.dumps(report.to_json())

    @pytest.mark.parametrize(
        "value",
        [
            {"text": "My password was changed on Monday"},
            {"text": "Tôi quên mật khẩu, nó là tên con mèo"},
            {"text": "global-configuration-of-the-house"},
            {"password": "[hidden]"},
            {"max_tokens": "plenty of them"},
        ],
    )
    async def test_what_is_no_secret_is_not_counted(self, value: dict[str, Any]) -> None:
        store = InMemoryStore()
        await store.aput(ANN, "a", value)
        assert (await audit_quality(store)).findings["secrets"].count == 0

    async def test_what_was_not_written_again_is_stale(self) -> None:
        store = await holding("tea", "coffee")
        later = datetime.now(UTC) + timedelta(days=40)
        for days, count in ((30, 2), (50, 0)):
            report = await audit_quality(store, at=later, stale_after=timedelta(days=days))
            assert report.findings["stale"].count == count
        assert (report.findings["growth"].count, report.before) == (0, 2)


class TestOurs:
    async def test_what_is_believed_counts_and_what_answers_used(self) -> None:
        store = InMemoryStore()
        semantic, dialog = (scope_namespace("ann", scope) for scope in (MemoryScope.SEMANTIC, MemoryScope.DIALOG))
        told: dict[str, Any] = {"session_id": "s", "agent_id": "a"}
        facts = [
            Fact(id="used", text="I live in Hue", **told),
            Fact(id="again", text="I live in Hue", **told),
            Fact(id="former", text="I live in Hue", current=False, **told),
            Fact(id="over", text="I work at Acme", valid_to=datetime(2020, 1, 1, tzinfo=UTC), **told),
            Fact(id="doubted", text="I like tea", doubts=("used",), **told),
            # what is told of one person neither repeats nor contradicts what is told of another
            Fact(id="lan", text="She has 2 cats", about="Lan", **told),
            Fact(id="mai", text="She has 2 cats", about="Mai", **told),
            Fact(id="nga", text="She has 3 cats", about="Nga", **told),
        ]
        for fact in facts:
            await store.aput(semantic, fact.id, fact.to_value())
        answer = Message(id="m", text="You live in Hue", content="x", role="assistant", turn=1, used=("used",), **told)
        for key in ("m", "n"):
            await store.aput(dialog, key, answer.to_value())
        await store.aput(meta_namespace("ann"), "note", {"text": SECRET})
        report = await audit_quality(store)
        assert report.items == 10, "bookkeeping is no memory, and a message is one"
        assert pairs(report, "duplicates") == [("again", "used")]
        assert pairs(report, "contradictions") == [("doubted", "used")]
        assert pairs(report, "stale") == [("over", "")]
        never = report.findings["never_recalled"]
        assert [place.key for place in never.examples] == ["again", "former", "over", "doubted", "lan"]
        assert (never.count, report.findings["secrets"].count) == (7, 0)


async def test_the_command_shows_counts_and_places_and_fails_on_what_it_is_told_to(
    database_url: str,
    storage: Storage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database_url)
    for key in "ab":
        await storage.store.aput(("memory", "ann", "semantic"), key, {"text": SECRET})

    async def told(*arguments: str) -> tuple[int, str]:
        code = await asyncio.to_thread(main, list(arguments))
        return code, capsys.readouterr().out

    code, shown = await told("audit", "quality", "--user", "ann", "--json")
    data = json.loads(shown)
    assert (code, data["findings"]["secrets"]["count"], data["failing"]) == (0, 2, [])
    assert json.loads((await told("audit", "quality", "--user", "bob", "--json"))[1])["items"] == 0
    for limit, fails in (("secrets", True), ("secrets=2", False)):
        code, shown = await told("audit", "quality", "--fail-on", limit)
        assert (code, "FAILS" in shown, "2 items in 1 namespaces" in shown) == (int(fails), fails, True)
        assert "quagga" not in shown
    # without a policy of an agent nothing is to be removed
    code, shown = await told("retention", "--dry-run", "--json")
    assert (code, json.loads(shown)["removed"]) == (0, {})


@pytest.mark.parametrize("limit", ["nothing", "secrets=x"])
def test_a_check_that_does_not_exist_is_refused(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["audit", "quality", "--fail-on", limit])
    assert "give one of duplicates, contradictions" in capsys.readouterr().err
