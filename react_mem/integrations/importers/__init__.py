"""Imports from other systems: one module a source, each turning files or a store into neutral entries."""
