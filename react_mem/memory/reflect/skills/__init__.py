"""Learning from experience: what repeatedly worked becomes skills, what failed lessons, and what is used is judged.

`Learning` runs behind the turns; `record_turn` logs what became of a turn in which skills were offered.
"""
