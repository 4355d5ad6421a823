"""An agent of CrewAI that remembers: `python crewai_agent.py "I live in Hue."`."""

import os
import sys

os.environ.setdefault("OPENAI_API_KEY", "unused")  # a server of your own may want none
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}  # read when it is imported

import httpx
from crewai import LLM, Agent

headers = {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"} if "MEMORY_TOKEN" in os.environ else {}
url = os.environ.get("MEMORY_URL", "http://127.0.0.1:2024")
memory = httpx.Client(base_url=f"{url}/memory/v1", headers=headers)
model = LLM(
    model=f"openai/{os.environ.get('OPENAI_MODEL', 'gpt-4.1-mini')}", base_url=os.environ.get("OPENAI_BASE_URL")
)


def ask(route, body):
    """Return what memory answers; nothing where it cannot, for that costs nobody an answer."""
    try:
        answer = memory.post(route, json=body)
        # a question or a request states nothing
        return {} if answer.status_code == 422 else answer.raise_for_status().json()
    except httpx.HTTPError as error:
        print(f"Without memory: {error}", file=sys.stderr)
        return {}


def answer(message: str) -> str:
    """Answer a message with what is remembered for it, and remember what it says."""
    known = ask("/context", {"message": message}).get("retrieved", "")
    agent = Agent(role="assistant", goal="Answer briefly.", backstory=known or "You know nothing yet.", llm=model)
    said = str(agent.kickoff(message).raw)
    ask("/memories", {"text": message})
    return said


if __name__ == "__main__":
    print(answer(sys.argv[1]) if sys.argv[1:] else __doc__)
