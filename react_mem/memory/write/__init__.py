"""Life of a turn: opening, closing, extraction by a model, and writes of the supported results."""
