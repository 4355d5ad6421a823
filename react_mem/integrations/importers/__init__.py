"""Importers of other systems: each source is a function from its files to neutral entries."""
