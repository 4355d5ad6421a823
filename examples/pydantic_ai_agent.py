"""An agent of Pydantic AI that remembers: `python pydantic_ai_agent.py "I live in Hue."`."""

import os
import sys

import httpx
from pydantic_ai import Agent, RunContext

headers = {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"} if "MEMORY_TOKEN" in os.environ else {}
url = os.environ.get("MEMORY_URL", "http://127.0.0.1:2024")
memory = httpx.Client(base_url=f"{url}/memory/v1", headers=headers)
agent = Agent("openai-chat:gpt-4.1-mini", instructions="Answer briefly.")


@agent.instructions
def what_is_known(context: RunContext) -> str:
    """Return what is remembered for the message of this run."""
    return memory.post("/context", json={"message": str(context.prompt)}).raise_for_status().json()["retrieved"]


def answer(message: str) -> str:
    """Answer a message with what is remembered for it, and remember what it says."""
    said = agent.run_sync(message).output
    told = memory.post("/memories", json={"text": message})
    if told.status_code != 422:  # a question or a request states nothing
        told.raise_for_status()
    return said


if __name__ == "__main__":
    print(answer(sys.argv[1]))
