"""Records for integrations: their kinds, changes in one transaction, quotas, holds and audit.

The record classes are in `react_mem.memory`; an application of your own needs no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.adapters.middleware import run_blocking as run_blocking
    from react_mem.memory.language.folding import MAX_INDEXED_CHARS as MAX_INDEXED_CHARS
    from react_mem.memory.language.folding import fold as fold
    from react_mem.memory.language.folding import normalise as normalise
    from react_mem.memory.language.hedging import claim_of as claim_of
    from react_mem.memory.llm.causes import checked as checked
    from react_mem.memory.llm.causes import secret_finder as secret_finder
    from react_mem.memory.merging.authors import speaker_changes as speaker_changes
    from react_mem.memory.merging.blocks import said_content as said_content
    from react_mem.memory.merging.facts import fact_changes as fact_changes
    from react_mem.memory.merging.facts import load_facts as load_facts
    from react_mem.memory.merging.reconcile import revived as revived
    from react_mem.memory.merging.reconcile import succeeded as succeeded
    from react_mem.memory.model.files import AgentFile as AgentFile
    from react_mem.memory.model.kinds import KINDS as KINDS
    from react_mem.memory.model.kinds import kind_named as kind_named
    from react_mem.memory.model.kinds import origin_of as origin_of
    from react_mem.memory.model.namespaces import meta_namespace as meta_namespace
    from react_mem.memory.model.namespaces import read_yaml as read_yaml
    from react_mem.memory.model.operations import Change as Change
    from react_mem.memory.model.operations import delete as delete
    from react_mem.memory.model.operations import put as put
    from react_mem.memory.model.records import record_id as record_id
    from react_mem.memory.rights.holds import check_held as check_held
    from react_mem.memory.rights.portability import is_header as is_header
    from react_mem.memory.rights.portability import portions as portions
    from react_mem.memory.rights.portability import turns_to_read as turns_to_read
    from react_mem.memory.rights.readable_export import exported_lines as exported_lines
    from react_mem.memory.store.audit_log import AuditAction as AuditAction
    from react_mem.memory.store.audit_log import AuditActor as AuditActor
    from react_mem.memory.store.audit_log import AuditReason as AuditReason
    from react_mem.memory.store.audit_log import acting as acting
    from react_mem.memory.store.audit_log import note_action as note_action
    from react_mem.memory.store.capabilities import in_any_order as in_any_order
    from react_mem.memory.store.capabilities import read_all as read_all
    from react_mem.memory.store.pool import place_of as place_of
    from react_mem.memory.store.room import forget_count as forget_count
    from react_mem.memory.store.room import make_room as make_room
    from react_mem.memory.store.stored_text import storable as storable
    from react_mem.memory.store.transactions import transact as transact
else:
    __getattr__, __dir__, __all__ = door(__name__)
