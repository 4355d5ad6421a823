"""The parts of the memory layer that the runtime drives: turns, models, tasks, workers, storage.

Managers, the terminal, the server and tools take them from here; an application of your own needs `react_mem.memory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.llm.budget import Capabilities as Capabilities
    from react_mem.memory.llm.budget import capabilities_of as capabilities_of
    from react_mem.memory.llm.calls import Asker as Asker
    from react_mem.memory.llm.calls import ModelQuestion as ModelQuestion
    from react_mem.memory.llm.calls import limited as limited
    from react_mem.memory.maintenance.runner import AgentRunner as AgentRunner
    from react_mem.memory.maintenance.runner import MemoryHealth as MemoryHealth
    from react_mem.memory.maintenance.runner import check_health as check_health
    from react_mem.memory.maintenance.runner import maintain_all as maintain_all
    from react_mem.memory.maintenance.runner import retain_all as retain_all
    from react_mem.memory.maintenance.worker import AgentWork as AgentWork
    from react_mem.memory.maintenance.worker import Worker as Worker
    from react_mem.memory.merging.skill_life import withhold as withhold
    from react_mem.memory.model.external import ModelChoice as ModelChoice
    from react_mem.memory.model.external import ModelEndpoint as ModelEndpoint
    from react_mem.memory.model.external import in_place as in_place
    from react_mem.memory.model.identity import development_user as development_user
    from react_mem.memory.model.identity import is_nobodys as is_nobodys
    from react_mem.memory.model.identity import named as named
    from react_mem.memory.model.identity import switched_off as switched_off
    from react_mem.memory.model.identity import unfit as unfit
    from react_mem.memory.model.interface import OwnerId as OwnerId
    from react_mem.memory.model.kinds import searched_scopes as searched_scopes
    from react_mem.memory.model.namespaces import memory_namespace as memory_namespace
    from react_mem.memory.model.namespaces import terminal_namespace as terminal_namespace
    from react_mem.memory.model.policy import RetentionSettings as RetentionSettings
    from react_mem.memory.model.states import StepExperience as StepExperience
    from react_mem.memory.model.views import HiddenMemory as HiddenMemory
    from react_mem.memory.model.views import MemoryUsage as MemoryUsage
    from react_mem.memory.opening import Storage as Storage
    from react_mem.memory.opening import look_at as look_at
    from react_mem.memory.opening import open_storage as open_storage
    from react_mem.memory.opening import receipt_key as receipt_key
    from react_mem.memory.opening import refuse_unfit_store as refuse_unfit_store
    from react_mem.memory.reflect.skill_learner import kind_followed as kind_followed
    from react_mem.memory.reflect.skill_learner import record_turn as record_turn
    from react_mem.memory.reflect.turn_tasks import TaskNotes as TaskNotes
    from react_mem.memory.reflect.turn_tasks import TurnTasks as TurnTasks
    from react_mem.memory.rights.portability import own_records as own_records
    from react_mem.memory.rights.readable_export import render_export as render_export
    from react_mem.memory.rights.receipts import SignedReceipt as SignedReceipt
    from react_mem.memory.rights.saying import says as says
    from react_mem.memory.store.calibration import reference_questions as reference_questions
    from react_mem.memory.store.checkpointer import note_thread as note_thread
    from react_mem.memory.store.embedded import has_embedded_server as has_embedded_server
    from react_mem.memory.store.embeddings import embedding_of as embedding_of
    from react_mem.memory.store.embeddings import load_embedding_model as load_embedding_model
    from react_mem.memory.store.master_key import new_master_key as new_master_key
    from react_mem.memory.store.postgres_server import distribute as distribute
    from react_mem.memory.store.reembed import reembed as reembed
    from react_mem.memory.store.storage_settings import misspelt as misspelt
    from react_mem.memory.write.chat_summarizer import ChatSummarizer as ChatSummarizer
    from react_mem.memory.write.metering import Metering as Metering
    from react_mem.memory.write.remembering import ClientMessage as ClientMessage
    from react_mem.memory.write.remembering import StoredMessage as StoredMessage
    from react_mem.memory.write.remembering import remember as remember
    from react_mem.memory.write.remembering import store_told as store_told
    from react_mem.memory.write.summary_form import ChatSummary as ChatSummary
    from react_mem.memory.write.summary_form import ChatSummaryRequest as ChatSummaryRequest
    from react_mem.memory.write.turns import Turns as Turns
else:
    __getattr__, __dir__, __all__ = door(__name__)
