"""Prompt of a turn: question, memories, web pages and conversation, in one window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.context.assembly import Assembled as Assembled
    from react_mem.memory.context.assembly import assemble as assemble
    from react_mem.memory.context.dialogue import is_step as is_step
    from react_mem.memory.context.dialogue import render_pages as render_pages
    from react_mem.memory.context.dialogue import squeezed_text as squeezed_text
    from react_mem.memory.context.found_memory import labelled as labelled
    from react_mem.memory.context.found_memory import profile_lines as profile_lines
    from react_mem.memory.context.found_memory import render_line as render_line
    from react_mem.memory.context.found_memory import render_message as render_message
    from react_mem.memory.context.layout import Frame as Frame
    from react_mem.memory.context.layout import Layout as Layout
    from react_mem.memory.context.layout import followed_by as followed_by
    from react_mem.memory.context.layout import lay_out as lay_out
    from react_mem.memory.context.layout import paired_calls as paired_calls
    from react_mem.memory.context.layout import with_call_ids as with_call_ids
    from react_mem.memory.context.memories import render_memories as render_memories
    from react_mem.memory.index.entries import whole_text as whole_text
    from react_mem.memory.index.recall import is_over as is_over
    from react_mem.memory.llm.answers import block as block
    from react_mem.memory.llm.answers import fence as fence
    from react_mem.memory.llm.answers import flat as flat
    from react_mem.memory.llm.budget import Section as Section
    from react_mem.memory.llm.budget import Window as Window
    from react_mem.memory.llm.budget import count_tokens as count_tokens
    from react_mem.memory.llm.budget import tool_tokens as tool_tokens
    from react_mem.memory.llm.causes import without_secrets as without_secrets
    from react_mem.memory.merging.authors import added_in_run as added_in_run
    from react_mem.memory.merging.authors import from_tool as from_tool
    from react_mem.memory.merging.authors import is_delegated as is_delegated
    from react_mem.memory.merging.authors import is_users as is_users
    from react_mem.memory.merging.authors import running_tool as running_tool
    from react_mem.memory.merging.authors import without_authority as without_authority
    from react_mem.memory.merging.transcript import NOTICE as NOTICE
    from react_mem.memory.merging.transcript import PREAMBLE as PREAMBLE
    from react_mem.memory.merging.transcript import as_said as as_said
    from react_mem.memory.merging.transcript import derived_id as derived_id
    from react_mem.memory.merging.transcript import is_kept_out as is_kept_out
    from react_mem.memory.merging.transcript import kept_out as kept_out
    from react_mem.memory.merging.transcript import message_record_id as message_record_id
    from react_mem.memory.merging.transcript import text_of as text_of
    from react_mem.memory.merging.transcript import with_appended as with_appended
    from react_mem.memory.model.external import WebAnswer as WebAnswer
    from react_mem.memory.model.external import WebPage as WebPage
    from react_mem.memory.model.external import WebSettings as WebSettings
    from react_mem.memory.model.origins import LABELS as LABELS
else:
    __getattr__, __dir__, __all__ = door(__name__)
