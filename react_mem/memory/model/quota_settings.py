"""Settings of quotas: how much of an agent a user may take up in a day, and how much may be stored of them."""

from __future__ import annotations

from pydantic import BaseModel, Field


class QuotaSettings(BaseModel, extra="forbid", frozen=True):
    """Quotas of a user, for a day by UTC and in all: the `quotas:` block of an agent's `memory:`.

    What a user takes up is counted over all agents that have the quota, and each agent holds the sum to its own limit.

    >>> QuotaSettings().limits_days, QuotaSettings(messages_a_day=100).limits_days
    (False, True)
    """

    messages_a_day: int | None = Field(None, ge=1, description="Messages of a user that are answered, at most.")
    model_calls_a_day: int | None = Field(
        None, ge=1, description="Calls of the chat model for a user, at most; each step of a turn is one."
    )

    memories: int | None = Field(
        None, ge=1, description="Memories of a user that are stored, at most: messages, facts and all other records."
    )
    bytes: int | None = Field(
        None,
        ge=1,
        description="Bytes that are stored of a user, at most: texts and attachments as the store keeps them.",
    )

    @property
    def limits_days(self) -> bool:
        """Truth of whether there is a quota of a day."""
        return self.messages_a_day is not None or self.model_calls_a_day is not None
