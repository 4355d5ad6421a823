"""Whether what is written is written once, updates what it contradicts, and invents nothing.

Run it as `python -m benchmarks.writing`.
"""
