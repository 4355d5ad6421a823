"""Reflection behind the turns: knowledge, skills and tasks are drawn from memories, and duplicate facts found."""
