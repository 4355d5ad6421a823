"""Whether anybody but the user can teach memory something, or make it forget: `python -m benchmarks.poison`."""
