"""Count the files and functions of the product that three stories cross, told to a real agent with a scripted model.

`question` ends when the model is asked for the answer, `message` when the work behind the turn has changed a fact,
`forget` when one fact has been erased through `open_memory`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from react_mem import MemoryScope, open_agent, open_memory
from tests.house.rooms import ROOT
from tests.support.labels import Says, labelled
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

_AGENT = "manager: react_mem\nsystem_prompt: You help.\nmemory: {extraction: {mode: background}}\n"
_SAYS = (
    Says("I live in Hue", text="User lives in Hue."),
    Says("I moved to Rome", "changes", "in Hue", "User lives in Rome."),
    Says("allergic to peanuts", text="User is allergic to peanuts."),
)


class Trace:
    """The functions of the product that are called while `watching`, in order of their first call."""

    def __init__(self) -> None:
        self._files: dict[str, Path | None] = {}
        self._into: dict[tuple[Path, str], None] | None = None
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)

    @contextmanager
    def watching(self) -> Iterator[dict[tuple[Path, str], None]]:
        """Collect calls until the block ends, or `stop` is called."""
        crossed = self._into = {}
        try:
            yield crossed
        finally:
            self.stop()

    def stop(self) -> None:
        """Collect nothing more."""
        self._into = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Collect nothing within the block: what a story asks for its own sake is no part of it."""
        into, self._into = self._into, None
        yield
        self._into = into

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        into = self._into  # another thread may stop it meanwhile
        if event == "call" and into is not None and (file := self._file(frame.f_code)):
            into[file, frame.f_code.co_qualname] = None

    def _file(self, code: CodeType) -> Path | None:
        name = code.co_filename
        if name not in self._files:
            file = Path(name).resolve()
            self._files[name] = file if file.is_relative_to(ROOT / "react_mem") else None
        return self._files[name]


def run() -> dict[str, tuple[int, int]]:
    """Tell the stories and return the numbers of files and of functions of each."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, OpenAIServer() as model:
        for name in ("DATABASE_URL", "EMBEDDING_MODEL", "CHAT_MODEL", "MEMORY_ENCRYPTION_KEY", "REACT_MEM_AGENTS"):
            os.environ.pop(name, None)
        os.environ.update(
            OPENAI_BASE_URL=model.base_url, OPENAI_API_KEY="none", OPENAI_MODEL="scripted", REACT_MEM_DATA_DIR=folder
        )
        agent = Path(folder, "teller.yaml")
        agent.write_text(_AGENT, encoding="utf-8")
        os.chdir(folder)  # a .env of the project is not to be read
        try:
            crossed = asyncio.run(_tell(agent, model))
        finally:
            os.chdir(ROOT)
    return {story: (len({file for file, _ in calls}), len(calls)) for story, calls in crossed.items()}


async def _tell(file: Path, model: OpenAIServer) -> dict[str, dict[tuple[Path, str], None]]:
    trace = Trace()

    def answers(request: Request) -> Reply:
        if asking:
            trace.stop()
        return Reply(text="Noted.")

    asking = False
    model.add(lambda request: Reply(json=labelled(request.text, *_SAYS)), when=Match(schema=True), repeat=True)
    model.add(answers, repeat=True)
    async with open_agent(file) as agent, open_memory(store=agent.store) as memory:

        async def turn(text: str, thread: str) -> None:
            said: Any = {"messages": [{"role": "user", "content": text}]}
            await agent.ainvoke(said, config={"configurable": {"thread_id": thread}}, context={"user_id": "ann"})

        async def settle() -> None:
            until, waiting = time.monotonic() + 60, True
            while waiting and time.monotonic() < until:
                await asyncio.sleep(0.2)
                with trace.paused():
                    waiting = bool(await memory.pending("ann"))

        await turn("Hello there, I am allergic to peanuts.", "one")
        await turn("I live in Hue and I love tea.", "two")
        await settle()
        asking = True
        with trace.watching() as question:
            await turn("Where do I live, and what am I allergic to?", "three")
        asking = False
        await settle()
        with trace.watching() as message:
            await turn("I moved to Rome last week.", "four")
            await settle()
    async with open_memory() as memory:  # without a worker beside it
        facts = (await memory.page("ann", scopes=[MemoryScope.SEMANTIC], state="current")).items
        [rome] = [item for item in facts if "Rome" in item.text]
        with trace.watching() as forget:
            await memory.forget("ann", rome.id)
    return {"question": question, "message": message, "forget": forget}
