"""Learning from experience: repeated success becomes a skill, repeated failure a lesson, and use is evaluated.

`Learning` runs behind the turns; `record_turn` logs the outcome of a turn and of its skills.
"""
