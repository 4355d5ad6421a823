"""An agent of CrewAI that remembers: `python crewai_agent.py "I live in Hue."`."""

import os
import sys

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}  # read when it is imported

import httpx
from crewai import LLM, Agent

headers = {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"} if "MEMORY_TOKEN" in os.environ else {}
url = os.environ.get("MEMORY_URL", "http://127.0.0.1:2024")
memory = httpx.Client(base_url=f"{url}/memory/v1", headers=headers)
model = LLM(model="openai/gpt-4.1-mini", base_url=os.environ.get("OPENAI_BASE_URL"))


def answer(message: str) -> str:
    """Answer a message with what is remembered for it, and remember what it says."""
    known = memory.post("/context", json={"message": message}).raise_for_status().json()["retrieved"]
    agent = Agent(role="assistant", goal="Answer briefly.", backstory=known or "You know nothing yet.", llm=model)
    said = str(agent.kickoff(message).raw)
    told = memory.post("/memories", json={"text": message})
    if told.status_code != 422:  # a question or a request states nothing
        told.raise_for_status()
    return said


if __name__ == "__main__":
    print(answer(sys.argv[1]))
