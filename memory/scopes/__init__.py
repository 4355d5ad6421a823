"""The seven scopes of memory, one store each."""

from memory.scopes.dialog import DialogContext, DialogMemoryStore
from memory.scopes.episodic import EpisodicMemoryStore
from memory.scopes.experience import ExperienceMemoryStore, steps_to_experience
from memory.scopes.procedural import ProceduralMemoryStore
from memory.scopes.profile import ProfileMemoryStore, ProfileUpdate
from memory.scopes.scope import ScopeStore
from memory.scopes.semantic import SemanticMemoryStore
from memory.scopes.state import StateMemoryStore

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
