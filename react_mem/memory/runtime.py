"""The parts of the memory layer that the runtime drives: turns, models, tasks, workers, storage.

Managers, the terminal, the server and tools take them from here; an application of your own needs `react_mem.memory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.graph.export import Graph as Graph
    from react_mem.memory.graph.export import to_html as to_html
    from react_mem.memory.graph.export import to_json as to_json
    from react_mem.memory.llm.answers import object_schema as object_schema
    from react_mem.memory.llm.asking import Asker as Asker
    from react_mem.memory.llm.asking import ModelQuestion as ModelQuestion
    from react_mem.memory.llm.budget import Capabilities as Capabilities
    from react_mem.memory.llm.budget import capabilities_of as capabilities_of
    from react_mem.memory.llm.calls import ask_in_turn as ask_in_turn
    from react_mem.memory.llm.calls import limited as limited
    from react_mem.memory.llm.calls import say as say
    from react_mem.memory.llm.calls import without_retries as without_retries
    from react_mem.memory.llm.causes import without_secrets as without_secrets
    from react_mem.memory.maintenance.agent import CLOSING_SECONDS as CLOSING_SECONDS
    from react_mem.memory.maintenance.agent import AgentWork as AgentWork
    from react_mem.memory.maintenance.everything import MemoryHealth as MemoryHealth
    from react_mem.memory.maintenance.everything import check_health as check_health
    from react_mem.memory.maintenance.everything import maintain_all as maintain_all
    from react_mem.memory.maintenance.everything import retain_all as retain_all
    from react_mem.memory.maintenance.reflecting import Reflecting as Reflecting
    from react_mem.memory.maintenance.runner import AgentRunner as AgentRunner
    from react_mem.memory.maintenance.worker import Worker as Worker
    from react_mem.memory.merging.skill_life import withhold as withhold
    from react_mem.memory.model.external import ModelChoice as ModelChoice
    from react_mem.memory.model.external import ModelEndpoint as ModelEndpoint
    from react_mem.memory.model.identity import authenticates as authenticates
    from react_mem.memory.model.identity import development_user as development_user
    from react_mem.memory.model.identity import is_development as is_development
    from react_mem.memory.model.identity import is_loopback as is_loopback
    from react_mem.memory.model.identity import is_nobodys as is_nobodys
    from react_mem.memory.model.identity import named as named
    from react_mem.memory.model.identity import refuse_exposed_server as refuse_exposed_server
    from react_mem.memory.model.identity import switched_off as switched_off
    from react_mem.memory.model.identity import unfit as unfit
    from react_mem.memory.model.interface import OwnerId as OwnerId
    from react_mem.memory.model.kinds import CONVERSATION as CONVERSATION
    from react_mem.memory.model.kinds import DOCUMENT as DOCUMENT
    from react_mem.memory.model.kinds import EXPERIENCE as EXPERIENCE
    from react_mem.memory.model.kinds import FACT as FACT
    from react_mem.memory.model.kinds import MESSAGE as MESSAGE
    from react_mem.memory.model.kinds import PROFILE as PROFILE
    from react_mem.memory.model.kinds import SUMMARY as SUMMARY
    from react_mem.memory.model.kinds import searched_scopes as searched_scopes
    from react_mem.memory.model.kinds import title_of as title_of
    from react_mem.memory.model.namespaces import BoundedLoader as BoundedLoader
    from react_mem.memory.model.namespaces import encode as encode
    from react_mem.memory.model.namespaces import memory_namespace as memory_namespace
    from react_mem.memory.model.namespaces import terminal_namespace as terminal_namespace
    from react_mem.memory.model.policy import ContextSettings as ContextSettings
    from react_mem.memory.model.records import now as now
    from react_mem.memory.model.records import with_zone as with_zone
    from react_mem.memory.model.retention_settings import RetentionSettings as RetentionSettings
    from react_mem.memory.model.setting_names import in_place as in_place
    from react_mem.memory.model.shown import MemoryPage as MemoryPage
    from react_mem.memory.model.skills import StepExperience as StepExperience
    from react_mem.memory.opening import open_storage as open_storage
    from react_mem.memory.opening import refuse_unaudited as refuse_unaudited
    from react_mem.memory.opening import refuse_unsealed as refuse_unsealed
    from react_mem.memory.reflect.skills.outcomes import kind_followed as kind_followed
    from react_mem.memory.reflect.skills.outcomes import record_turn as record_turn
    from react_mem.memory.reflect.tasks.turn_tasks import TASK_TOKENS as TASK_TOKENS
    from react_mem.memory.reflect.tasks.turn_tasks import TaskNotes as TaskNotes
    from react_mem.memory.reflect.tasks.turn_tasks import TurnTasks as TurnTasks
    from react_mem.memory.reflect.tasks.turn_tasks import taken_steps as taken_steps
    from react_mem.memory.rights.conversations_shown import AnswerSources as AnswerSources
    from react_mem.memory.rights.conversations_shown import ConversationDetail as ConversationDetail
    from react_mem.memory.rights.conversations_shown import ConversationPage as ConversationPage
    from react_mem.memory.rights.hidden import HiddenMemory as HiddenMemory
    from react_mem.memory.rights.holdings_shown import MemoryUsage as MemoryUsage
    from react_mem.memory.rights.holdings_shown import OwnersProfile as OwnersProfile
    from react_mem.memory.rights.holdings_shown import ShownGraph as ShownGraph
    from react_mem.memory.rights.holdings_shown import SkillList as SkillList
    from react_mem.memory.rights.holdings_shown import WaitingTurns as WaitingTurns
    from react_mem.memory.rights.holdings_shown import count_usage as count_usage
    from react_mem.memory.rights.holdings_shown import list_skills as list_skills
    from react_mem.memory.rights.holdings_shown import list_waiting as list_waiting
    from react_mem.memory.rights.holdings_shown import show_graph as show_graph
    from react_mem.memory.rights.holdings_shown import show_profile as show_profile
    from react_mem.memory.rights.holds import all_holds as all_holds
    from react_mem.memory.rights.holds import refuse_held as refuse_held
    from react_mem.memory.rights.portability import own_records as own_records
    from react_mem.memory.rights.readable_export import markdown_export as markdown_export
    from react_mem.memory.rights.readable_export import readable_export as readable_export
    from react_mem.memory.rights.receipts import SignedReceipt as SignedReceipt
    from react_mem.memory.rights.receipts import public_half as public_half
    from react_mem.memory.rights.receipts import public_key as public_key
    from react_mem.memory.rights.retention import in_words as in_words
    from react_mem.memory.rights.saying import says as says
    from react_mem.memory.rights.showing import MAX_PAGE as MAX_PAGE
    from react_mem.memory.store.audit.audit_log import AuditHead as AuditHead
    from react_mem.memory.store.audit.audit_log import AuditLog as AuditLog
    from react_mem.memory.store.calibration import reference_questions as reference_questions
    from react_mem.memory.store.distribute import distribute as distribute
    from react_mem.memory.store.embedded import has_cluster as has_cluster
    from react_mem.memory.store.embedded import has_embedded_server as has_embedded_server
    from react_mem.memory.store.embeddings import embedding_of as embedding_of
    from react_mem.memory.store.embeddings import load_embedding_model as load_embedding_model
    from react_mem.memory.store.embeddings import means_same_embedding as means_same_embedding
    from react_mem.memory.store.keys.key_ring import KeyRing as KeyRing
    from react_mem.memory.store.keys.key_ring import key_counts as key_counts
    from react_mem.memory.store.keys.key_ring import rewrap as rewrap
    from react_mem.memory.store.keys.master_key import new_master_key as new_master_key
    from react_mem.memory.store.migrations import stored_embedding as stored_embedding
    from react_mem.memory.store.postgres import MemoryStore as MemoryStore
    from react_mem.memory.store.postgres_server import connected as connected
    from react_mem.memory.store.reembed import reembed as reembed
    from react_mem.memory.store.sealing.resealing import begin_rotation as begin_rotation
    from react_mem.memory.store.sealing.resealing import end_rotation as end_rotation
    from react_mem.memory.store.sealing.resealing import renew_all as renew_all
    from react_mem.memory.store.sealing.resealing import reseal as reseal
    from react_mem.memory.store.statistics import Holder as Holder
    from react_mem.memory.store.statistics import holders as holders
    from react_mem.memory.store.statistics import server_of as server_of
    from react_mem.memory.store.thread_owners import note_thread as note_thread
    from react_mem.memory.store.transactions import WriteConflict as WriteConflict
    from react_mem.memory.store.variable_names import misspelt as misspelt
    from react_mem.memory.write.chain import Unfolded as Unfolded
    from react_mem.memory.write.chat_summary.summarizer import ChatSummarizer as ChatSummarizer
    from react_mem.memory.write.chat_summary.summary_form import ChatSummary as ChatSummary
    from react_mem.memory.write.chat_summary.summary_form import ChatSummaryRequest as ChatSummaryRequest
    from react_mem.memory.write.metering import Metering as Metering
    from react_mem.memory.write.remembering import remember as remember
    from react_mem.memory.write.session import TurnReport as TurnReport
    from react_mem.memory.write.storing import END_CONVERSATION as END_CONVERSATION
    from react_mem.memory.write.storing import last_id as last_id
    from react_mem.memory.write.told_conversation import ClientMessage as ClientMessage
    from react_mem.memory.write.told_conversation import OtherWordsError as OtherWordsError
    from react_mem.memory.write.told_conversation import TakenMessage as TakenMessage
    from react_mem.memory.write.told_conversation import UnfitMessageError as UnfitMessageError
    from react_mem.memory.write.told_conversation import store_told as store_told
    from react_mem.memory.write.turns import Turns as Turns
else:
    __getattr__, __dir__, __all__ = door(__name__)
