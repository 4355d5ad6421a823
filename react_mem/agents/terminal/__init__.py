"""The terminal: the subcommands of `react-mem`, each imported when it first runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.agents.terminal.chat import run_chat as run_chat
    from react_mem.agents.terminal.context_view import run_context as run_context
    from react_mem.agents.terminal.database_command import run_database as run_database
    from react_mem.agents.terminal.database_command import run_keys as run_keys
    from react_mem.agents.terminal.database_command import run_maintain as run_maintain
    from react_mem.agents.terminal.database_command import run_worker as run_worker
    from react_mem.agents.terminal.demo import run_demo as run_demo
    from react_mem.agents.terminal.demo import run_new as run_new
    from react_mem.agents.terminal.doctor_command import refuse_nothing as refuse_nothing
    from react_mem.agents.terminal.doctor_command import run_doctor as run_doctor
    from react_mem.agents.terminal.doctor_command import run_users as run_users
    from react_mem.agents.terminal.import_command import run_import as run_import
    from react_mem.agents.terminal.import_command import run_mcp as run_mcp
    from react_mem.agents.terminal.import_command import run_skills as run_skills
    from react_mem.agents.terminal.memory import run_memory as run_memory
    from react_mem.agents.terminal.output import Terminal as Terminal
    from react_mem.agents.terminal.records_commands import run_audit as run_audit
    from react_mem.agents.terminal.records_commands import run_hold as run_hold
    from react_mem.agents.terminal.records_commands import run_receipt as run_receipt
    from react_mem.agents.terminal.records_commands import run_retention as run_retention
else:
    __getattr__, __dir__, __all__ = door(__name__)
