"""A small invented data set in LoCoMo's layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def sample() -> dict[str, Any]:
    """Return two people's conversation, with questions good and bad."""
    return {
        "sample_id": "kayak",
        "conversation": {
            "speaker_a": "Mira",
            "speaker_b": "Tom",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Mira", "dia_id": "D1:1", "text": "I bought a red kayak."},
                {"speaker": "Tom", "dia_id": "D1:2", "text": "Look at this!", "blip_caption": "a loaf on a table"},
            ],
            "session_2_date_time": "9:00 am on 9 June, 2023",
            "session_2": [
                {"speaker": "Tom", "dia_id": "D2:1", "text": "How was the river?"},
                {"speaker": "Mira", "dia_id": "D2:2", "text": "Cold and fast."},
            ],
            "session_3_date_time": "9:00 am on 9 July, 2023",
            "session_3": [],
        },
        "qa": [
            {"question": "red kayak bought", "evidence": ["D1:1"], "category": 4},
            {"question": "river cold loaf", "evidence": ["D1:02; D2:2", "D9:9"], "category": 1},
            {"question": "no id", "evidence": ["D", "D:1:1"], "category": 3},
            {"question": "no such turn", "evidence": ["D7:1"], "category": 2},
            {"question": "never said", "evidence": ["D1:1"], "category": 5},
        ],
    }


def write(file: Path, *samples: dict[str, Any]) -> Path:
    """Write samples as a data set."""
    file.write_text(json.dumps(samples), encoding="utf-8")
    return file
