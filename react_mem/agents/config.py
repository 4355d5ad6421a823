"""Agent configs: one YAML file an agent, validated; an error names the key and the fix."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from langgraph.store.base import BaseStore
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from react_mem.agents.models import EXTRACTIVE
from react_mem.agents.standing_files import StandingInstructions
from react_mem.errors import AgentConfigError, UnknownAgent
from react_mem.memory import MemoryPolicy, StorageSettings
from react_mem.memory.records import read_yaml
from react_mem.memory.runtime import ModelChoice, ModelEndpoint, embedding_of, in_place
from react_mem.prompts import load_prompt
from react_mem.tools.registry import check_tool_name, valid_names
from react_mem.tools.routing.routes import SwitchSettings, as_switch_settings

# The managers by name. Each is resolved by dotted name when it is built, so that agents never imports graphs.

MANAGERS: dict[str, str] = {
    "react": "react_mem.graphs.react:build_graph",
    "react_mem": "react_mem.graphs.react_mem:build_graph",
}
"""Graph builder of each manager: `module:function`, a `GraphBuilder` of `agents.resolve`."""


AGENTS_ENV = "REACT_MEM_AGENTS"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SHIPPED = Path(__file__).parent

MOST_CHOICES = 20
"""Most selectable models beside an agent's own: a client of each, some 1.6 MB, stays in the process."""

_NOT_IN_THE_FILE = ("[key]", "endpoint")
"""Parts of an error's place that pydantic adds to the keys."""

Overridable = Literal["manager", "model", "max_iterations", "use_memory", "max_memories", "system_prompt"]
"""Field of `agents.context.AgentContext` that overrides the agent's config."""

ModelSpec = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class ModelsConfig(BaseModel, extra="forbid", frozen=True):
    """Models of an agent: `auto`, a built-in name or a LangChain init string such as `openai:gpt-4.1-mini`."""

    chat: ModelSpec = Field(default="auto", description="Reasons and answers.")
    small: ModelChoice = Field(
        default="auto",
        description="Works behind the scenes, on extraction; `auto` is the chat model. With a key or an address of its "
        "own: {model: provider:model, api_key_env: NAME_OF_A_VARIABLE, base_url: ...}.",
    )
    embedding: ModelSpec = Field(
        default="auto",
        description="Finds what is related. A store has one for all its agents; `embedding_model` beside `models` says "
        "the same.",
    )
    fallback: tuple[ModelSpec, ...] = Field(
        default=(),
        description="Answer in this order when the chat model fails. `extractive`, as the last, quotes what is "
        "remembered while no language model can be reached. Empty: the failure is raised.",
    )
    choices: tuple[ModelSpec, ...] = Field(
        default=(),
        max_length=MOST_CHOICES,
        description="Models that a caller may choose for a run, beside `chat` and those of `fallback`. Each one chosen "
        "stays loaded.",
    )
    fallback_after: float = Field(
        default=60.0, gt=0, le=600, description="Seconds without a word from a model after which the next is asked."
    )

    @field_validator("small")
    @classmethod
    def _is_named(cls, value: str | ModelEndpoint) -> str | ModelEndpoint:
        if not value:
            raise ValueError("is empty; write auto, or provider:model")
        return value

    @field_validator("fallback")
    @classmethod
    def _each_can_be_asked(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if EXTRACTIVE in value[:-1]:
            raise ValueError(f"{EXTRACTIVE!r} always answers, so that what follows it is never asked; put it last")
        if twice := [spec for place, spec in enumerate(value) if spec in value[:place]]:
            raise ValueError(
                f"{twice[0]!r} is there twice; a model that has failed is not asked again in the same call"
            )
        return value


def _read_prompt(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) != {"file"} or not isinstance(value["file"], str):
            raise ValueError("must be the prompt's text, or {file: name} for a file in prompts/")
        return load_prompt(value["file"])
    return value


class AgentConfig(BaseModel, extra="forbid", frozen=True):
    """One agent.

    Args:
        name: What the agent is called: the name of its file.
        description: What it is for.
        manager: How it runs: a name of `MANAGERS`, or the dotted path of a `GraphBuilder` of the user's own.
        models: Its models.
        system_prompt: Its instructions; in YAML the text itself, or `{file: name}` for a file in prompts/.
        standing_instructions: Files of the operator, such as AGENTS.md, whose instructions it follows in every
            conversation.
        tools: Built-in names, or dotted paths to the user's own.
        memory: What it remembers; a manager without memory ignores it.
        flows: What it remembers otherwise in a flow: the keys of `memory` that differ there, by the flow's name.
        max_iterations: How often the model may be called in one turn.
        overridable: What a caller may choose otherwise for one run: `model` (one of those that `models` names),
            `manager` (one that is shipped), `max_iterations` (fewer), `use_memory` (`false`: the run goes without),
            `max_memories` (fewer), `system_prompt` (any text, also by system messages: only where every caller may be
            trusted with it).
        switching: What chooses the tools and layers of memory of a turn: `off`, `semantic`, `model`, or settings.
        cards: Whether cards of what was recalled and remembered come with an answer, for a chat that shows them: the
            state and the output then have a field `ui`.
    """

    name: Annotated[str, StringConstraints(pattern=rf"^{_NAME.pattern}$")]
    description: str = ""
    manager: str
    models: ModelsConfig = ModelsConfig()
    system_prompt: Annotated[str, BeforeValidator(_read_prompt)] = Field(default_factory=lambda: load_prompt("system"))
    standing_instructions: StandingInstructions = StandingInstructions()
    tools: tuple[str, ...] = ()
    memory: MemoryPolicy = MemoryPolicy.model_validate({})
    flows: dict[str, MemoryPolicy] = {}
    max_iterations: int = Field(default=10, ge=1, le=100)
    overridable: tuple[Overridable, ...] = ("model", "max_iterations", "use_memory", "max_memories")
    switching: Annotated[SwitchSettings, BeforeValidator(as_switch_settings)] = SwitchSettings()
    cards: bool = False

    @model_validator(mode="before")
    @classmethod
    def _by_the_authors_name(cls, data: Any) -> Any:
        return in_place(data, {"embedding_model": "models.embedding"}) if isinstance(data, Mapping) else data

    @field_validator("manager")
    @classmethod
    def _known_manager(cls, value: str) -> str:
        parts = re.split("[.:]", value)
        if value in MANAGERS or (len(parts) > 1 and all(map(str.isidentifier, parts))):
            return value
        own = "one of your own is written 'package.module:function'"
        raise ValueError(f"unknown manager {value!r}; {own}; {valid_names(value, MANAGERS)}")

    @field_validator("flows")
    @classmethod
    def _keep_as_the_agent_does(cls, value: dict[str, MemoryPolicy]) -> dict[str, MemoryPolicy]:
        for flow, policy in value.items():
            if named := sorted({"retention", "quotas"} & policy.model_fields_set):
                raise ValueError(f"{flow}: {named[0]} is the same in all flows of an agent; give it under memory")
        return value

    @field_validator("tools")
    @classmethod
    def _known_tools(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        problems = []
        for name in value:
            try:
                check_tool_name(name)
            except ValueError as error:
                problems.append(str(error))
        if problems:
            raise ValueError("\n    ".join(problems))
        return value

    def policy(self, flow_id: str | None = None) -> MemoryPolicy:
        """Return the memory policy of a flow: `memory`, with the changes of `flows`; without any, `memory` alone."""
        own = self.flows.get(flow_id) if flow_id is not None else None
        return self.memory if own is None else self.memory.model_copy(update=own.model_dump(exclude_unset=True))


def available_agents() -> list[str]:
    """Return the names of the agents that can be loaded, sorted. Blocking: it lists folders.

    Raises:
        AgentConfigError: If the folder named by REACT_MEM_AGENTS does not exist.

    >>> {"assistant", "plain"} <= set(available_agents())
    True
    """
    return sorted(_agent_files())


def load_agent_config(name: str) -> AgentConfig:
    """Load an agent by name, from the folder named by REACT_MEM_AGENTS, else from this package. Blocking.

    The name may come from a network client: it is looked up among the existing agents and never used as a path.

    Args:
        name: The name of a YAML file, without folder or suffix.

    Returns:
        The config.

    Raises:
        UnknownAgent: If there is no such agent.
        AgentConfigError: If its file is not valid.

    >>> load_agent_config("plain").manager
    'react'
    """
    files = _agent_files()
    if name not in files:
        raise UnknownAgent(f"unknown agent {name[:100]!r}; {valid_names(name[:100], files)}")
    return load_agent_config_file(files[name])


def load_agent_config_file(path: str | Path) -> AgentConfig:
    """Load an agent from a YAML file of the caller's choice, named after the agent. Blocking.

    Raises `AgentConfigError` with every error of the file.
    """
    path = Path(path)
    given, base = _extended(path)
    if given.setdefault("name", path.stem) != path.stem:
        raise AgentConfigError(
            f"{path}: name: {given['name']!r} is not the file's name {path.stem!r}, by which the agent is found; "
            "remove the key or rename the file"
        )
    try:
        config = AgentConfig.model_validate(given)
    except ValidationError as error:
        lines = [f"  {_explain(details)}" for details in error.errors(include_url=False)]
        raise AgentConfigError("\n".join([f"{path} is not a valid agent config:", *lines])) from None
    return config.model_copy(update={"standing_instructions": config.standing_instructions.beside(base)})


def _extended(path: Path, below: tuple[Path, ...] = ()) -> tuple[dict[Any, Any], Path]:
    """Return a file's keys over the keys of the agent that it extends, and the file that names standing files.

    Blocks of keys are joined key by key; a list replaces a list. `below` are the files that extend it. A file that
    extends its own name means the agent of this package.
    """
    # A key with nothing after it, as when all below it is commented out, means its default.
    own = {key: value for key, value in _read_yaml(path).items() if value is not None}
    extends = own.pop("extends", None)
    if extends is None:
        return own, path
    shipped = {file.stem: file for file in _SHIPPED.glob("*.yaml")}
    files = _agent_files() | ({path.stem: shipped[path.stem]} if path.stem in shipped else {})
    others = {name: file for name, file in files.items() if file not in (path, *below)}
    if not isinstance(extends, str) or extends not in others:
        raise AgentConfigError(
            f"{path}: extends: {extends!r:.80} is no other agent; {valid_names(str(extends)[:80], others)}"
        )
    given, base = _extended(others[extends], (path, *below))
    return _over(given, own) | {"name": own.get("name", path.stem)}, path if "standing_instructions" in own else base


def _over(given: dict[Any, Any], own: dict[Any, Any]) -> dict[Any, Any]:
    joined = {
        key: _over(given[key], value) if isinstance(value, dict) and isinstance(given.get(key), dict) else value
        for key, value in own.items()
    }
    return given | joined


def load_agent(agent: str | Path | AgentConfig) -> AgentConfig:
    """Return a config unchanged, or load it by the path of its YAML file or by its name. Blocking."""
    if isinstance(agent, AgentConfig):
        return agent
    if isinstance(agent, Path) or str(agent).endswith((".yaml", ".yml")):
        return load_agent_config_file(Path(agent))
    return load_agent_config(agent)


def _agent_files() -> dict[str, Path]:
    own = os.environ.get(AGENTS_ENV)
    if own and not Path(own).is_dir():
        raise AgentConfigError(f"{AGENTS_ENV} is {own!r}, which is not a folder; unset it or create the folder")
    folders = [_SHIPPED, Path(own)] if own else [_SHIPPED]
    # The user's own folder comes last, so that its files win.
    return {
        file.stem: file
        for folder in folders
        for file in sorted(folder.glob("*.yaml"))
        if _NAME.fullmatch(file.stem) and file.is_file()
    }


_NOT_HERE = {
    "embedding_model": "write `models.embedding`, or `embedding_model`, at the top level of the file",
    "vector_db_config": "a file of an agent names no database; set DATABASE_URL or VECTOR_STORE in the environment, "
    "or, in Python, give StorageSettings(vector_db_config=...)",
}
"""Settings of other places, each with its place."""


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses a duplicate key: YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                continue
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key_node.value!r} is given twice", problem_mark=key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep=deep)


def _read_yaml(path: Path) -> dict[Any, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AgentConfigError(f"{path} cannot be read: {error}") from error
    try:
        data = read_yaml(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else str(path)
        cause = " ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None)))) or str(error)
        raise AgentConfigError(f"{where}: not valid YAML: {cause}") from None
    if not isinstance(data, dict):
        raise AgentConfigError(f"{path}: expected 'key: value' lines, such as 'manager: react_mem'")
    return data


def _explain(details: ErrorDetails) -> str:
    """Return the error at a key in words, with the valid options and the likely intention."""
    location = tuple(part for part in details["loc"] if part not in _NOT_IN_THE_FILE)
    key = ".".join(map(str, location))
    fields = _fields_at(location[:-1])
    match details["type"]:
        case "extra_forbidden" if location[-1] in _NOT_HERE:
            return f"{key}: belongs elsewhere: {_NOT_HERE[str(location[-1])]}"
        case "extra_forbidden" if fields is not None:
            return f"{key}: unknown key; {valid_names(str(location[-1]), fields, _below(fields))}"
        case "missing" if key == "manager":
            return f"{key}: is missing; {valid_names('', MANAGERS)}"
        case "missing":
            return f"{key}: is missing"
        case "literal_error" if fields is not None:
            options = get_args(fields[str(location[-1])].annotation)
            return f"{key}: {details['input']!r} is not an option; {valid_names(str(details['input']), options)}"
        case "value_error":
            return f"{key}: {details['ctx']['error']}"
        case "model_type":
            return f"{key}: must be 'key: value' lines, got {details['input']!r:.80}"
        case "tuple_type":
            return f"{key}: must be a list such as [a, b], got {details['input']!r:.80}"
    message = details["msg"]
    said = f"{key}: {message[:1].lower()}{message[1:]}"
    # what stands where a key may is not for a log
    return said if _model_at(location[:-1]) is ModelEndpoint else f"{said}, got {details['input']!r:.80}"


def _fields_at(location: tuple[int | str, ...]) -> dict[str, Any] | None:
    """Return the fields that a file may give at a key path; None where there is no model."""
    model = _model_at(location)
    if model is None:
        return None
    # an agent's name comes from the file itself
    return {name: field for name, field in model.model_fields.items() if (model, name) != (AgentConfig, "name")}


def _model_at(location: tuple[int | str, ...]) -> type[BaseModel] | None:
    model: Any = AgentConfig
    for part in location:
        if get_origin(model) is dict:
            # the part is a name of the file's own, such as a flow's
            model = get_args(model)[1]
        elif _is_model(model) and part in model.model_fields:
            model = _endpoint_or(model.model_fields[part].annotation)
        else:
            return None
    return model if _is_model(model) else None


def _endpoint_or(annotation: Any) -> Any:
    """Return the model of a key that takes a name or an endpoint; other annotations unchanged."""
    options = [get_args(option)[0] for option in get_args(annotation) if get_origin(option) is Annotated]
    return ModelEndpoint if ModelEndpoint in options else annotation


def _below(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of the models inside fields, each with its path below the fields, the first of one name."""
    places: dict[str, str] = {}
    for name, field in fields.items():
        if _is_model(field.annotation):
            inner = field.annotation.model_fields
            # of two of one name the first is meant
            below = {key: f"{name}.{place}" for key, place in ({one: one for one in inner} | _below(inner)).items()}
            places = below | places
    return places


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


log = logging.getLogger(__name__)


def check_embedding(config: AgentConfig, store: BaseStore) -> None:
    """Refuse a store with another embedding model than the agent's config names. Raises `AgentConfigError`.

    `auto` takes any; a store of unknown model is taken with a warning.
    """
    wanted, served = config.models.embedding, embedding_of(store, config.models.embedding)
    if wanted in ("auto", served):
        return
    if served is None:
        log.warning(
            "the agent %r has models.embedding: %s, which is not looked at: its store embeds by itself and does not "
            "tell with what; write auto",
            config.name,
            wanted,
        )
        return
    raise AgentConfigError(
        f"the agent {config.name!r} has models.embedding: {wanted}, but its memories are embedded with {served}, and a "
        f"store has one embedding model for all agents. Write auto, or set EMBEDDING_MODEL={wanted} and re-embed what "
        f"is there: react-mem database reembed --to {wanted}"
    )


def with_embedding_of(config: AgentConfig, settings: StorageSettings) -> StorageSettings:
    """Return settings with the embedding model of an agent's config; `auto` leaves them unchanged."""
    if config.models.embedding == "auto":
        return settings
    return settings.model_copy(update={"embedding": config.models.embedding})


async def check_served_embeddings(store: BaseStore) -> None:
    """Log at the start of a server the agents with another embedding model than the store has.

    They run nonetheless: an agent without memories to search loses nothing by it.
    """
    for name in await asyncio.to_thread(available_agents):
        try:
            config = await asyncio.to_thread(load_agent_config, name)
        except AgentConfigError:
            # said where agents are built
            continue
        try:
            check_embedding(config, store)
        except AgentConfigError as error:
            log.error("%s", error)
