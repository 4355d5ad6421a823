"""Memory poisoning: others than the user try to teach memory, or make it forget: `python -m benchmarks.poison`."""
