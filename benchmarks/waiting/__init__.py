"""Waiting time for memory: see `python -m benchmarks.waiting --help`."""
