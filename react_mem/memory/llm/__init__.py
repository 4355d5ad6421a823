"""Calls of a model: schema, fenced data, limits, parsing of the answer, and errors."""
