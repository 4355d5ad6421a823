"""The life of a turn: it is opened, closed, read by a model, and what holds of it becomes records."""
