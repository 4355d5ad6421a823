"""Reflection behind the turns: knowledge, skills, tasks, deduplication and entity resolution."""
