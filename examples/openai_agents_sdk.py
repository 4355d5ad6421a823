"""An agent of the OpenAI Agents SDK that remembers: `python openai_agents_sdk.py "I live in Hue."`.

Its session, a new one with each run of this file, is kept in the user's memory; what earlier ones had, its hooks bring.
"""

import asyncio
import os
import sys
import uuid

import httpx

from agents import Agent, RunHooks, Runner, set_default_openai_api, set_tracing_disabled

set_default_openai_api("chat_completions")  # what every OpenAI-compatible server speaks
set_tracing_disabled(True)  # traces would go to OpenAI, with what is remembered
headers = {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"} if "MEMORY_TOKEN" in os.environ else {}
url = os.environ.get("MEMORY_URL", "http://127.0.0.1:2024")
memory = httpx.AsyncClient(base_url=f"{url}/memory/v1", headers=headers)


class Conversation:
    """A session of the SDK: what user and agent say in it is stored, and facts are drawn from it behind the answer."""

    session_settings = None

    def __init__(self, session_id):
        self.session_id, self.path = session_id, f"/conversations/{session_id}"

    async def _said(self):
        said, cursor = [], ""
        while cursor is not None:
            page = await memory.get(self.path, params={"limit": 200, "cursor": cursor})
            if page.status_code == 404:  # nothing is said yet
                return []
            messages = page.raise_for_status().json()["messages"]
            said, cursor = said + messages["items"], messages["next_cursor"]
        return said

    async def get_items(self, limit=None):
        said = [{"role": one["role"], "content": one["text"]} for one in await self._said()]
        return said[-limit:] if limit else said

    async def add_items(self, items):
        said = [(one["role"], text_of(one)) for one in items if one.get("role") in ("user", "assistant")]
        told = [{"role": role, "content": text, "id": uuid.uuid4().hex} for role, text in said if text.strip()]
        if told:  # calls of tools are of their run alone
            (await memory.post(f"{self.path}/messages", json={"messages": told})).raise_for_status()

    async def pop_item(self):
        for last in (await self._said())[-1:]:
            (await memory.delete(f"/memories/{last['id']}")).raise_for_status()
            return {"role": last["role"], "content": last["text"]}

    async def clear_session(self):
        if await self._said():
            (await memory.delete(self.path)).raise_for_status()


def text_of(item):
    content = item["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


class Remembering(RunHooks):
    """Brings what other conversations have for a message."""

    def __init__(self, session):
        self.session = session

    async def on_agent_start(self, context, agent):
        about = {"message": text_of(context.turn_input[-1]), "thread_id": self.session.session_id}
        asked = await memory.post("/context", json=about)
        context.context["retrieved"] = asked.raise_for_status().json()["retrieved"]


async def main(messages):
    agent = Agent(
        name="assistant",
        instructions=lambda run, agent: f"Answer briefly.\n{run.context['retrieved']}",
        model="gpt-4.1-mini",
    )
    session = Conversation(f"agents-sdk-{uuid.uuid4().hex}")
    for message in messages:
        result = await Runner.run(agent, message, session=session, hooks=Remembering(session), context={})
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
