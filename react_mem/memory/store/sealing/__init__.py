"""Sealing of what the database holds: values, ids, words and vectors, which only an owner's key opens."""
