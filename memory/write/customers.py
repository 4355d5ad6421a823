"""The customer of a conversation: what the profile knows of them, or what the deployment's own lookup does.

A deployment that keeps its customers elsewhere names a function in `REACT_MEM_CUSTOMER_LOOKUP`:

    # crm.py, on PYTHONPATH; REACT_MEM_CUSTOMER_LOOKUP=crm:customer
    async def customer(*, conversation_id: str, user_id: str | None) -> dict[str, str] | None:
        row = await orders.find(conversation_id)
        return {"name": row.name, "phone": row.phone} if row else None

It is asked first. What it knows stands alone, since it may name somebody else than the profile does, and two people are
never mixed into one. Where it knows nobody, or fails, the profile of the conversation's owner is read. Nothing here
comes from a model.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import os
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Protocol, cast

from pydantic import BaseModel, BeforeValidator, StringConstraints, ValidationError

from react_mem.errors import CustomerLookupError
from react_mem.memory.language.cues import listed
from react_mem.memory.language.folding import fold
from react_mem.memory.model.interface import Memory, MemoryQuery, MemoryResults, MemoryScope

LOOKUP_ENV = "REACT_MEM_CUSTOMER_LOOKUP"

MAX_VALUE_CHARS = 300
"""Of one value: an address with every part of it has half of that."""

log = logging.getLogger(__name__)


def _one_line(value: Any) -> Any:
    return re.sub(r"\s+", " ", value).strip() if isinstance(value, str) else "" if value is None else value


_Value = Annotated[str, BeforeValidator(_one_line), StringConstraints(max_length=MAX_VALUE_CHARS)]


class Customer(BaseModel, extra="forbid", frozen=True, hide_input_in_errors=True):
    """Customer, as far as known; empty where not.

    Args:
        name: The name.
        phone: The telephone number.
        email: The e-mail address.
        address: Where they live, or where things are sent.
        gender: The gender.
        form_of_address: How to address them, such as `anh`, `chị` or `Dr.`.
    """

    name: _Value = ""
    phone: _Value = ""
    email: _Value = ""
    address: _Value = ""
    gender: _Value = ""
    form_of_address: _Value = ""

    @property
    def known(self) -> dict[str, str]:
        """Return the known fields, in order."""
        return {field: value for field, value in self.model_dump().items() if value}


class CustomerLookup(Protocol):
    """Customer lookup that a deployment plugs in."""

    def __call__(
        self, *, conversation_id: str, user_id: str | None
    ) -> Awaitable[Customer | Mapping[str, str | None] | None]:
        """Return the customer of a conversation, or None.

        Args:
            conversation_id: The conversation.
            user_id: Its owner, if one is known.
        """


@dataclass(frozen=True)
class FoundCustomer:
    """Result of a customer lookup.

    Args:
        customer: Who it is; None where nobody is known.
        answered: Whether somebody could be asked at all, so that None means that nothing is known.
        problems: What failed on the way, without a value of anybody's.
    """

    customer: Customer | None = None
    answered: bool = False
    problems: tuple[str, ...] = ()


async def find_customer(
    memory: Memory | None, *, conversation_id: str, user_id: str | None, agent_id: str, deadline: float
) -> FoundCustomer:
    """Return the customer of a conversation. It never fails; what fails is said.

    Args:
        memory: Where the profile is read; None where there is no store.
        conversation_id: The conversation.
        user_id: Its owner; None where nobody is named, and then no profile is read.
        agent_id: Who asks.
        deadline: Seconds to wait for the lookup, and for the profile.
    """
    problems: tuple[str, ...] = ()
    path = os.environ.get(LOOKUP_ENV, "").strip()
    if path:
        try:
            async with asyncio.timeout(deadline):
                looked_up = await _look_up(path, conversation_id, user_id)
        except Exception as error:  # it is the deployment's: anything may go wrong in it
            log.warning("the customer lookup %s failed: %s", path, type(error).__name__)
            problems = (f"the customer lookup failed: {_cause(error)}",)
        else:
            if looked_up is not None:
                return FoundCustomer(looked_up, answered=True)
            if memory is None or not user_id:
                return FoundCustomer(answered=True)
    if memory is None or not user_id:
        return FoundCustomer(problems=problems)
    try:
        query = MemoryQuery(
            user_id=user_id, session_id=conversation_id, agent_id=agent_id, scopes=[MemoryScope.PROFILE]
        )
        async with asyncio.timeout(deadline):
            found: MemoryResults = await memory.read(query)
    except Exception as error:
        log.warning("the customer's profile cannot be read: %s", type(error).__name__)
        problems = (*problems, f"the customer's profile could not be read ({type(error).__name__})")
        return FoundCustomer(problems=problems)
    known = Customer() if not found else customer_of(found[0].payload.get("fields") or {})
    return FoundCustomer(known if known.known else None, answered=True, problems=problems)


def customer_of(fields: Mapping[str, Any]) -> Customer:
    """Return the customer that a profile's fields tell of, whatever the fields are called.

    Args:
        fields: The fields, as a profile record holds them.

    >>> customer_of({"Full name": {"value": "Lan"}, "số điện thoại": {"value": "0905 123 456"}}).known
    {'name': 'Lan', 'phone': '0905 123 456'}
    """
    known: dict[str, str] = {}
    for name, entry in fields.items():
        field = _FIELD_OF.get(_folded(name))
        value = entry.get("value") if isinstance(entry, Mapping) else None
        # the plain name comes first in the tuples below: "name" counts more than "nickname"
        if field and value and isinstance(value, str) and (field not in known or _folded(name) == _folded(field)):
            known[field] = value[:MAX_VALUE_CHARS]
    return Customer.model_validate(known)


@cache
def load_lookup(path: str) -> CustomerLookup:
    """Import the lookup that a deployment names. Blocking.

    Args:
        path: `package.module:function`.

    Raises:
        CustomerLookupError: If there is no such function, or it is not async.
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
    return cast("CustomerLookup", lookup)


async def _look_up(path: str, conversation_id: str, user_id: str | None) -> Customer | None:
    lookup = await asyncio.to_thread(load_lookup, path)
    found = await lookup(conversation_id=conversation_id, user_id=user_id)
    if found is None:
        return None
    customer = found if isinstance(found, Customer) else Customer.model_validate(dict(found))
    return customer if customer.known else None


def _cause(error: Exception) -> str:
    if isinstance(error, CustomerLookupError):
        return str(error)
    if isinstance(error, ValidationError):
        fields = ", ".join(sorted({".".join(map(str, part["loc"])) for part in error.errors(include_input=False)}))
        return f"it returned an invalid customer (fields: {fields}); it may return {', '.join(Customer.model_fields)}"
    # what it says may hold somebody's data
    return "it took too long" if isinstance(error, TimeoutError) else type(error).__name__


def _folded(name: str) -> str:
    """Return a field's name without case, diacritics and punctuation."""
    return re.sub(r"[^a-z0-9]", "", fold(name))


_FIELD_OF = {
    name: field
    for field in Customer.model_fields
    for line in listed("fields", f"customer_{field}")
    for name in line.split()
}
"""Names of profiles' fields -> fields of a customer: agents name their own, else the extraction model does."""
