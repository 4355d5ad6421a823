"""Content blocks of stored messages: images, sounds and files by reference, in the formats of providers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.store.base import BaseStore

from react_mem.memory.model.namespaces import off_loop
from react_mem.memory.model.records import Message
from react_mem.memory.store.attachments import MAX_ATTACHMENT, Attachment, attach, limit_of, read_attachment, refs_in

_MEDIA = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "media": "file",
}
"""Block types of providers -> medium."""

_INNER = ("image_url", "video_url", "input_audio", "file", "source", "extras", "metadata")
"""Nested fields in which some providers put the fields of a block."""

_DATA = ("base64", "data", "file_data")
_CAPTION = ("caption", "alt", "alt_text", "title", "description", "filename", "file_name", "name")

_MAX_CAPTION = 300
_MAX_URL = 2_000
_MAX_MIME = 100
"""Character limits of a client's description of a block; a longer address is not an address of anything."""


def medium_of(block: Any) -> str:
    """Return the medium of a content block: `image`, `audio`, `video`, `file`, or empty.

    >>> medium_of({"type": "input_audio"}), medium_of({"type": "tool_use"}), medium_of("words")
    ('audio', '', '')
    """
    return _MEDIA.get(str(block.get("type")), "") if isinstance(block, Mapping) else ""


def has_media(message: BaseMessage) -> bool:
    """Return true if a message has a block with a medium."""
    return not isinstance(message.content, str) and any(map(medium_of, message.content))


def referring(records: Iterable[Message], kept: dict[str, Attachment] | None) -> list[Message]:
    """Return messages with references in place of media, and the captions as keywords.

    It takes a while for large data: see `media_size`.

    Args:
        records: The messages; those with references already stay as they are.
        kept: Receives the data, by reference; None keeps no data.
    """
    found = []
    for record in records:
        if not isinstance(record.content, str):
            content = [b if b.get("type") == "text" else by_reference(b, kept) for b in record.content]
            words = " ".join(captions_in(content)) or record.keywords
            record = record.model_copy(update={"content": content, "keywords": words})
        found.append(record)
    return found


async def kept_apart(store: BaseStore, user_id: str, records: Sequence[Message]) -> list[Message]:
    """Store the attachments of messages, and return the messages with references to them.

    Attachments over the owner's limit are marked `omitted`. Without attachments the store is not asked.
    """
    given: dict[str, Attachment] = {}
    work = partial(referring, records, given if limit_of(store) else None)
    referred = await off_loop(media_size(records), work)
    refused = given.keys() - await attach(store, user_id, given.values())
    if refused:
        referred = [one.model_copy(update={"content": without_data(one.content, refused)}) for one in referred]
    return referred


def omitted(records: Iterable[Message]) -> int:
    """Return the number of blocks with data that was not stored."""
    blocks = (block for record in records if not isinstance(record.content, str) for block in record.content)
    return sum(block.get("omitted") is True and "bytes" in block for block in blocks)


def media_size(records: Iterable[Message]) -> int:
    """Return the number of characters of data in the blocks of messages."""
    blocks = (block for record in records if not isinstance(record.content, str) for block in record.content)
    return sum(len(p) for b in blocks if medium_of(b) for p in _flat(b).values() if isinstance(p, str))


def by_reference(block: Mapping[str, Any], kept: dict[str, Attachment] | None) -> dict[str, Any]:
    """Return a block without data: with a reference to stored data, with an external URL, or `omitted`. Idempotent.

    Args:
        kept: Receives the data, by reference; None keeps no data.

    >>> kept = {}
    >>> block = by_reference({"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png", "caption": "Miu"}, kept)
    >>> block == {"type": "image", "ref": next(iter(kept)), "bytes": 5, "mime": "image/png", "caption": "Miu"}
    True
    >>> by_reference({"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}, kept)
    {'type': 'image', 'url': 'https://a.b/c.png'}
    """
    medium = medium_of(block)
    if not medium:
        return {"type": str(block.get("type")), "omitted": True}
    flat = _flat(block)
    data, mime = _data(flat)
    said = {"mime": mime[:_MAX_MIME], "caption": caption_of(block)}
    return {"type": medium, **_where(flat, data, kept), **{name: part for name, part in said.items() if part}}


def without_data(content: Any, refused: Collection[str]) -> Any:
    """Return a record's content with the refused references as `omitted`."""
    if not isinstance(content, list):
        return content
    return [
        {name: part for name, part in block.items() if name != "ref"} | {"omitted": True}
        if block.get("ref") in refused
        else block
        for block in content
    ]


def captions_in(content: Any) -> list[str]:
    """Return the captions in a record's content."""
    return [block["caption"] for block in content if block.get("caption")] if isinstance(content, list) else []


def shown_blocks(content: Any) -> str:
    """Return the media of a record's content in words.

    >>> shown_blocks([{"type": "text", "text": "Hi"}, {"type": "image", "caption": "Miu [2]"}, {"type": "audio"}])
    '[image: Miu (2)] [audio]'
    """
    if not isinstance(content, list):
        return ""
    # brackets within would end the mark
    media = [(medium_of(block), block.get("caption", "").translate({91: "(", 93: ")"})) for block in content]
    return " ".join(f"[{medium}: {caption}]" if caption else f"[{medium}]" for medium, caption in media if medium)


def said_again(content: Sequence[Any], data: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a record's content for a model: with the data of attachments, or their captions in words.

    Args:
        data: The data of attachments as base64, by reference.
    """
    blocks = []
    for block in content:
        medium = medium_of(block)
        if not medium:
            blocks += [block] if "text" in block else []
        elif block.get("ref") in data:
            mime = block.get("mime") or ("image/png" if medium == "image" else "application/octet-stream")
            blocks.append({"type": medium, "base64": data[block["ref"]], "mime_type": mime})
        elif "url" in block:
            blocks.append({"type": medium, "url": block["url"]})
        else:
            blocks.append({"type": "text", "text": shown_blocks([block])})
    return blocks


def _where(flat: Mapping[str, Any], data: str, kept: dict[str, Attachment] | None) -> dict[str, Any]:
    """Return the location of a block's data: a reference, an external URL, or `omitted`."""
    if refs_in({"content": [flat]}) and isinstance(flat.get("bytes"), int):
        return {"ref": flat["ref"], "bytes": flat["bytes"]}
    url = str(flat.get("url") or "")
    if not data:
        if url and len(url) <= _MAX_URL and not url.startswith("data:"):
            return {"url": url}
        return {"omitted": True, **{name: flat[name] for name in ("bytes",) if isinstance(flat.get(name), int)}}
    size = len(data) * 3 // 4 - data[-2:].count("=")
    # a third more for line ends, but no more is looked at than that
    if kept is None or size > MAX_ATTACHMENT * 4 // 3:
        return {"omitted": True, "bytes": size}
    try:
        attachment = Attachment.of(data)
    except ValueError:
        return {"omitted": True, "bytes": size}
    if not 0 < attachment.size <= MAX_ATTACHMENT:
        return {"omitted": True, "bytes": attachment.size}
    kept[attachment.ref] = attachment
    return {"ref": attachment.ref, "bytes": attachment.size}


def _flat(block: Mapping[str, Any]) -> dict[str, Any]:
    flat = dict(block)
    for name in _INNER:
        inner = block.get(name)
        if isinstance(inner, Mapping):
            flat |= {key: part for key, part in inner.items() if key != "type"}
        elif isinstance(inner, str) and name.endswith("_url"):
            flat["url"] = inner
    return flat


def _data(flat: Mapping[str, Any]) -> tuple[str, str]:
    """Return the data of a block as base64, and its media type."""
    mime = next((str(flat[name]) for name in ("mime_type", "media_type", "mime") if flat.get(name)), "")
    given = (flat.get(name) for name in (*_DATA, "url"))
    data = next((one for one in given if isinstance(one, str) and one), "")
    if data.startswith("data:"):
        head, _, data = data.partition(",")
        return (data, mime or head[5:].partition(";")[0]) if head.endswith(";base64") else ("", mime)
    if data == flat.get("url"):
        return "", mime
    return data, mime or (f"audio/{flat['format']}" if flat.get("format") else "")


def caption_of(block: Mapping[str, Any]) -> str:
    """Return the caption, title or file name of a block; empty if it has none.

    >>> caption_of({"type": "file", "file": {"filename": "plan.pdf", "file_data": "aGVsbG8="}})
    'plan.pdf'
    """
    if not medium_of(block):
        return ""
    flat = _flat(block)
    told = (flat.get(name) for name in _CAPTION)
    words = next((one for one in told if isinstance(one, str) and one.strip()), "")
    return " ".join(words[: 2 * _MAX_CAPTION].split())[:_MAX_CAPTION]


async def said_content(store: BaseStore, user_id: str, record: Message) -> str | list[dict[str, Any]]:
    """Return the content of a message for a model, with its attachments.

    Args:
        store: The store.
        user_id: The owner.
        record: The message.
    """
    if isinstance(record.content, str):
        return record.content
    read = {ref: await read_attachment(store, user_id, ref) for ref in refs_in(vars(record))}
    return said_again(record.content, {ref: "".join(pieces) for ref, pieces in read.items() if pieces})
