"""`react-mem receipt`: the key that receipts are signed with, and whether a receipt is one of a server's."""

from __future__ import annotations

import argparse
import asyncio

from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.text import Text

from react_mem.agents.terminal.output import read_lines
from react_mem.errors import MemoryCommandError
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import SignedReceipt, open_storage, public_half, public_key

_MAX_CHARS = 50_000_000


async def run_receipt(arguments: argparse.Namespace, settings: StorageSettings, console: Console) -> int:
    """Carry out one of the commands.

    Args:
        arguments: The command's.
        settings: The database, which is not opened where the key is given, or the operator's own is set.
        console: Where to draw.

    Returns:
        The exit code: 1 if the receipt is not what it claims to be, or does not say that the rows are gone.

    Raises:
        MemoryCommandError: If the file cannot be read.
        StorageError: If the database cannot be opened.
    """
    if arguments.verb == "key":
        console.print(Text(await _key_of(settings)), soft_wrap=True)
        return 0
    receipt = await asyncio.to_thread(_read, arguments.file)
    key = arguments.public_key or await _key_of(settings)
    wrong = _wrong(receipt, key, arguments.user)
    if wrong:
        console.print(Text(f"{arguments.file}: {wrong}", style="red"), soft_wrap=True)
        return 1
    told = receipt.receipt
    console.print(Text(f"signed by {key}, at {told.at.isoformat()}: {told.in_short()}"), soft_wrap=True)
    return 0 if told.is_gone else 1


async def _key_of(settings: StorageSettings) -> str:
    given = await asyncio.to_thread(settings.signing_key)
    if given is not None:
        # no database is needed for it
        return public_half(given)
    async with open_storage(settings) as storage:
        return await public_key(storage.store)


def _wrong(receipt: SignedReceipt, key: str, user_id: str | None) -> str:
    """Return why a receipt is not what it claims to be; empty where it is."""
    if not receipt.is_signed_by(key):
        other = receipt.is_signed_by(receipt.public_key)
        return f"was signed by another key, {receipt.public_key}" if other else "was changed after it was signed"
    if user_id is not None and not receipt.is_of(user_id):
        return "is about another user"
    return ""


class _SavedAnswer(BaseModel):
    """Answer of the route that erases, saved as it came."""

    receipt: SignedReceipt


def _read(file: str) -> SignedReceipt:
    text = "\n".join(read_lines(file))
    if len(text) > _MAX_CHARS:
        raise MemoryCommandError(f"{file} is no receipt: it is longer than {_MAX_CHARS} characters")
    try:
        return _SavedAnswer.model_validate_json(text).receipt
    except ValidationError:
        # then it is the receipt alone, or is told as none
        pass
    try:
        return SignedReceipt.model_validate_json(text)
    except ValidationError as error:
        raise MemoryCommandError(
            f"{file} is no signed receipt, as `react-mem memory forget --receipt` writes it: "
            f"{error.error_count()} fields are wrong or missing"
        ) from None
