"""A chat model as settings name it: by a name alone, or with an address and a key of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BaseModel, Discriminator, Field, SecretStr, StringConstraints, Tag, model_validator

ModelName = Annotated[str, StringConstraints(strip_whitespace=True)]


class ModelEndpoint(BaseModel, extra="forbid", frozen=True):
    """A chat model with what it is reached by.

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
"""A model's name, or an endpoint."""
