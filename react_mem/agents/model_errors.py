"""Classification of failed model calls: their kind, the cure, and whether a retry may help."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from langchain_core import exceptions as core

from react_mem.agents.models import address_hint, key_hint, resolve_chat_spec
from react_mem.errors import ModelConfigError
from react_mem.memory.turns import scrub

FailureKind = Literal[
    "context", "key", "permission", "not_found", "quota", "rate", "timeout", "connection", "request", "server",
    "setup", "other",
]  # fmt: skip

_PASSING: frozenset[FailureKind] = frozenset({"quota", "rate", "timeout", "connection", "server"})
_OF_THE_REQUEST: frozenset[FailureKind] = frozenset({"context", "request"})


@dataclass(frozen=True)
class ModelFailure:
    """A model call that failed.

    Args:
        kind: What failed: the request does not fit (`context`, `request`), what the model was set up with is refused
            (`key`, `permission`, `not_found`, `setup`), the service is out of order (`quota`, `rate`, `timeout`,
            `connection`, `server`), or `other`.
        message: A sentence with the cause and the fix; never a key.
        wait: Seconds after which the service wants to be asked again, where it says so.
    """

    kind: FailureKind
    message: str
    wait: float | None = None

    @property
    def passes(self) -> bool:
        """Return whether the service is out of order, which no change of the request or the set-up would mend."""
        return self.kind in _PASSING

    @property
    def of_the_request(self) -> bool:
        """Return whether the fault is the request's: it says nothing of the model's health."""
        return self.kind in _OF_THE_REQUEST


def explain_model_error(error: BaseException, spec: str) -> ModelFailure:
    """Say what a failed model call means.

    Args:
        error: What the call raised.
        spec: The model as configured.

    Returns:
        The kind of failure, in words too.

    >>> failure = explain_model_error(TimeoutError(), "openai:gpt-4.1-mini")
    >>> failure.kind, failure.passes
    ('timeout', True)
    """
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
    failed_as = _matcher(chain, status)
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


def _matcher(chain: list[BaseException], status: int | None) -> Callable[..., bool]:
    def failed_as(kind: type[core.ModelError], *codes: int) -> bool:
        return any(isinstance(link, kind) for link in chain) or status in codes

    return failed_as


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and what caused it; SDKs wrap what the network raised."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    return chain


def _called(chain: list[BaseException], *names: str) -> bool:
    """Return whether an error's type is called so; the types of every HTTP client are not ours to import."""
    kinds = [kind.__name__.lower() for link in chain for kind in type(link).__mro__]
    return any(name in kind for kind in kinds for name in names)


def _is_garbled(chain: list[BaseException]) -> bool:
    """Return whether the service answered what is not an answer, such as a proxy's page or an error within a stream."""
    return any(
        isinstance(link, json.JSONDecodeError)
        or type(link).__name__ == "APIError"
        or str(link).startswith("No generations found in stream")
        for link in chain
    )


def _wait(chain: list[BaseException]) -> float | None:
    """Return the seconds that a service asks for; it may also name a time of day, which clocks disagree about."""
    for link in chain:
        headers = getattr(getattr(link, "response", None), "headers", None) or {}
        if re.fullmatch(r"\d{1,6}(\.\d+)?", after := str(headers.get("retry-after", ""))):
            return float(after)
    return None
