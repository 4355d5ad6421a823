"""What learning brings: a simulated world of tools, with skills and without."""
