"""An agent of the OpenAI Agents SDK that remembers: `python openai_agents_sdk.py "I live in Hue."`.

Its session, a new one with each run of this file, is kept in the user's memory; what earlier ones had, its hooks bring.
"""

import asyncio
import os
import sys
import uuid

import httpx

from agents import Agent, RunHooks, Runner, set_default_openai_api, set_tracing_disabled

os.environ.setdefault("OPENAI_API_KEY", "unused")  # a server of your own may want none
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
            page = await ask("GET", self.path, params={"limit": 200, "cursor": cursor})
            messages = page.get("messages", {"items": [], "next_cursor": None})
            said, cursor = said + messages["items"], messages["next_cursor"]
        return said

    async def get_items(self, limit=None):
        said = [{"role": one["role"], "content": one["text"]} for one in await self._said()]
        return said[-limit:] if limit else said

    async def add_items(self, items):
        said = [(one["role"], text_of(one)) for one in items if one.get("role") in ("user", "assistant")]
        told = [{"role": role, "content": text, "id": uuid.uuid4().hex} for role, text in said if text.strip()]
        if told:  # calls of tools are of their run alone
            await ask("POST", f"{self.path}/messages", json={"messages": told})

    async def pop_item(self):
        for last in (await self._said())[-1:]:
            await ask("DELETE", f"/memories/{last['id']}")
            return {"role": last["role"], "content": last["text"]}

    async def clear_session(self):
        if await self._said():
            await ask("DELETE", self.path)


class Remembering(RunHooks):
    """Brings what other conversations have for a message."""

    def __init__(self, session):
        self.session = session

    async def on_agent_start(self, context, agent):
        about = {"message": text_of(context.turn_input[-1]), "thread_id": self.session.session_id}
        context.context["retrieved"] = (await ask("POST", "/context", json=about)).get("retrieved", "")


def text_of(item):
    content = item["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


async def ask(method, path, **request):
    """Return what memory answers; nothing where it cannot, for that costs nobody an answer."""
    try:
        answer = await memory.request(method, path, **request)
        # 404: nothing is said yet in the conversation
        return {} if answer.status_code == 404 else answer.raise_for_status().json()
    except httpx.HTTPError as error:
        print(f"Without memory: {error}", file=sys.stderr)
        return {}


async def main(messages):
    agent = Agent(
        name="assistant",
        instructions=lambda run, agent: f"Answer briefly.\n{run.context['retrieved']}",
        model=os.environ.get("OPENAI_MODEL", "gpt-4.1-mini"),
    )
    session = Conversation(f"agents-sdk-{uuid.uuid4().hex}")
    for message in messages:
        result = await Runner.run(agent, message, session=session, hooks=Remembering(session), context={})
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:])) if sys.argv[1:] else print(__doc__)
