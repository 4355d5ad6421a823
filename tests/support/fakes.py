"""Cheap stand-ins for what costs time and is not under test."""

from __future__ import annotations

import hashlib
import math
import re

from langchain_core.embeddings import Embeddings


class WordEmbeddings(Embeddings):
    """Texts that share words are near each other; the same everywhere and at once."""

    dims = 64

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = [0.0] * self.dims
        for word in re.findall(r"\w+", text.casefold()):
            vector[hashlib.sha256(word.encode()).digest()[0] % self.dims] += 1.0
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector] if length else [1.0, *vector[1:]]
