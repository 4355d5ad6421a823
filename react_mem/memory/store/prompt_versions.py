"""Prompts replaced at run time: versions in the store, one of them active, with the files in prompts/ as default.

A deployment changes a prompt's wording without a release:

    async with open_store() as store:  # of react_mem.memory.opening; in a graph, runtime.store
        prompts = PromptVersions(store)
        await prompts.put("chat_summary_next", text, note="asks for the order number")
        await prompts.rollback("chat_summary_next")  # back to the former active version
        await prompts.activate("chat_summary_next", 0)  # back to the file

Prompts belong to the deployment, not to a user: they have a namespace of their own, and no route of the server
writes them. Whoever may open the store may.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from string import Formatter
from typing import Any

from langgraph.store.base import BaseStore, PutOp
from pydantic import BaseModel, Field, ValidationError

from react_mem.errors import PromptError
from react_mem.memory.model.records import now
from react_mem.memory.store.process_state import kept_with
from react_mem.memory.store.transactions import transact_on
from react_mem.prompts import load_prompt

ROOT = "prompts"
FILE = 0
"""Version number of a prompt's file."""

MAX_CHARS = 50_000
"""Most characters of a version: the longest shipped prompt has a tenth of it."""

TTL = 10.0
"""Seconds until every process uses a change. The process that makes it uses it at once."""

READ_TIMEOUT = 2.0
"""Seconds that a request waits for the store, which answers in milliseconds; the file is the fallback."""

_HEAD = "head"
_MAX_VERSIONS = 10_000
_MAX_BEFORE = 100  # as many steps back as `rollback` knows

_PLACEHOLDER = re.compile(r"(?<!{){(\w+)}(?!})")

log = logging.getLogger(__name__)


class PromptVersion(BaseModel, frozen=True):
    """One version of a prompt: its number, counted from 1 (0 is the file), and a note for people."""

    version: int = Field(ge=FILE)
    text: str
    note: str = ""
    created_at: datetime | None = None
    active: bool = False


@dataclass(frozen=True)
class Prompt:
    """Text of a prompt in use, to be filled in with `str.format` if the file is.

    `problem` is the reason why it is not, or may not be, the active version; empty if it is.
    """

    text: str
    version: int = FILE
    problem: str = ""


class _Head(BaseModel):
    """State of a prompt: the latest version, the active one, and the formerly active ones, the last one last."""

    latest: int = 0
    active: int = FILE
    before: tuple[int, ...] = ()

    def activated(self, version: int) -> _Head:
        if version == self.active:
            return self
        return self.model_copy(update={"active": version, "before": (*self.before, self.active)[-_MAX_BEFORE:]})


class ReadPrompts(dict[str, tuple[float, Prompt]]):
    """Cache of a store's prompts in this process, with their expiry."""


class PromptVersions:
    """The prompts of one store; this process caches each for `ttl` seconds.

    A `name` is that of a prompt's file in prompts/, without `.md`; each method raises ValueError for an unknown
    one.
    """

    def __init__(self, store: BaseStore, *, ttl: float = TTL) -> None:
        self._store = store
        self._ttl = ttl
        self._read = kept_with(store, ReadPrompts)

    async def current(self, name: str) -> Prompt:
        """Return the prompt to use now; if the store fails, the cached one or the file, with the problem named."""
        default = await _file(name)
        until, known = self._read.get(name, (0.0, None))
        if known is not None and time.monotonic() < until:
            return known
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                prompt = await self._active(name, default)
        except Exception as error:
            log.warning("the active version of the prompt %r cannot be read: %s", name, type(error).__name__)
            problem = f"the active version of the prompt {name!r} cannot be read ({type(error).__name__})"
            prompt = replace(known or Prompt(default), problem=problem)
        self._read[name] = (time.monotonic() + self._ttl, prompt)
        return prompt

    async def put(self, name: str, text: str, *, note: str = "", activate: bool = True) -> PromptVersion:
        """Store a new version, activate it if wanted, and return it, or raise PromptError: see `problem_of`."""
        text = text.strip()
        if problem := problem_of(text, await _file(name)):
            raise PromptError(f"the prompt {name!r} cannot be replaced: {problem}")

        def add(head: _Head) -> tuple[_Head, list[PromptVersion]]:
            number = head.latest + 1
            added = head.model_copy(update={"latest": number})
            version = PromptVersion(version=number, text=text, note=note, created_at=now())
            return added.activated(number) if activate else added, [version]

        head, [version] = await self._change(name, add)
        return version.model_copy(update={"active": head.active == version.version})

    async def get(self, name: str, version: int | None = None) -> PromptVersion:
        """Return a version, by default the active one; raise PromptError if there is none."""
        default = await _file(name)
        head = await self._head(name)
        number = head.active if version is None else version
        if number == FILE:
            return PromptVersion(version=FILE, text=default, note="the file", active=head.active == FILE)
        item = await self._store.aget((ROOT, name), _key(number)) if number > 0 else None
        if item is None:
            raise PromptError(
                f"the prompt {name!r} has no version {number}; the latest is {head.latest}, 0 is the file"
            )
        return _version(item.value, head)

    async def list(self, name: str) -> list[PromptVersion]:
        """Return all versions of a prompt, the latest first, the file last."""
        file = await self.get(name, FILE)
        head = await self._head(name)
        found = await self._store.asearch((ROOT, name), limit=_MAX_VERSIONS)
        versions = [_version(item.value, head) for item in found if item.key != _HEAD]
        return [*sorted(versions, key=lambda one: one.version, reverse=True), file]

    async def activate(self, name: str, version: int) -> PromptVersion:
        """Use a version from now on; raise PromptError for none, or one that can no longer replace the file."""
        chosen = await self.get(name, version)
        if version != FILE and (problem := problem_of(chosen.text, await _file(name))):
            raise PromptError(f"version {version} of the prompt {name!r} cannot be used: {problem}")
        await self._change(name, lambda head: (head.activated(version), []))
        return chosen.model_copy(update={"active": True})

    async def rollback(self, name: str) -> PromptVersion:
        """Use the formerly active version again, or raise PromptError; each call goes one further back."""
        await _file(name)

        def back(head: _Head) -> tuple[_Head, list[PromptVersion]]:
            if not head.before:
                raise PromptError(f"no version of the prompt {name!r} was active before; activate one by its number")
            return head.model_copy(update={"active": head.before[-1], "before": head.before[:-1]}), []

        head, _ = await self._change(name, back)
        return await self.get(name, head.active)

    async def _active(self, name: str, default: str) -> Prompt:
        head = await self._head(name)
        if head.active == FILE:
            return Prompt(default)
        item = await self._store.aget((ROOT, name), _key(head.active))
        text = str(item.value.get("text", "")) if item is not None else ""
        # a stored version may be older than the file, and the code fills in the file's placeholders
        if problem := problem_of(text, default):
            log.warning("version %d of the prompt %r is not used: %s", head.active, name, problem)
            return Prompt(default, problem=f"version {head.active} of the prompt {name!r} is not used: {problem}")
        return Prompt(text, head.active)

    async def _head(self, name: str) -> _Head:
        item = await self._store.aget((ROOT, name), _HEAD)
        return _Head.model_validate(item.value) if item is not None else _Head()

    async def _change(
        self, name: str, step: Callable[[_Head], tuple[_Head, Sequence[PromptVersion]]]
    ) -> tuple[_Head, Sequence[PromptVersion]]:
        """Change a prompt's state and add versions, in one transaction."""
        namespace = (ROOT, name)

        async def change(before: dict[str, Any] | None) -> tuple[tuple[_Head, Sequence[PromptVersion]], list[PutOp]]:
            head, added = step(_Head.model_validate(before or {}))
            values = {_key(one.version): one.model_dump(mode="json", exclude={"active"}) for one in added}
            values[_HEAD] = head.model_dump(mode="json")
            return (head, added), [PutOp(namespace, key, value, index=False) for key, value in values.items()]

        changed = await transact_on(self._store, namespace, _HEAD, change, what=f"the prompt {name!r}")
        self._read.pop(name, None)
        return changed


def problem_of(text: str, default: str) -> str:
    """Return why a text cannot replace a prompt's file; empty if it can.

    >>> problem_of("Sum up.", "Sum up in {length} characters.")
    'it lacks the placeholder {length}, which the file has; write it where that value belongs'
    >>> problem_of("In {length} characters of {user.key}.", "Sum up in {length} characters.")
    'it has {user.key}, which nothing fills in; the placeholders are {length}; a brace itself is written twice'
    """
    if not text.strip():
        return "it is empty"
    if len(text) > MAX_CHARS:
        return f"it has {len(text)} characters, and {MAX_CHARS} are allowed"
    wanted = dict.fromkeys(_PLACEHOLDER.findall(default))
    if not wanted:
        # nothing is filled in, so braces are literal
        return ""
    try:
        given = [
            (field or "") + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            for _, field, form, conversion in Formatter().parse(text)
            if field is not None
        ]
    except ValueError as error:
        return f"its braces do not match ({error}); a brace itself is written twice"
    if missing := [name for name in wanted if name not in given]:
        named = ", ".join(f"{{{name}}}" for name in missing)
        return (
            f"it lacks the placeholder{'s' if len(missing) > 1 else ''} {named}, which the file has; "
            "write it where that value belongs"
        )
    if unknown := [name for name in given if name not in wanted]:
        return (
            f"it has {{{unknown[0][:80]}}}, which nothing fills in; the placeholders are "
            f"{', '.join(f'{{{name}}}' for name in wanted)}; a brace itself is written twice"
        )
    return ""


async def _file(name: str) -> str:
    return await asyncio.to_thread(load_prompt, name)


def _key(version: int) -> str:
    return f"{version:08d}"


def _version(value: object, head: _Head) -> PromptVersion:
    try:
        version = PromptVersion.model_validate(value)
    except ValidationError as error:
        raise PromptError(f"a stored version is not a prompt: {error.error_count()} fields are wrong") from None
    return version.model_copy(update={"active": version.version == head.active})
