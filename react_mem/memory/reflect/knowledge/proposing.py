"""Knowledge that a model proposes from related memories; what they do not bear out is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from react_mem.memory.language import denial_of
from react_mem.memory.language.comparison import missing, share
from react_mem.memory.language.hallucination import Told
from react_mem.memory.language.text import normalise
from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.asking import ModelQuestion, as_lines, objects
from react_mem.memory.model.concepts import MIN_SOURCES, Form
from react_mem.memory.reflect.driver import Checked
from react_mem.memory.reflect.knowledge.counting import Drawn
from react_mem.memory.reflect.knowledge.memory_groups import Evidence

MAX_CHARS = 300
"""Of one text: it is a line of the prompt."""

_MAX_ITEMS = 4
"""Of one group: more would only say the same in other words."""

_FORMS = get_args(Form)
_MIN_SHARE = 0.5
"""The share of a text's words that its memories have: one for all of them, such as "plants", may be new."""


def question_about(group: Sequence[Evidence], model: str) -> ModelQuestion[Checked[Drawn]]:
    """Return the question what memories come to together, whose answer is checked.

    Args:
        group: The memories, all about the same.
        model: What the model is called.
    """
    aliases = {f"f{place + 1}": one for place, one in enumerate(group)}

    def read(said: Mapping[str, Any]) -> Checked[Drawn]:
        drawn: dict[str, Drawn] = {}
        refused: list[str] = []
        for item in objects(said.get("items")):
            form, text, cited = _read(item)
            sources = list(dict.fromkeys(alias for alias in cited if alias in aliases))
            if unknown := set(cited) - set(aliases):
                refused.append(f"it cites {len(unknown)} memories that there are not")
            elif len(drawn) == _MAX_ITEMS:
                refused.append(f"there are more than {_MAX_ITEMS}")
            elif problem := problem_with(form, text, [aliases[alias] for alias in sources]):
                refused.append(problem)
            else:
                about = group[0].about.strip()
                if normalise(about) != "user" and missing(about, [text]):
                    text = f"{about}: {text}"
                ids = tuple(aliases[alias].id for alias in sources)
                made = Drawn(cast("Form", form), normalise(about), text, ids, len(ids), made_by=model or "model")
                drawn[normalise(text)] = made
        return Checked(list(drawn.values()), refused)

    shown = [_shown(alias, one) for alias, one in aliases.items()]
    return ModelQuestion("consolidate_facts", as_lines("memories", shown), _schema(list(aliases)), read)


def problem_with(form: str, text: str, sources: Sequence[Evidence]) -> str:
    """Return why a text must not be kept as what these memories come to; empty where it may.

    Args:
        form: What it is said to be.
        text: The text.
        sources: The memories that it stands on.
    """
    if form not in _FORMS:
        return f"it is none of {', '.join(_FORMS)}"
    if len(sources) < MIN_SOURCES:
        return f"it stands on fewer than {MIN_SOURCES} memories"
    if not text or len(text) > MAX_CHARS or "\n" in text:
        return f"it is empty, or more than a line of {MAX_CHARS} characters"
    if any(normalise(text) == normalise(one.text) for one in sources):
        return "it says what one of its memories says"
    texts = [one.text for one in sources]
    known = [*texts, *(one.about for one in sources)]
    if Told(known, [one.at for one in sources]).invented(text):
        return "it has a name or a number that its memories do not have"
    first = text.split(maxsplit=1)[0]
    # the first word has a capital whatever it is: whom the memories are about, or one of their words
    if first[0].isupper() and missing(first, known):
        return "it does not begin with whom its memories are about"
    if share(text, known) < _MIN_SHARE:
        return f"its memories have fewer than {_MIN_SHARE:.0%} of its words"
    if any(share(one.text, [text]) == 0 for one in sources):
        return "it has no word in common with one of its memories"
    denied = {denial_of(one) for one in texts}
    if None not in denied and denial_of(text) not in {*denied, None}:
        return "it says the opposite of its memories"
    return ""


def _shown(alias: str, one: Evidence) -> dict[str, str]:
    about = {"about": one.about} if normalise(one.about) != "user" else {}
    return {"id": alias, "date": f"{one.at:%Y-%m-%d}", **about, "text": one.text}


def _read(item: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    cited = item.get("sources")
    return (
        str(item.get("form") or ""),
        re.sub(r"\s+", " ", str(item.get("text") or "")).strip(),
        [str(alias) for alias in cited] if isinstance(cited, list) else [],
    )


def _schema(aliases: Sequence[str]) -> dict[str, Any]:
    item = object_schema(
        {
            "sources": {"type": "array", "items": {"type": "string", "enum": list(aliases)}},
            "form": {"type": "string", "enum": list(_FORMS)},
            "text": {"type": "string"},
        }
    )
    items = {"items": {"type": "array", "items": item}}
    return object_schema(items, "knowledge", "What the memories come to together.")
