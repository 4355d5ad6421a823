"""Quality audit of a store: duplicates, contradictions, stale, secret and never recalled items, and growth."""
