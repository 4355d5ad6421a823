"""Asking a model: the call, its schema, data behind fences, bounds, reading what it answers, and errors."""
