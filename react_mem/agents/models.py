"""Chat models by name, and the explanation of their errors."""

from __future__ import annotations

import json
import os
import re
import warnings
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core import exceptions as core
from langchain_core.language_models import BaseChatModel

from react_mem.errors import ModelConfigError
from react_mem.memory.runtime import ModelEndpoint
from react_mem.memory.turns import scrub
from react_mem.tools.registry import valid_names

EXTRACTIVE = "extractive"
DEFAULT_OPENAI_MODEL = "gpt-5.4-mini"
"""Inexpensive, calls tools, fills schemas, and by default answers without reasoning first."""

LIMITS: dict[str, Any] = {"timeout": 60.0, "max_retries": 2}
"""A model that hangs must not hang a turn: LangChain's own default is to wait ten minutes an attempt."""

_KEY_NAMES: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "google_genai": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistralai": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""Keys of providers. Some start without one and fail in the first turn; we say so at start."""


def resolve_chat_spec(spec: str) -> str:
    """Return the model for `auto` in this environment; any other spec unchanged.

    `CHAT_MODEL` first; then OpenAI, or a server with its protocol, where OPENAI_API_KEY or OPENAI_BASE_URL is set
    (the model named by OPENAI_MODEL); else the built-in `extractive`.
    """
    if spec != "auto":
        return spec
    named = os.environ.get("CHAT_MODEL", "").strip()
    if named and named != "auto":
        return named
    if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
        return f"openai:{os.environ.get('OPENAI_MODEL') or DEFAULT_OPENAI_MODEL}"
    return EXTRACTIVE


def name_of(model: BaseChatModel) -> str:
    """Return a model's name in messages: `provider:model`, as far as it tells.

    >>> name_of(load_chat_model("extractive"))
    'extractive'
    """
    named = getattr(model, "model_name", None) or getattr(model, "model", None)
    if not isinstance(named, str):
        return model.name or type(model).__name__
    package = type(model).__module__.partition(".")[0]
    return f"{package.removeprefix('langchain_')}:{named}" if package.startswith("langchain_") else named


def load_chat_model(spec: str, **overrides: Any) -> BaseChatModel:
    """Load a chat model, with a time limit and bounded retries. Blocking: it imports the provider's package.

    `spec` is `auto`, `extractive`, or a string for `init_chat_model`; `overrides` are options of the provider's class.
    Raises `ModelConfigError` if the provider is unknown, its package is not installed, or its key is missing.
    """
    chosen = resolve_chat_spec(spec)
    if chosen == EXTRACTIVE:
        from react_mem.agents.extractive import ExtractiveChatModel

        return ExtractiveChatModel()
    # Here and not above: it imports half of LangChain, which who never uses a provider need not wait for.
    from langchain.chat_models import init_chat_model

    provider = _provider(chosen)
    own = [str(overrides[name]) for name in ("api_key", "base_url") if overrides.get(name)]
    options = {**_credentials(chosen, provider, overrides), **overrides}
    if provider == "openai":
        # known to take both limits, so that its clients, 40 ms of TLS, are made once
        options = {**LIMITS, **options}
        options["timeout"] = _unshared(options["timeout"])
    try:
        with warnings.catch_warnings():
            # That a provider was inferred from a bare model name is our caller's doing, and it works.
            warnings.simplefilter("ignore", DeprecationWarning)
            model: BaseChatModel = init_chat_model(chosen, **options)
            # Not every provider takes every limit, and some refuse an option they do not know.
            known = type(model).model_fields
            accepted = {*known, *(field.alias for field in known.values())}
            limits = {key: value for key, value in LIMITS.items() if key in accepted and key not in options}
            if limits:
                model = init_chat_model(chosen, **limits, **options)
            return model
    except ImportError as error:
        raise ModelConfigError(f"{_named(chosen)}: {scrub(error, own)}") from error
    except Exception as error:
        if "nable to infer model provider" in str(error) or "nsupported provider" in str(error):
            raise ModelConfigError(_unknown_provider(chosen, error)) from error
        said = f"{_named(chosen)}, which cannot be set up: {scrub(error, own)}"
        # a traceback would show what the original says of a key
        raise ModelConfigError(said) from (None if own else error)


def load_chosen_model(choice: str | ModelEndpoint) -> BaseChatModel:
    """Load a chat model by name, or an endpoint with its own address and key. Blocking; raises `ModelConfigError`."""
    if isinstance(choice, str):
        return load_chat_model(choice)
    own: dict[str, Any] = {}
    if choice.api_key is not None:
        own["api_key"] = choice.api_key.get_secret_value()
    elif choice.api_key_env is not None:
        own["api_key"] = os.environ.get(choice.api_key_env, "").strip()
        if not own["api_key"]:
            raise ModelConfigError(
                f"{_named(choice.model)} but {choice.api_key_env} is not set: set it in .env, or name another variable"
            )
    if choice.base_url is not None:
        own["base_url"] = choice.base_url
        if "api_key" not in own and _provider(resolve_chat_spec(choice.model)) == "openai":
            # the key of the environment is for another server
            own["api_key"] = "none"
    return load_chat_model(choice.model, **own)


def key_hint(spec: str) -> str:
    """Return the place of a model provider's key."""
    names = _KEY_NAMES.get(_provider(spec) or "")
    return f"{names[0]} in .env" if names else "the provider's key in .env"


def address_hint(spec: str) -> str:
    """Return the variable with the address of a model's server, for the end of a sentence; empty where none is set."""
    if _provider(spec) != "openai":
        return ""
    return " and OPENAI_BASE_URL" if os.environ.get("OPENAI_BASE_URL") else ""


def _provider(spec: str) -> str | None:
    prefix, colon, _ = spec.partition(":")
    if colon:
        return prefix
    return "openai" if spec.startswith(("gpt-", "o1", "o3", "chatgpt")) else None


def _credentials(spec: str, provider: str | None, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the key to add, if any; refuse a provider without a key."""
    names = _KEY_NAMES.get(provider or "", ())
    if not names or "api_key" in overrides or any(map(os.environ.get, (*names, "LANGSMITH_GATEWAY"))):
        return {}
    if provider == "openai" and (os.environ.get("OPENAI_BASE_URL") or "base_url" in overrides):
        # Servers of one's own ask for no key, but OpenAI's client does not start without one.
        return {"api_key": "none"}
    raise ModelConfigError(
        f"{_named(spec)} but {names[0]} is not set: set it in .env, or use models.chat: {EXTRACTIVE}"
    )


def _unshared(timeout: Any) -> Any:
    """Return a timeout that keeps a model's connections its own.

    langchain-openai shares them among all models with the same plain number, across event loops: in a program that
    calls `asyncio.run` twice, the second call would fail with "Event loop is closed".
    """
    import openai

    return openai.Timeout(timeout)


def _unknown_provider(spec: str, error: Exception) -> str:
    listed = re.search(r"(?:Supported|supported) [^:]*: *([a-z_0-9, ]+)", str(error))
    providers = [name.strip() for name in listed[1].split(",") if name.strip()] if listed else list(_KEY_NAMES)
    prefix = spec.partition(":")[0]
    return (
        f"{_named(spec)}, which names no known provider; write auto, {EXTRACTIVE} or provider:model, "
        f"{valid_names(prefix, [*providers, EXTRACTIVE])}"
    )


def _named(spec: str) -> str:
    return f"the model is {spec!r}"


# Classification of failed model calls: their kind, the cure, and whether a retry may help.

FailureKind = Literal[
    "context", "key", "permission", "not_found", "quota", "rate", "timeout", "connection", "request", "server",
    "setup", "other",
]  # fmt: skip

_PASSING: frozenset[FailureKind] = frozenset({"quota", "rate", "timeout", "connection", "server"})
_OF_THE_REQUEST: frozenset[FailureKind] = frozenset({"context", "request"})


@dataclass(frozen=True)
class ModelFailure:
    """A failed model call, in a sentence without a key; `wait` is the service's wish, in seconds.

    The request does not fit (`context`, `request`), the set-up is refused (`key`, `permission`, `not_found`, `setup`),
    the service is out of order (`quota`, `rate`, `timeout`, `connection`, `server`), or `other`.
    """

    kind: FailureKind
    message: str
    wait: float | None = None

    @property
    def passes(self) -> bool:
        """Return true if the service is out of order, which no change of the request or the set-up would mend."""
        return self.kind in _PASSING

    @property
    def of_the_request(self) -> bool:
        """Return true for a fault of the request, which tells nothing of the model's health."""
        return self.kind in _OF_THE_REQUEST


def explain_model_error(error: BaseException, spec: str) -> ModelFailure:
    """Return the kind of a failed model call, in words too; `spec` is the model as configured."""
    kind, message = _explain(error, resolve_chat_spec(spec))
    return ModelFailure(kind, message, _wait(_chain(error)))


def _explain(error: BaseException, chosen: str) -> tuple[FailureKind, str]:
    if isinstance(error, ModelConfigError):
        return "setup", str(error)
    chain = _chain(error)
    detail = scrub(error)
    # What a provider says in words varies; its code does not.
    text = " ".join(f"{link} {getattr(link, 'code', None) or ''}" for link in chain).lower()
    status = next((code for link in chain if isinstance(code := getattr(link, "status_code", None), int)), None)

    def failed_as(kind: type[core.ModelError], *codes: int) -> bool:
        return any(isinstance(link, kind) for link in chain) or status in codes

    key = key_hint(chosen)
    if failed_as(core.ContextOverflowError) or re.search(r"context.{0,10}(length|window)|too many tokens", text):
        return "context", (
            f"The conversation is longer than the model {chosen!r} can read. Start a new one, send less, "
            f"or choose a model with a longer context. ({detail})"
        )
    if failed_as(core.ModelAuthenticationError, 401):
        return "key", f"The model {chosen!r} refused the API key (401). Check {key}."
    if failed_as(core.ModelPermissionDeniedError, 403):
        return "permission", (
            f"The API key may not use the model {chosen!r} (403). Check what {key} gives access to. ({detail})"
        )
    if failed_as(core.ModelNotFoundError, 404):
        return "not_found", (
            f"There is no model {chosen!r} at that address (404). Check models.chat{address_hint(chosen)}. ({detail})"
        )
    if "insufficient_quota" in text or status == 402:
        return "quota", f"The account behind {key} has no credit left for {chosen!r}. Add credit or use another model."
    if failed_as(core.ModelRateLimitError, 429):
        wait = _wait(chain)
        how_long = f"{wait:g} seconds" if wait is not None else "a little"
        return "rate", (
            f"The model {chosen!r} takes no more requests for now (429). Wait {how_long} and send it again."
        )
    if failed_as(core.ModelTimeoutError, 408) or _called(chain, "timeout"):
        return "timeout", (
            f"The model {chosen!r} did not answer in time. Send it again; if it stays, check the network"
            f"{address_hint(chosen)}, use a faster model, or let it take longer (models: {{fallback_after: SECONDS}})."
        )
    if failed_as(core.ModelConnectionError) or _called(chain, "connect", "transporterror", "networkerror"):
        return "connection", (
            f"The model {chosen!r} cannot be reached ({detail}). Check that its server runs and the network"
            f"{address_hint(chosen)}."
        )
    if failed_as(core.ModelInvalidRequestError, 400, 413, 422):
        return "request", _refused(chosen, text, detail)
    if failed_as(core.ModelAPIError) or (status is not None and status >= 500) or _is_garbled(chain):
        return "server", (
            f"The model {chosen!r} failed on its own side ({status or 'server error'}). Send it again later. ({detail})"
        )
    return "other", f"The model {chosen!r} failed: {type(error).__name__}: {detail}"


def _refused(chosen: str, text: str, detail: str) -> str:
    if re.search(r"image|vision|multimodal|content.{0,20}(type|part)", text):
        return f"The model {chosen!r} cannot read images. Send text, or choose a model that reads images. ({detail})"
    # a message that is out of place is not for want of tools
    misplaced = re.search(r"role.{0,3}tool\b|tool_(call|use|result)", text) and "support" not in text
    if re.search(r"\btools?\b|function", text) and not misplaced:
        return f"The model {chosen!r} refused the tools. Choose a model that calls tools. ({detail})"
    return f"The model {chosen!r} refused the request as invalid: {detail}"


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and its causes; SDKs wrap the network's errors."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    return chain


def _called(chain: list[BaseException], *names: str) -> bool:
    """Return true if an error's type has such a name; the types of every HTTP client are not ours to import."""
    kinds = [kind.__name__.lower() for link in chain for kind in type(link).__mro__]
    return any(name in kind for kind in kinds for name in names)


def _is_garbled(chain: list[BaseException]) -> bool:
    """Return true if the service sent no answer, but a proxy's page or an error within a stream."""
    return any(
        isinstance(link, json.JSONDecodeError)
        or type(link).__name__ == "APIError"
        or str(link).startswith("No generations found in stream")
        for link in chain
    )


def _wait(chain: list[BaseException]) -> float | None:
    """Return the seconds of `retry-after`; its other form, a time of day, depends on clocks that disagree."""
    for link in chain:
        headers = getattr(getattr(link, "response", None), "headers", None) or {}
        if re.fullmatch(r"\d{1,6}(\.\d+)?", after := str(headers.get("retry-after", ""))):
            return float(after)
    return None
