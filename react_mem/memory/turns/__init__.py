"""Turns for surfaces of your own: speakers, messages, and the memory for a prompt in words.

Beside `react_mem.memory`, for integrations that stand in for an agent, such as hooks and servers of other protocols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.context.assembly import Assembled as Assembled
    from react_mem.memory.context.assembly import assemble as assemble
    from react_mem.memory.context.found_memory import MAX_LINE_CHARS as MAX_LINE_CHARS
    from react_mem.memory.context.found_memory import BriefingEntry as BriefingEntry
    from react_mem.memory.context.found_memory import BriefingPart as BriefingPart
    from react_mem.memory.context.found_memory import briefing as briefing
    from react_mem.memory.context.found_memory import labelled as labelled
    from react_mem.memory.context.found_memory import profile_lines as profile_lines
    from react_mem.memory.context.found_memory import render_beginning as render_beginning
    from react_mem.memory.context.found_memory import render_line as render_line
    from react_mem.memory.context.layout import Frame as Frame
    from react_mem.memory.index.entries import whole_text as whole_text
    from react_mem.memory.language import standing_in as standing_in
    from react_mem.memory.llm.answers import block as block
    from react_mem.memory.llm.answers import fence as fence
    from react_mem.memory.llm.answers import flat as flat
    from react_mem.memory.llm.budget import Section as Section
    from react_mem.memory.llm.budget import Window as Window
    from react_mem.memory.llm.budget import count_tokens as count_tokens
    from react_mem.memory.llm.causes import cause_for_clients as cause_for_clients
    from react_mem.memory.llm.causes import cause_of as cause_of
    from react_mem.memory.llm.causes import for_clients as for_clients
    from react_mem.memory.llm.causes import scrub as scrub
    from react_mem.memory.llm.causes import trace_of as trace_of
    from react_mem.memory.maintenance.runner import conclude_soon as conclude_soon
    from react_mem.memory.merging.transcript import text_of as text_of
    from react_mem.memory.model.identity import CLIENT_SESSION as CLIENT_SESSION
    from react_mem.memory.model.identity import Identity as Identity
    from react_mem.memory.model.identity import identify as identify
    from react_mem.memory.model.identity import why_off as why_off
    from react_mem.memory.model.origins import LABELS as LABELS
    from react_mem.memory.write.by_agent import ToolMemory as ToolMemory
    from react_mem.memory.write.by_agent import Unclear as Unclear
    from react_mem.memory.write.lifecycle import AgentMemory as AgentMemory
    from react_mem.memory.write.lifecycle import Recalled as Recalled
    from react_mem.memory.write.lifecycle import TurnMemory as TurnMemory
    from react_mem.memory.write.remembering import ToldRole as ToldRole
    from react_mem.memory.write.remembering import placed_name as placed_name
    from react_mem.memory.write.remembering import placed_thread as placed_thread
    from react_mem.memory.write.remembering import words_key as words_key
else:
    __getattr__, __dir__, __all__ = door(__name__)
