"""One conversation of 500 turns: tokens of each turn, and recall of early details."""
