"""Time that users wait for memory: see `python -m benchmarks.waiting --help`."""
