"""Audit of what a store holds: duplicates, contradictions, what is stale, secret or never recalled, and growth."""
