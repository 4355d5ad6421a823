"""Settings of a conversation's summaries."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from react_mem.memory.model.model_spec import ModelChoice


class SummarySettings(BaseModel, extra="forbid", frozen=True):
    """The shape of a conversation's summaries: the `summaries:` block of an agent's `memory:`.

    Raises:
        ValueError: If more messages or summaries are to be folded at once than there may be.
    """

    enabled: bool = Field(
        True, description="Whether older parts of a conversation are summed up behind the turns, level by level."
    )
    n_sum: int = Field(6, ge=2, le=200, description="Messages of the chain at which some of them become a summary.")
    sum_window: int = Field(
        3,
        ge=1,
        le=200,
        description="How many of them do; and how many of the highest level bring the master up to date.",
    )
    n_sum_sum: int = Field(3, ge=2, le=50, description="Summaries of one level that become one of the next.")
    max_sum_lvl: int = Field(3, ge=1, le=9, description="The highest level below the master.")
    window: Literal["newest", "oldest"] = Field(
        "newest", description="Which messages become a summary: oldest keeps the latest word for word."
    )
    summary_model: ModelChoice = Field(
        "", description="The model that sums up, named as `models.small` is; empty: the agent's small model."
    )
    summary_length: int = Field(600, ge=80, le=4000, description="Characters of a summary, at most.")
    check_coherence: bool = Field(
        False,
        description="Whether a summary that loses or invents names and numbers of its sources is made once more.",
    )

    @model_validator(mode="after")
    def _folds_fit(self) -> Self:
        if self.sum_window > self.n_sum:
            raise ValueError(f"sum_window ({self.sum_window}) messages cannot be taken out of n_sum ({self.n_sum})")
        return self
