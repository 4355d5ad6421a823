"""Settings of chat models and of the web search, their second names, and web pages in a context."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, Discriminator, Field, SecretStr, StringConstraints, Tag, model_validator

from react_mem.memory.model.origins import Origin

# Second names of settings: the flat names of the memory's authors, with the path of each setting.

AUTHORS = {
    "use_dialog": "recall.dialog",
    "use_semantic": "recall.semantic",
    "use_procedural": "recall.procedural",
    "use_profile": "recall.profile",
    "write_experience": "learning.experience",
    "max_dialog_turns": "context.dialog_turns",
    "max_docs": "recall.max_docs",
    "max_skills": "recall.max_skills",
    "similarity_threshold": "recall.similarity",
    "max_memories": "recall.max_memories",
    "n_sum": "summaries.n_sum",
    "sum_window": "summaries.sum_window",
    "n_sum_sum": "summaries.n_sum_sum",
    "max_sum_lvl": "summaries.max_sum_lvl",
    "summary_model": "summaries.summary_model",
    "summary_length": "summaries.summary_length",
    "search_engines": "web.engines",
    "max_results": "web.max_results",
    "keyword_threshold": "web.keyword_threshold",
    "slm_model": "web.slm_model",
}
"""Names of settings in the authors' specification, with their paths. They stay: nothing warns of them."""

_TOPICS = frozenset(["profile", *(place.partition(".")[0] for place in AUTHORS.values())])


def in_place(given: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """Return settings with second names replaced by their paths: a key, or `topic.key`.

    A mapping with the path of a topic is merged into it. ValueError if a setting is given by both names.

    >>> in_place({"models": {"chat": "auto"}, "embedding_model": "local"}, {"embedding_model": "models.embedding"})
    {'models': {'chat': 'auto', 'embedding': 'local'}}
    """
    placed = {name: value for name, value in given.items() if name not in places}
    for second, place in places.items():
        if second not in given:
            continue
        topic, _, name = place.partition(".")
        held = given_of(placed.get(topic, {}))
        more = {name: given[second]} if name else given_of(given[second])
        if isinstance(held, Mapping) and isinstance(more, Mapping):
            if twice := held.keys() & more.keys():
                raise ValueError(f"{second} and {place} both say {', '.join(sorted(twice))}; keep {place}")
            placed[topic] = {**held, **more}
        elif topic not in placed:
            placed[topic] = more
        elif not name:
            raise ValueError(f"{second} and {place} say the same; keep {place}")
        # what is wrong with a topic that is no mapping is said where it is checked
    return placed


def given_of(topic: Any) -> Any:
    """Return the explicitly set fields of a model; any other value as it is."""
    return {name: getattr(topic, name) for name in topic.model_fields_set} if isinstance(topic, BaseModel) else topic


def in_topics(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a policy by topic, the authors' names replaced.

    An empty topic, as when all of it in a file is commented out, is left out. ValueError as of `in_place`.

    >>> in_topics({"recall": {"dialog": False}, "context": None, "max_docs": 8})
    {'recall': {'dialog': False, 'max_docs': 8}}
    """
    moved = {key: place for key, place in AUTHORS.items() if key in data}
    return in_place({key: value for key, value in data.items() if value is not None or key not in _TOPICS}, moved)


# A chat model as settings name it: by a name alone, or with an address and a key of its own.

ModelName = Annotated[str, StringConstraints(strip_whitespace=True)]


class ModelEndpoint(BaseModel, extra="forbid", frozen=True):
    """A chat model with its address and key.

    Args:
        model: `provider:model`, or `auto`; `name` says the same.
        api_key_env: The environment variable that holds its key.
        api_key: The key itself, where it has to stand in a file.
        base_url: The address of its server.
    """

    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = Field(
        validation_alias=AliasChoices("model", "name")
    )
    api_key_env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    api_key: SecretStr | None = None
    # an address may hold a password
    base_url: str | None = Field(None, min_length=1, repr=False)

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.api_key is not None and self.api_key_env is not None:
            raise ValueError("api_key and api_key_env say the same thing; give one of them, best api_key_env")
        return self


def _kind(value: Any) -> str:
    return "endpoint" if isinstance(value, Mapping | ModelEndpoint) else "name"


ModelChoice = Annotated[
    Annotated[ModelName, Tag("name")] | Annotated[ModelEndpoint, Tag("endpoint")], Discriminator(_kind)
]
"""Name of a model, or an endpoint."""


WEB_SEARCH = "web_search"  # name of the tool that searches the web

Engine = Annotated[str, StringConstraints(pattern=r"^(tavily|duckduckgo|google|searxng|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$")]


OWN_TOOLS = frozenset({"store_fact", "record_episode", "forget", "forget_said", "manage_memory"})
"""Tools whose results contain the agent's own words only."""


def origin_of_result(tool: str) -> Origin:
    """Return the provenance of a tool's result."""
    if tool in OWN_TOOLS:
        return Origin.ASSISTANT
    return Origin.WEB if tool == WEB_SEARCH else Origin.TOOL


class WebSettings(BaseModel, extra="forbid", frozen=True):
    """Web search before an answer: the `web:` block of an agent's `memory:`."""

    enabled: bool = Field(False, description="Whether the web is searched at all.")
    engines: tuple[Engine, ...] = Field(
        ("tavily", "duckduckgo"),
        min_length=1,
        description="tavily (TAVILY_API_KEY), duckduckgo, google (GOOGLE_API_KEY and GOOGLE_CSE_ID), searxng "
        "(SEARXNG_URL), or the path 'package.module:attribute' of a LangChain retriever; the next is asked where one "
        "fails. One without its key is passed over. `search_engines` says the same.",
    )
    keyword_threshold: float = Field(
        1.0,
        ge=0,
        description="The weight of search words in a question from which on the web is searched; asking alone, such as "
        "`what is`, weighs half (decision 0036).",
    )
    domain_terms: tuple[str, ...] = Field((), description="Words of your field that ask for a search.")
    ask_model: bool = Field(
        True, description="Whether the small model decides where the words do not: one more call before the answer."
    )
    slm_model: ModelChoice = Field(
        "", description="The model that decides, named as `models.small` is; empty: the agent's small model."
    )
    max_results: int = Field(3, ge=1, le=20, description="Pages in the prompt, at most.")
    timeout: float = Field(8.0, gt=0, le=60, description="Seconds for all of it, before the answer.")
    private_queries: bool = Field(
        True,
        description="Whether names, addresses and numbers known of the user are taken out of what is searched for.",
    )

    @model_validator(mode="before")
    @classmethod
    def _by_the_authors_name(cls, data: Any) -> Any:
        return in_place(data, {"search_engines": "engines"}) if isinstance(data, Mapping) else data


class WebPage(BaseModel, frozen=True):
    """Page of the web, as text: data, never instructions.

    Args:
        url: Its address, which an answer cites.
        title: Its title.
        text: The passages relevant to the question, without markup.
        published: The date it gives of itself, as YYYY-MM-DD; empty where it gives none.
        fetched_at: When it was read.
        engine: The search engine that found it.
        score: The engine's own relevance, or its rank as one: higher is better.
    """

    url: str
    title: str = ""
    text: str
    published: str = ""
    fetched_at: datetime
    engine: str
    score: float = 0.0


class WebAnswer(BaseModel, frozen=True):
    """Result of a web search.

    Args:
        pages: The pages, the best first.
        query: The query sent, without private details; empty where nothing was searched.
        trigger: The reason of the search: words of the question, the model's decision, or none.
        missing: Failures with their causes: by engine, or by a page's address; `decision`, where the model cannot be
            asked; `query`, where no words were left to search for; `pages`, where a package to read them is missing.
    """

    pages: tuple[WebPage, ...] = ()
    query: str = ""
    trigger: Literal["keywords", "model", "none"] = "none"
    missing: dict[str, str] = Field(default_factory=dict)
