"""Chat models by name, and what their errors mean to a user."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

from langchain_core import exceptions as core
from langchain_core.language_models import BaseChatModel

from tools.suggest import valid_names

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
"""Where providers look for a key. Some start without one and fail in the first turn; we say so at start."""


class ModelConfigError(ValueError):
    """A model cannot be loaded; the message names the cause and the fix."""


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
        from agents.extractive import ExtractiveChatModel

        return ExtractiveChatModel()
    # Here and not above: it imports half of LangChain, which who never uses a provider need not wait for.
    from langchain.chat_models import init_chat_model

    provider = _provider(chosen)
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
        raise ModelConfigError(f"{_named(chosen)}: {_scrub(error)}") from error
    except Exception as error:
        if "nable to infer model provider" in str(error) or "nsupported provider" in str(error):
            raise ModelConfigError(_unknown_provider(chosen, error)) from error
        raise ModelConfigError(f"{_named(chosen)}, which cannot be set up: {_scrub(error)}") from error


def supports_native_tools(model: BaseChatModel) -> bool:
    """Return whether a model has an interface for tool calls; one without it calls tools in text.

    >>> supports_native_tools(load_chat_model("extractive"))
    True
    """
    return type(model).bind_tools is not BaseChatModel.bind_tools


def explain_model_error(error: BaseException, spec: str) -> str:
    """Say what a user can do about a failed model call.

    Args:
        error: What the call raised.
        spec: The model as configured.

    Returns:
        A sentence with the cause and the fix; never a key.
    """
    chosen = resolve_chat_spec(spec)
    chain = _chain(error)
    detail = _scrub(error)
    # What a provider says in words varies; its code does not.
    text = " ".join(f"{link} {getattr(link, 'code', None) or ''}" for link in chain).lower()
    status = next((code for link in chain if isinstance(code := getattr(link, "status_code", None), int)), None)

    def failed_as(kind: type[core.ModelError], *codes: int) -> bool:
        return any(isinstance(link, kind) for link in chain) or status in codes

    key = _key_hint(chosen)
    if failed_as(core.ContextOverflowError) or re.search(r"context.{0,10}(length|window)|too many tokens", text):
        return (
            f"The conversation is longer than the model {chosen!r} can read. Start a new one, send less, "
            f"or choose a model with a longer context. ({detail})"
        )
    if failed_as(core.ModelAuthenticationError, 401):
        return f"The model {chosen!r} refused the API key (401). Check {key}."
    if failed_as(core.ModelPermissionDeniedError, 403):
        return f"The API key may not use the model {chosen!r} (403). Check what {key} gives access to. ({detail})"
    if failed_as(core.ModelNotFoundError, 404):
        return (
            f"There is no model {chosen!r} at that address (404). Check models.chat{_address_hint(chosen)}. ({detail})"
        )
    if "insufficient_quota" in text or status == 402:
        return f"The account behind {key} has no credit left for {chosen!r}. Add credit or use another model."
    if failed_as(core.ModelRateLimitError, 429):
        return f"The model {chosen!r} takes no more requests for now (429). Wait {_wait(chain)} and send it again."
    if failed_as(core.ModelTimeoutError, 408) or _called(chain, "timeout"):
        return (
            f"The model {chosen!r} did not answer in time. Send it again; if it stays, check the network"
            f"{_address_hint(chosen)} or use a faster model."
        )
    if failed_as(core.ModelConnectionError) or _called(chain, "connect"):
        return (
            f"The model {chosen!r} cannot be reached ({detail}). Check that its server runs and the network"
            f"{_address_hint(chosen)}."
        )
    if failed_as(core.ModelInvalidRequestError, 400, 413, 422):
        if re.search(r"image|vision|multimodal|content.{0,20}(type|part)", text):
            return (
                f"The model {chosen!r} cannot read images. Send text, or choose a model that reads images. ({detail})"
            )
        if re.search(r"\btools?\b|function", text):
            return f"The model {chosen!r} refused the tools. Set dialect: text in the agent's YAML. ({detail})"
        return f"The model {chosen!r} refused the request as invalid: {detail}"
    if failed_as(core.ModelAPIError) or (status is not None and status >= 500):
        return (
            f"The model {chosen!r} failed on its own side ({status or 'server error'}). Send it again later. ({detail})"
        )
    return f"The model {chosen!r} failed: {type(error).__name__}: {detail}"


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


def _key_hint(spec: str) -> str:
    names = _KEY_NAMES.get(_provider(spec) or "")
    return f"{names[0]} in .env" if names else "the provider's key in .env"


def _address_hint(spec: str) -> str:
    if _provider(spec) != "openai":
        return ""
    return " and OPENAI_BASE_URL" if os.environ.get("OPENAI_BASE_URL") else ""


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and what caused it; SDKs wrap what the network raised."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    return chain


def _called(chain: list[BaseException], word: str) -> bool:
    """Return whether an error's type is called so; the types of every HTTP client are not ours to import."""
    return any(word in type(link).__name__.lower() for link in chain)


def _wait(chain: list[BaseException]) -> str:
    for link in chain:
        headers = getattr(getattr(link, "response", None), "headers", None) or {}
        if re.fullmatch(r"\d+(\.\d+)?", after := str(headers.get("retry-after", ""))):
            return f"{after} seconds"
    return "a little"


def _scrub(error: BaseException) -> str:
    """Return an error's text on one bounded line, without anything secret."""
    text = " ".join(str(error).split())
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search(r"KEY|TOKEN|SECRET|PASSWORD", name):
            text = text.replace(value, "[hidden]")
    text = re.sub(r"://[^/\s@]*@", "://[hidden]@", text)
    text = re.sub(r"(?i)\bbearer\s+\S+", "Bearer [hidden]", text)
    # Providers repeat a refused key in part: the rest of it is not for logs either.
    text = re.sub(r"\b(sk|pk|gsk|xai|key)[-_][\w*.-]{4,}", "[hidden]", text)
    return text if len(text) <= 300 else f"{text[:299]}…"
