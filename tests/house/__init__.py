"""The size of the product, room by room, and the files that one message, one question and one deletion cross.

`make house` prints both and writes the table of `CONTRIBUTING.md`. Budgets stand in `pyproject.toml`.
"""
