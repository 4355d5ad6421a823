"""An agent of Pydantic AI that remembers: `python pydantic_ai_agent.py "I live in Hue."`."""

import os
import sys

import httpx
from pydantic_ai import Agent, RunContext

os.environ.setdefault("OPENAI_API_KEY", "unused")  # a server of your own may want none
headers = {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"} if "MEMORY_TOKEN" in os.environ else {}
url = os.environ.get("MEMORY_URL", "http://127.0.0.1:2024")
memory = httpx.Client(base_url=f"{url}/memory/v1", headers=headers)
agent = Agent(f"openai-chat:{os.environ.get('OPENAI_MODEL', 'gpt-4.1-mini')}", instructions="Answer briefly.")


def ask(route, body):
    """Return what memory answers; nothing where it cannot, for that costs nobody an answer."""
    try:
        answer = memory.post(route, json=body)
        # a question or a request states nothing
        return {} if answer.status_code == 422 else answer.raise_for_status().json()
    except httpx.HTTPError as error:
        print(f"Without memory: {error}", file=sys.stderr)
        return {}


@agent.instructions
def what_is_known(context: RunContext) -> str:
    """Return what is remembered for the message of this run."""
    return ask("/context", {"message": str(context.prompt)}).get("retrieved", "")


def answer(message: str) -> str:
    """Answer a message with what is remembered for it, and remember what it says."""
    said = agent.run_sync(message).output
    ask("/memories", {"text": message})
    return said


if __name__ == "__main__":
    print(answer(sys.argv[1]) if sys.argv[1:] else __doc__)
