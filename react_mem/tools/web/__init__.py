"""Searching the web: engines, pages as text, what may leave the house."""
