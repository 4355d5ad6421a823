"""Checks, by what they are about. Each takes a store, and a namespace that nobody else writes to."""
