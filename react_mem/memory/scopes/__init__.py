"""The seven scopes of memory, one store each."""

from react_mem.memory.scopes.dialog import DialogContext, DialogMemoryStore
from react_mem.memory.scopes.episodic import EpisodicMemoryStore
from react_mem.memory.scopes.experience import ExperienceMemoryStore, steps_to_experience
from react_mem.memory.scopes.procedural import ProceduralMemoryStore
from react_mem.memory.scopes.profile import ProfileMemoryStore, ProfileUpdate
from react_mem.memory.scopes.scope import ScopeStore
from react_mem.memory.scopes.semantic import SemanticMemoryStore
from react_mem.memory.scopes.state import StateMemoryStore

__all__ = [
    "DialogContext",
    "DialogMemoryStore",
    "EpisodicMemoryStore",
    "ExperienceMemoryStore",
    "ProceduralMemoryStore",
    "ProfileMemoryStore",
    "ProfileUpdate",
    "ScopeStore",
    "SemanticMemoryStore",
    "StateMemoryStore",
    "steps_to_experience",
]
