"""Learning from experience: repeated success becomes a skill, and its use is evaluated."""
