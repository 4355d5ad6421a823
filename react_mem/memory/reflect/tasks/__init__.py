"""Tasks of several steps: planned by a small model, checked, stored, and shown to the agent in a few lines."""
