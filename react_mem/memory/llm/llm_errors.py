"""Errors of model calls, whoever provides the model. No message here holds a key."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from langchain_core.exceptions import ModelError

from react_mem.errors import ExtractionError, InvalidOutput, ModelRejected, ModelUnavailable
from react_mem.memory.llm.causes import cause_of, scrub, unquoted
from react_mem.memory.model.records import now

_RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
# What a client library raises when a well-delivered answer is not what it expects: no choices, a body that is not JSON.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


def translate(error: Exception, secrets: Sequence[str] = ()) -> ExtractionError:
    """Return one of our errors for what a model client raised.

    Args:
        error: Any error of a client library.
        secrets: What must not appear in the message.

    Returns:
        The error to raise in its place, `from None`: the original may hold a key.
    """
    if isinstance(error, ExtractionError):
        return error
    status = getattr(error, "status_code", None)
    detail = scrub(_said(error) if isinstance(status, int) else cause_of(error), secrets)
    if is_openais(error, "ContentFilterFinishReasonError"):
        return ModelRejected("the service's content filter refused the answer")
    if isinstance(error, NotImplementedError):
        return ModelRejected("this chat model cannot be asked for structured output or tool calls; use another one")
    if isinstance(status, int):
        if status >= 500 or status in _RETRYABLE_STATUS:
            return ModelUnavailable(f"the model answered HTTP {status}: {detail}", retry_after=_retry_after(error))
        return ModelRejected(f"the model refused the request with HTTP {status}: {detail}")
    if isinstance(error, ModelError) and not error.is_retryable:
        return ModelRejected(f"the model refused the request: {detail}")
    if isinstance(error, _UNREADABLE) and not isinstance(error, (ModelError, OSError)):
        return InvalidOutput("the model's answer could not be read", raw=detail)
    return ModelUnavailable(f"the model could not be reached: {detail}")


def is_openais(error: Exception, name: str) -> bool:
    """Return whether an error is of a class of OpenAI's client, which takes half a second to import.

    Args:
        error: Any error.
        name: The class; where nobody has imported the client, nothing is one.
    """
    client = sys.modules.get("openai")
    return client is not None and isinstance(error, getattr(client, name))


def _said(error: Exception) -> str:
    """Return what a service says of a request, without what it quotes of it."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, Mapping) else None
    return unquoted(str(message or error)) or type(error).__name__


def _retry_after(error: Any) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = (headers.get("retry-after") or "") if headers is not None else ""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - now()).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a time zone
        return None
