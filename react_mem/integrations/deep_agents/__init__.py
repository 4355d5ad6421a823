"""Memory for Deep Agents: a backend whose files are memories, and what its agents find in them."""
