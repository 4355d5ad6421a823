"""A small invented data set in BEAM's layout."""

from __future__ import annotations

from typing import Any

ANSWER = "Of course: Kyoto, on the train at nine, and I noted no fish for dinner. " + "There is more to see. " * 60


def sample() -> dict[str, Any]:
    """Return a user's chat with an assistant, with questions good and bad."""
    return {
        "sample_id": "1",
        "sessions": [
            {
                "date": "2024-03-15",
                "turns": [
                    {
                        "id": 0,
                        "role": "user",
                        "text": "Always list trains with their platform when I ask about travel.",
                    },
                    {"id": 1, "role": "assistant", "text": "I will name the platform of every train."},
                ],
            },
            {
                "date": "2024-04-02",
                "turns": [
                    {"id": 2, "role": "user", "text": "Can you plan a day in Kyoto without fish?"},
                    {"id": 3, "role": "assistant", "text": ANSWER},
                ],
            },
        ],
        "qa": [
            _question("Which trains go to Osaka?", "instruction_following", ["0"]),
            _question("In what order did I plan travel and Kyoto?", "event_ordering", ["0", 2, "77"]),
            _question("Which turn is that?", "summarization", ["77"]),
            _question("How tall is my brother?", "abstention", []),
        ],
    }


def _question(text: str, kind: str, evidence: list[Any]) -> dict[str, Any]:
    return {"question": text, "type": kind, "evidence": evidence, "answer": ""}
