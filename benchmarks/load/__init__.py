"""Many users at once: see `python -m benchmarks.load --help`."""
