"""Imports: memories of other systems become an owner's own, each once, whatever is read again."""
