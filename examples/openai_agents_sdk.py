"""An agent of the OpenAI Agents SDK that remembers: `python openai_agents_sdk.py "I live in Hue."`.

Its session holds what is said in one run of this file; what earlier runs were told, its hooks bring.
"""

import asyncio
import os
import sys

import httpx

from agents import Agent, RunHooks, Runner, SQLiteSession, set_default_openai_api, set_tracing_disabled

set_default_openai_api("chat_completions")  # what every OpenAI-compatible server speaks
set_tracing_disabled(True)  # traces would go to OpenAI, with what is remembered
headers = {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"} if "MEMORY_TOKEN" in os.environ else {}
url = os.environ.get("MEMORY_URL", "http://127.0.0.1:2024")
memory = httpx.AsyncClient(base_url=f"{url}/memory/v1", headers=headers)


class Remembering(RunHooks):
    """Brings what is remembered for a message, and remembers what it says when it is answered."""

    async def on_agent_start(self, context, agent):
        asked = await memory.post("/context", json={"message": context.turn_input[-1]["content"]})
        context.context["retrieved"] = asked.raise_for_status().json()["retrieved"]

    async def on_agent_end(self, context, agent, output):
        told = await memory.post("/memories", json={"text": context.turn_input[-1]["content"]})
        if told.status_code != 422:  # a question or a request states nothing
            told.raise_for_status()


async def main(messages):
    agent = Agent(
        name="assistant",
        instructions=lambda run, agent: f"Answer briefly.\n{run.context['retrieved']}",
        model="gpt-4.1-mini",
    )
    session = SQLiteSession("conversation")
    for message in messages:
        result = await Runner.run(agent, message, session=session, hooks=Remembering(), context={})
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
