"""One conversation of 500 turns: what each turn costs in tokens, and whether what was said long ago is still known."""
