"""Encryption at rest of an owner's rows: values, ids, words and vectors, sealed with the owner's data keys."""
