"""The parts of the memory layer that the runtime drives: turns, models, tasks, workers, storage.

Managers, the terminal, the server and tools take them from here; an application of your own needs `react_mem.memory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.graph.export import Graph as Graph
    from react_mem.memory.graph.export import to_graphml as to_graphml
    from react_mem.memory.graph.export import to_html as to_html
    from react_mem.memory.graph.export import to_json as to_json
    from react_mem.memory.llm.answers import first_value as first_value
    from react_mem.memory.llm.asking import Asker as Asker
    from react_mem.memory.llm.asking import ModelQuestion as ModelQuestion
    from react_mem.memory.llm.calls import limited as limited
    from react_mem.memory.llm.calls import say as say
    from react_mem.memory.llm.calls import without_retries as without_retries
    from react_mem.memory.llm.capabilities import Capabilities as Capabilities
    from react_mem.memory.llm.capabilities import capabilities_of as capabilities_of
    from react_mem.memory.llm.capabilities import without_dialect as without_dialect
    from react_mem.memory.llm.causes import cause_of as cause_of
    from react_mem.memory.llm.causes import scrub as scrub
    from react_mem.memory.llm.causes import trace_of as trace_of
    from react_mem.memory.llm.schema import object_schema as object_schema
    from react_mem.memory.llm.stand_ins import ask_in_turn as ask_in_turn
    from react_mem.memory.maintenance.agent import CLOSING_SECONDS as CLOSING_SECONDS
    from react_mem.memory.maintenance.agent import AgentWork as AgentWork
    from react_mem.memory.maintenance.ending import conclude_soon as conclude_soon
    from react_mem.memory.maintenance.everything import maintain_all as maintain_all
    from react_mem.memory.maintenance.reflecting import Reflecting as Reflecting
    from react_mem.memory.maintenance.runner import AgentRunner as AgentRunner
    from react_mem.memory.maintenance.worker import Worker as Worker
    from react_mem.memory.model.identity import Identity as Identity
    from react_mem.memory.model.identity import development_user as development_user
    from react_mem.memory.model.identity import identify as identify
    from react_mem.memory.model.identity import named as named
    from react_mem.memory.model.identity import why_off as why_off
    from react_mem.memory.model.interface import OwnerId as OwnerId
    from react_mem.memory.model.kinds import CONVERSATION as CONVERSATION
    from react_mem.memory.model.kinds import EXPERIENCE as EXPERIENCE
    from react_mem.memory.model.kinds import FACT as FACT
    from react_mem.memory.model.kinds import KINDS as KINDS
    from react_mem.memory.model.kinds import MESSAGE as MESSAGE
    from react_mem.memory.model.kinds import PROFILE as PROFILE
    from react_mem.memory.model.kinds import SUMMARY as SUMMARY
    from react_mem.memory.model.kinds import kind_named as kind_named
    from react_mem.memory.model.kinds import searched_scopes as searched_scopes
    from react_mem.memory.model.kinds import title_of as title_of
    from react_mem.memory.model.model_spec import ModelChoice as ModelChoice
    from react_mem.memory.model.model_spec import ModelEndpoint as ModelEndpoint
    from react_mem.memory.model.namespaces import encode as encode
    from react_mem.memory.model.namespaces import terminal_namespace as terminal_namespace
    from react_mem.memory.model.policy import ContextSettings as ContextSettings
    from react_mem.memory.model.records import now as now
    from react_mem.memory.model.records import record_id as record_id
    from react_mem.memory.model.skills import StepExperience as StepExperience
    from react_mem.memory.opening import open_storage as open_storage
    from react_mem.memory.reflect.skills.outcomes import record_turn as record_turn
    from react_mem.memory.reflect.tasks.turn_tasks import TASK_TOKENS as TASK_TOKENS
    from react_mem.memory.reflect.tasks.turn_tasks import TaskNotes as TaskNotes
    from react_mem.memory.reflect.tasks.turn_tasks import TurnTasks as TurnTasks
    from react_mem.memory.reflect.tasks.turn_tasks import taken_steps as taken_steps
    from react_mem.memory.rights.saying import says as says
    from react_mem.memory.scopes import ExperienceMemoryStore as ExperienceMemoryStore
    from react_mem.memory.store.calibration import reference_questions as reference_questions
    from react_mem.memory.store.distribute import distribute as distribute
    from react_mem.memory.store.embeddings import embedding_of as embedding_of
    from react_mem.memory.store.embeddings import load_embedding_model as load_embedding_model
    from react_mem.memory.store.embeddings import means_same_embedding as means_same_embedding
    from react_mem.memory.store.postgres_server import connected as connected
    from react_mem.memory.store.statistics import Statistics as Statistics
    from react_mem.memory.store.statistics import statistics as statistics
    from react_mem.memory.store.stored_text import storable as storable
    from react_mem.memory.write.by_agent import ToolMemory as ToolMemory
    from react_mem.memory.write.by_agent import Unclear as Unclear
    from react_mem.memory.write.chat_summary.summarizer import ChatSummarizer as ChatSummarizer
    from react_mem.memory.write.chat_summary.summary_form import ChatSummary as ChatSummary
    from react_mem.memory.write.chat_summary.summary_form import ChatSummaryRequest as ChatSummaryRequest
    from react_mem.memory.write.lifecycle import AgentMemory as AgentMemory
    from react_mem.memory.write.lifecycle import Recalled as Recalled
    from react_mem.memory.write.lifecycle import TurnMemory as TurnMemory
    from react_mem.memory.write.session import TurnReport as TurnReport
    from react_mem.memory.write.storing import END_CONVERSATION as END_CONVERSATION
    from react_mem.memory.write.storing import last_id as last_id
    from react_mem.memory.write.turns import Turns as Turns
    from react_mem.memory.write.unfolding import Unfolded as Unfolded
else:
    __getattr__, __dir__, __all__ = door(__name__)
