"""What every answer of the server is: a record that cannot be changed, with the ETag that came with it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, PrivateAttr


class Answer(BaseModel):
    """Record of an answer. What a newer server adds to it is left out; a word that is new to a choice is taken."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    _etag: str = PrivateAttr("")

    @property
    def etag(self) -> str:
        """ETag that the answer came with, for `if_match` and `if_none_match`; empty where it had none."""
        return self._etag
