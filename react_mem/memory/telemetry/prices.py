"""Prices of models: a setting, because nobody's prices stay. Without it tokens are counted and nothing is priced.

The environment variable `MODEL_PRICES` is a mapping in YAML (and so in JSON), or the path of a file with one: the price
of a million tokens by model, in any currency.

    gpt-4o-mini: {input: 0.15, output: 0.60}
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from react_mem.errors import PriceError

VARIABLE = "MODEL_PRICES"
_MILLION = 1_000_000
_PROVIDER = re.compile(r"^[a-z_]+:")
_VERSION = re.compile(r"[-@:](\d[\d.-]*|latest)")
"""Suffix that providers append to a model's name: a date or a number."""

log = logging.getLogger(__name__)


class Price(BaseModel, extra="forbid", frozen=True):
    """Price of a million tokens of a model.

    Args:
        input: Those of the prompt.
        output: Those of the answer.
    """

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return the price of a call.

        >>> Price(input=1.0, output=4.0).of(500_000, 250_000)
        1.5
        """
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


_PRICES = TypeAdapter(dict[str, Price])


def load_prices(setting: str) -> dict[str, Price]:
    """Read a setting. Blocks: it may read a file.

    Args:
        setting: As in `MODEL_PRICES`.

    Returns:
        The price of each model.

    Raises:
        PriceError: If it is no such mapping, or names a file that cannot be read.

    >>> load_prices("{gpt-4o-mini: {input: 0.15, output: 0.6}}")
    {'gpt-4o-mini': Price(input=0.15, output=0.6)}
    """
    where = VARIABLE
    try:
        read: Any = yaml.safe_load(setting)
        if isinstance(read, str):
            where = f"the file of {VARIABLE}, {setting},"
            read = yaml.safe_load(Path(setting).expanduser().read_text(encoding="utf-8"))
        return _PRICES.validate_python(read or {})
    except OSError as error:
        raise PriceError(
            f"{VARIABLE} is neither a mapping nor a file that can be read ({error.strerror}: {setting}). It looks like "
            "{gpt-4o-mini: {input: 0.15, output: 0.60}}, the price of a million tokens."
        ) from error
    except (yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        cause = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
        raise PriceError(
            f"{where} does not say what models cost: {cause}. It looks like "
            "{gpt-4o-mini: {input: 0.15, output: 0.60}}, the price of a million tokens."
        ) from error


@cache
def configured_prices() -> Mapping[str, Price]:
    """Return the prices of the environment, as they were when first asked for; none where they cannot be read."""
    try:
        return load_prices(os.environ.get(VARIABLE, ""))
    except PriceError as error:
        log.error("nothing is priced: %s", error)
        return {}


def price_of(names: tuple[str, ...], prices: Mapping[str, Price]) -> Price | None:
    """Return a model's price.

    Args:
        names: What the model is called: as asked for, as the provider calls it.
        prices: The prices.

    Returns:
        The price of the name, with or without the provider's, or without the version that providers append; None if
        there is none.

    >>> prices = {"openai:gpt-4o": Price(input=1, output=2)}
    >>> [price_of((name,), prices) for name in ("gpt-4o", "gpt-4o-2024-08-06", "azure:gpt-4o-mini")]
    [Price(input=1.0, output=2.0), Price(input=1.0, output=2.0), None]
    """
    exact = next((prices[name] for name in names if name in prices), None)
    if exact is not None:
        return exact
    bare = {_without_provider(known): price for known, price in prices.items()}
    called = [_without_provider(name) for name in names]
    for name in called:
        if name in bare:
            return bare[name]
    for name in called:
        for known, price in bare.items():
            if name.startswith(known) and _VERSION.fullmatch(name[len(known) :]):
                return price
    return None


def _without_provider(name: str) -> str:
    return _PROVIDER.sub("", name, count=1)
