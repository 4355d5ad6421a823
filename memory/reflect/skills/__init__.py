"""Learning from experience: what repeatedly worked becomes skills, what failed lessons, and what is used is judged.

`Learning` runs behind the turns; `record_turn` logs what became of a turn in which skills were offered.
"""

from react_mem.memory.reflect.skills.learner import Learning
from react_mem.memory.reflect.skills.outcomes import record_turn

__all__ = ["Learning", "record_turn"]
