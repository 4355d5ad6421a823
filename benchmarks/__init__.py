"""What the project is measured by, each beside its peers and in one run: `python -m benchmarks.NAME --json OUT`."""
