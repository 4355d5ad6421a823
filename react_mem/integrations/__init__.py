"""Integrations: importers, skill files, LangChain, Deep Agents, Acontext, MCP, hooks of coding agents and the page.

Each stands on the public doors alone, as an application would, and is imported at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.integrations.acontext import AcontextSessions as AcontextSessions
    from react_mem.integrations.acontext import AcontextSkills as AcontextSkills
    from react_mem.integrations.deep_agents.claude_memory import ClaudeMemoryMiddleware as ClaudeMemoryMiddleware
    from react_mem.integrations.deep_agents.files_backend import LearntSkillsBackend as LearntSkillsBackend
    from react_mem.integrations.deep_agents.files_backend import MemoryFilesBackend as MemoryFilesBackend
    from react_mem.integrations.deep_agents.search_middleware import FileSearchMiddleware as FileSearchMiddleware
    from react_mem.integrations.importers.as_records import ImportOutcome as ImportOutcome
    from react_mem.integrations.importers.as_records import ImportOwners as ImportOwners
    from react_mem.integrations.importers.import_memories import import_memories as import_memories
    from react_mem.integrations.langchain import MemoryChatHistory as MemoryChatHistory
    from react_mem.integrations.langchain import MemoryRetriever as MemoryRetriever
    from react_mem.integrations.quality import audit_quality as audit_quality
    from react_mem.integrations.skill_folders import export_skills as export_skills
    from react_mem.integrations.skill_folders import import_skills as import_skills
else:
    __getattr__, __dir__, __all__ = door(__name__)
