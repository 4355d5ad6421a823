"""An agent without a language model, in four languages: what it keeps, answers and forgets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.keyless.talking import Keyless

DIALOGUES = yaml.safe_load(Path(__file__).with_name("dialogues.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda dialogue: dialogue["name"])
async def test_dialogue(dialogue: dict[str, Any]) -> None:
    keyless = Keyless()
    thread, answer = 1, ""
    for text in dialogue["say"]:
        if text == "---":
            thread += 1
        else:
            answer = await keyless.say(text, str(thread))
    if "answer" in dialogue:
        assert re.search(dialogue["answer"], answer), answer
    if "quote" in dialogue:
        quoted = re.findall("“(.*?)”", answer)
        assert [re.sub(r"[.。]$", "", quote) for quote in quoted] == [dialogue["quote"]], answer
    if "none" in dialogue:
        assert dialogue["none"] not in answer
    if "facts" in dialogue:
        assert await keyless.facts() == sorted(dialogue["facts"])
    held = await keyless.everything()
    for text in dialogue.get("gone", ()):
        assert text not in held
