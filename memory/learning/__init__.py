"""Learning from experience: what repeatedly worked becomes skills, what failed lessons, and what is used is judged.

`learn` runs behind the turns; `record_turn` logs what became of a turn in which skills were offered.
"""

from react_mem.memory.learning.learner import LearningReport, learn
from react_mem.memory.learning.outcomes import record_turn, use_of
from react_mem.memory.learning.proposals import Proposer

__all__ = ["LearningReport", "Proposer", "learn", "record_turn", "use_of"]
