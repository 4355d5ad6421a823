"""The error of a request that the server has not carried out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import httpx


class MemoryApiError(Exception):
    """Answer of the server that a request could not be carried out, or an answer that is none of its own.

    What keeps an answer from coming at all is raised as httpx raises it (`httpx.TransportError`).

    Args:
        status: The HTTP status.
        title: The status in words, such as `Precondition Failed`.
        detail: The cause, as the server tells it; of a request that is wrong, a list of the fields that are.
        retry_after: Seconds after which to ask again, where the server says so.
    """

    def __init__(self, status: int, title: str, detail: Any, retry_after: float | None = None) -> None:
        self.status = status
        self.title = title
        self.detail = detail
        self.retry_after = retry_after
        super().__init__(f"{status} {title}: {_in_words(detail)}")

    @classmethod
    def of(cls, answer: httpx.Response) -> MemoryApiError:
        """Return the error that an answer tells of; its body has been read."""
        try:
            body = answer.json()
        except ValueError:
            body = None
        told = body if isinstance(body, dict) else {"detail": answer.text[:500]}
        wait = answer.headers.get("retry-after", "")
        return cls(
            answer.status_code,
            str(told.get("title") or _phrase(answer.status_code)),
            told.get("detail", ""),
            float(wait) if wait.isdecimal() else None,
        )


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown Status"


def _in_words(detail: Any) -> str:
    """Return a cause as one line: of fields that are wrong, where each is and what is wrong with it."""
    if not isinstance(detail, list):
        return str(detail)
    parts = [one if isinstance(one, dict) else {"msg": one} for one in detail]
    return "; ".join(f"{'.'.join(map(str, one.get('loc', ())))}: {one.get('msg', '')}".lstrip(": ") for one in parts)
