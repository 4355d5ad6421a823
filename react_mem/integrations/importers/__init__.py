"""Importers of other systems: a function from files to neutral entries for each."""
