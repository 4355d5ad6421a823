"""Customer of a conversation, from the profile or from a lookup of the deployment.

A deployment that keeps its customers elsewhere names a function in `REACT_MEM_CUSTOMER_LOOKUP`:

    # crm.py, on PYTHONPATH; REACT_MEM_CUSTOMER_LOOKUP=crm:customer
    async def customer(*, identity: str, conversation_id: str) -> Mapping[str, object] | None:
        return await orders.fetchrow("SELECT * FROM customers WHERE login = $1", identity)

`identity` is the authenticated caller, and the only key to search by: callers choose conversation ids themselves, so a
lookup by one alone would give away anybody's telephone number. Without a known caller there is no lookup.

Columns are matched by common names of a customer's name, telephone number, e-mail, address, gender or form of address
(`full_name`, `sdt`, `pronoun`); of several rows the first counts.

The lookup is asked first and its result stands alone, since it may be another person than the profile's. If it knows
nobody, or fails, the profile of the conversation's owner is read. Nothing here comes from a model.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, StringConstraints

from react_mem.errors import CustomerLookupError
from react_mem.memory.language.folding import fold
from react_mem.memory.language.statements import listed
from react_mem.memory.model.interface import Memory, MemoryQuery, MemoryResults, MemoryScope

LOOKUP_ENV = "REACT_MEM_CUSTOMER_LOOKUP"

MAX_VALUE_CHARS = 300  # limit of one value: a complete address has half of that
log = logging.getLogger(__name__)


def _one_line(value: Any) -> Any:
    return re.sub(r"\s+", " ", value).strip() if isinstance(value, str) else "" if value is None else value


_Value = Annotated[str, BeforeValidator(_one_line), StringConstraints(max_length=MAX_VALUE_CHARS)]


class Customer(BaseModel, extra="forbid", frozen=True, hide_input_in_errors=True):
    """Customer; unknown fields are empty.

    Args:
        form_of_address: The form of address, such as `anh`, `chị` or `Dr.`.
    """

    name: _Value = ""
    phone: _Value = ""
    email: _Value = ""
    address: _Value = ""
    gender: _Value = ""
    form_of_address: _Value = ""

    @property
    def known(self) -> dict[str, str]:
        """The non-empty fields, in order."""
        return {field: value for field, value in self.model_dump().items() if value}


CustomerLookup = Callable[..., Awaitable[Customer | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None]]
"""Lookup that a deployment plugs in: the caller's customer, and nobody else's, as a customer, a row or rows."""


@dataclass(frozen=True)
class FoundCustomer:
    """Result of a lookup: if a source answered, None is an unknown customer. Problems hold no personal data."""

    customer: Customer | None = None
    answered: bool = False
    problems: tuple[str, ...] = ()


async def find_customer(
    memory: Memory | None, *, conversation_id: str, user_id: str | None, agent_id: str, deadline: float
) -> FoundCustomer:
    """Return the customer of a conversation; never raises. The deadline, in seconds, is for each of two sources."""
    if not user_id:
        return FoundCustomer()
    problems: tuple[str, ...] = ()
    path = os.environ.get(LOOKUP_ENV, "").strip()
    if path:
        try:
            async with asyncio.timeout(deadline):
                looked_up = await _look_up(path, user_id, conversation_id)
        except Exception as error:  # it is the deployment's: anything may go wrong in it
            log.warning("the customer lookup %s failed: %s", path, type(error).__name__)
            # what it says may hold somebody's data
            cause = "it took too long" if isinstance(error, TimeoutError) else type(error).__name__
            cause = str(error) if isinstance(error, CustomerLookupError) else cause
            problems = (f"the customer lookup failed: {cause}",)
        else:
            problems = looked_up.problems
            if looked_up.customer is not None or memory is None:
                return looked_up
    if memory is None:
        return FoundCustomer(problems=problems)
    try:
        where = {"user_id": user_id, "session_id": conversation_id, "agent_id": agent_id}
        query = MemoryQuery(**where, scopes=[MemoryScope.PROFILE])
        async with asyncio.timeout(deadline):
            found: MemoryResults = await memory.read(query)
    except Exception as error:
        log.warning("the customer's profile cannot be read: %s", type(error).__name__)
        problems = (*problems, f"the customer's profile could not be read ({type(error).__name__})")
        return FoundCustomer(problems=problems)
    fields: Mapping[str, Any] = (found[0].payload.get("fields") or {}) if found else {}
    values = {name: entry.get("value") for name, entry in fields.items() if isinstance(entry, Mapping)}
    known, _ = in_columns(values)
    return FoundCustomer(known if known.known else None, answered=True, problems=problems)


def in_columns(row: Mapping[str, Any]) -> tuple[Customer, list[str]]:
    """Return the customer in a row, by any common name of a column, and the fields with values other than text.

    >>> in_columns({"Full name": "Lan", "số điện thoại": "0905 123 456"})[0].known
    {'name': 'Lan', 'phone': '0905 123 456'}
    """
    known: dict[str, str] = {}
    wrong: list[str] = []
    for name, value in row.items():
        field = _FIELD_OF.get(_folded(str(name)))
        if field is None or value is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # a telephone number, where a table has it as one
        if not isinstance(value, str):
            wrong.append(field)
            continue
        text = _one_line(value)[:MAX_VALUE_CHARS]
        # "name" counts more than "username", whichever comes first
        if text and (field not in known or _folded(str(name)) == _folded(field)):
            known[field] = text
    return Customer.model_validate(known), sorted(set(wrong))


@cache
def load_lookup(path: str) -> CustomerLookup:
    """Import the lookup of a deployment, given as `package.module:function`. Blocking.

    Raises:
        CustomerLookupError: If there is no such function, it is not async, or it does not take the caller's identity.
    """
    module, colon, attribute = path.partition(":")
    wanted = f"{LOOKUP_ENV} is {path!r}"
    if not colon or not module or not attribute:
        raise CustomerLookupError(f"{wanted}; write package.module:function")
    try:
        lookup = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # it is the deployment's module: anything may go wrong in it
        raise CustomerLookupError(
            f"{wanted}, which cannot be imported ({type(error).__name__}: {error}); "
            "write package.module:function, with the package on PYTHONPATH"
        ) from None
    if not (inspect.iscoroutinefunction(lookup) or inspect.iscoroutinefunction(type(lookup).__call__)):
        raise CustomerLookupError(f"{wanted}, which is not an async function; define it with `async def`")
    if "identity" not in inspect.signature(lookup).parameters:
        raise CustomerLookupError(
            f"{wanted}, which does not take `identity`, the caller: define it with `*, identity, conversation_id`, and "
            "return nobody's customer but theirs"
        )
    return cast("CustomerLookup", lookup)


async def _look_up(path: str, identity: str, conversation_id: str) -> FoundCustomer:
    lookup = await asyncio.to_thread(load_lookup, path)
    found = await lookup(identity=identity, conversation_id=conversation_id)
    if isinstance(found, Sequence):
        found = found[0] if found else None
    if found is None:
        return FoundCustomer(answered=True)
    if isinstance(found, Customer):
        return FoundCustomer(found if found.known else None, answered=True)
    row = dict(found)
    customer, wrong = in_columns(row)
    problems: tuple[str, ...] = ()
    if wrong:
        problems = (f"the customer lookup returned what is no text (fields: {', '.join(wrong)}); it is left out",)
    elif row and not any(_folded(str(name)) in _FIELD_OF for name in row):
        fields = ", ".join(Customer.model_fields)
        problems = (f"the customer lookup returned a row with no column of a customer; name them {fields}",)
    return FoundCustomer(customer if customer.known else None, answered=True, problems=problems)


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", fold(name))


_FIELD_OF = {
    name: field
    for field in Customer.model_fields
    for line in listed("fields", f"customer_{field}")
    for name in line.split()
}
"""Names of profile fields -> fields of a customer; profile fields are named by agents or the model."""
