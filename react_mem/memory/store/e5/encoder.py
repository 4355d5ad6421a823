"""The model in ONNX Runtime: the vectors of texts, one at a time."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from react_mem.memory.store.e5.stored_weights import Floats, PackedWeights, in_eight_bits
from react_mem.memory.store.e5.word_pieces import PieceTokenizer

_GRAPH_FILE = Path(__file__).with_name("encoder.onnx")
_MOST_THREADS = 4
"""Cores for one text: with more, they wait for each other longer than what is left to do takes."""
_MATRICES = {"qkv": ("q", "k", "v"), "ao": ("ao",), "fi": ("fi",), "fo": ("fo",)}
"""The matrices of a layer in the graph, and what each is made of: those of one input are multiplied at once."""


class OnnxEncoder:
    """Computes vectors of texts, one at a time.

    A text alone: several at once save a third of the time of texts of a few words, nothing of longer ones, and who asks
    a question would wait for all of them.

    Args:
        weights: The packed model.
        session: Its graph in ONNX Runtime; see `open_session`.
    """

    def __init__(self, weights: PackedWeights, session: Any) -> None:
        self._weights = weights
        self._session = session
        self._tokenizer = PieceTokenizer(weights.vocabulary)
        self._places = weights.numbers("emb.pos").reshape(-1, weights.width)
        self._kind = weights.numbers("emb.type")[: weights.width]

    def encode(self, text: str, is_query: bool) -> list[float]:
        """Return the vector of a text, of length 1.

        Args:
            text: The text, without NUL and lone surrogates.
            is_query: Whether it is searched for, or is searched.
        """
        ids = self._tokenizer.ids(("query: " if is_query else "passage: ") + text)
        # what is longer than the model reads is read in parts, each of which counts by its length
        step = self._weights.window - 2
        parts = [ids[start : start + step] for start in range(0, len(ids), step)]
        vector = np.sum([len(part) * self._mean(part) for part in parts], axis=0)
        found: list[float] = (vector / max(float(np.linalg.norm(vector)), 1e-12)).tolist()
        return found

    def _mean(self, ids: list[int]) -> Floats:
        vocabulary = self._weights.vocabulary
        tokens = self._weights.word_vectors([vocabulary.begin, *ids, vocabulary.end])
        tokens += self._places[: len(tokens)]
        tokens += self._kind
        mean: Floats = self._session.run(["mean"], {"tokens": tokens[np.newaxis]})[0][0]
        return mean


def open_session(weights: PackedWeights, graph: bytes | None = None, *, in_floats: bool = False) -> Any:
    """Load the graph.

    Args:
        weights: The packed model.
        graph: The graph, in which the weights are named; by default the one that is shipped, of whole numbers.
        in_floats: Whether the graph's matrices are of floats.

    Returns:
        The session.

    Raises:
        ImportError: If ONNX Runtime is not installed.
        Exception: Whatever else ONNX Runtime raises where it cannot load the graph.
    """
    runtime: Any = importlib.import_module("onnxruntime")  # it declares nothing for who checks types
    options = runtime.SessionOptions()
    options.intra_op_num_threads = min(_MOST_THREADS, _cores())
    # threads that wait by spinning take the cores from those that work
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False  # it keeps what it once needed, and is no faster
    options.log_severity_level = 3  # what it warns of is not for who uses the memory
    given = dict(_given(weights, in_floats))
    values = [runtime.OrtValue.ortvalue_from_numpy(value) for value in given.values()]
    options.add_external_initializers(list(given), values)
    source = graph if graph is not None else _GRAPH_FILE.read_bytes()
    return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _cores() -> int:
    # what a container may use, where the system tells
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _given(weights: PackedWeights, in_floats: bool) -> Iterator[tuple[str, Any]]:
    """Yield the weights by the names that they have in the graph."""
    for name in ("emb.ln.w", "emb.ln.b"):
        yield name, weights.numbers(name)
    for layer in (f"l{number}" for number in range(weights.layers)):
        for name, parts in _MATRICES.items():
            rows = weights.inner if name == "fi" else weights.width
            matrix = weights.matrix([f"{layer}.{part}.w" for part in parts], rows)
            if in_floats:
                yield f"{layer}.{name}.w", matrix
            else:
                whole, scales = in_eight_bits(matrix)
                yield f"{layer}.{name}.w", whole
                yield f"{layer}.{name}.scales", scales
            yield f"{layer}.{name}.b", np.concatenate([weights.numbers(f"{layer}.{part}.b") for part in parts])
        for name in ("aln.w", "aln.b", "oln.w", "oln.b"):
            yield f"{layer}.{name}", weights.numbers(f"{layer}.{name}")
