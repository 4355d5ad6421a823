"""Effect of learning: a simulated world of tools, with skills and without."""
