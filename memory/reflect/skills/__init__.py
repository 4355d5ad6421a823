"""Learning from experience: what repeatedly worked becomes skills, what failed lessons, and what is used is judged.

`learn` runs behind the turns; `record_turn` logs what became of a turn in which skills were offered.
"""

from react_mem.memory.reflect.skills.learner import LearningReport, learn
from react_mem.memory.reflect.skills.outcomes import record_turn, use_of
from react_mem.memory.reflect.skills.proposals import Proposer

__all__ = ["LearningReport", "Proposer", "learn", "record_turn", "use_of"]
