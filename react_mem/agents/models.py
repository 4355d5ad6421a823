"""Chat models by name."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

from langchain_core.language_models import BaseChatModel

from react_mem.errors import ModelConfigError
from react_mem.memory.runtime import ModelEndpoint
from react_mem.memory.turns import scrub
from react_mem.tools.suggest import valid_names

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
    """Return the model that `auto` stands for in this environment; any other spec as it is.

    `CHAT_MODEL` first; then OpenAI, or a server that speaks its protocol, where OPENAI_API_KEY or OPENAI_BASE_URL is
    set (the model named by OPENAI_MODEL); else the built-in `extractive`.
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
    """Return what a model is called in messages: `provider:model`, as far as it tells.

    >>> name_of(load_chat_model("extractive"))
    'extractive'
    """
    named = getattr(model, "model_name", None) or getattr(model, "model", None)
    if not isinstance(named, str):
        return model.name or type(model).__name__
    package = type(model).__module__.partition(".")[0]
    return f"{package.removeprefix('langchain_')}:{named}" if package.startswith("langchain_") else named


def load_chat_model(spec: str, **overrides: Any) -> BaseChatModel:
    """Load a chat model. Blocking: it imports the provider's package.

    Args:
        spec: `auto`, `extractive`, or a string for `langchain.chat_models.init_chat_model`, such as
            `openai:gpt-4.1-mini`.
        overrides: What the provider's class takes, such as `temperature` or `max_retries`.

    Returns:
        The model, with a time limit and bounded retries.

    Raises:
        ModelConfigError: If the provider is unknown, its package is not installed, or its key is missing.

    >>> load_chat_model("extractive").name
    'extractive'
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
    """Load a chat model by its name, or with the address and the key that are its own. Blocking.

    Args:
        choice: What `load_chat_model` takes, or an endpoint.

    Raises:
        ModelConfigError: If it cannot be loaded, or the variable that its key stands in is not set.
    """
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
    """Return where the key of a model's provider stands."""
    names = _KEY_NAMES.get(_provider(spec) or "")
    return f"{names[0]} in .env" if names else "the provider's key in .env"


def address_hint(spec: str) -> str:
    """Return where the address of a model's server stands, to be added to a sentence; empty where none is set."""
    if _provider(spec) != "openai":
        return ""
    return " and OPENAI_BASE_URL" if os.environ.get("OPENAI_BASE_URL") else ""


def _provider(spec: str) -> str | None:
    prefix, colon, _ = spec.partition(":")
    if colon:
        return prefix
    return "openai" if spec.startswith(("gpt-", "o1", "o3", "chatgpt")) else None


def _credentials(spec: str, provider: str | None, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the key to add, if any; refuse a provider whose key is missing."""
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
    calls `asyncio.run` twice, the second call would meet the connections of the first and fail with "Event loop is
    closed".
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
