"""Benchmarks of the project, each beside its peers and in one run: `python -m benchmarks.NAME --json OUT`."""
