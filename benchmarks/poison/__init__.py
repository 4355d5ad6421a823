"""Memory poisoning: strangers try to teach memory, or make it forget: `python -m benchmarks.poison`."""
