"""An agent of the OpenAI Agents SDK that remembers: `python openai_agents_sdk.py "I live in Hue."`."""

import os
import sys

import httpx

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled

set_default_openai_api("chat_completions")  # what every OpenAI-compatible server speaks
set_tracing_disabled(True)  # traces would go to OpenAI, with what is remembered
headers = {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"} if "MEMORY_TOKEN" in os.environ else {}
memory = httpx.Client(base_url=os.environ.get("MEMORY_URL", "http://127.0.0.1:2024/memory/v1"), headers=headers)


def answer(message: str) -> str:
    """Answer a message with what is remembered for it, and remember what it says."""
    parts = memory.post("/context", json={"message": message}).raise_for_status().json()["parts"]
    known = "\n".join(part["text"] for part in parts if part["place"] == "memory")
    agent = Agent(name="assistant", instructions=f"Answer briefly.\n{known}", model="gpt-4.1-mini")
    said = str(Runner.run_sync(agent, message).final_output)
    told = memory.post("/memories", json={"text": message})
    if told.status_code != 422:  # a question or a request states nothing
        told.raise_for_status()
    return said


if __name__ == "__main__":
    print(answer(sys.argv[1]))
