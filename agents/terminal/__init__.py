"""The agent in a terminal: a demonstration, and a conversation that goes on across processes."""
