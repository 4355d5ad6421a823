"""Content blocks of messages as memory keeps them: images, sounds and files by reference, in the forms of providers."""

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
"""Types of the providers' blocks that are not text, and the media that they are called here."""

_INNER = ("image_url", "video_url", "input_audio", "file", "source", "extras", "metadata")
"""Fields in which providers put what others have in the block itself."""

_DATA = ("base64", "data", "file_data")
_CAPTION = ("caption", "alt", "alt_text", "title", "description", "filename", "file_name", "name")

_MAX_CAPTION = 300
_MAX_URL = 2_000
_MAX_MIME = 100
"""Characters that are kept of what a client says of a block; a longer address is not an address of anything."""


def medium_of(block: Any) -> str:
    """Return what a content block is: `image`, `audio`, `video` or `file`; empty where it is none of them.

    >>> medium_of({"type": "input_audio"}), medium_of({"type": "tool_use"}), medium_of("words")
    ('audio', '', '')
    """
    return _MEDIA.get(str(block.get("type")), "") if isinstance(block, Mapping) else ""


def has_media(message: BaseMessage) -> bool:
    """Return whether a message shows or plays something."""
    return not isinstance(message.content, str) and any(map(medium_of, message.content))


def referring(records: Iterable[Message], kept: dict[str, Attachment] | None) -> list[Message]:
    """Return messages with references in the place of what they show, which they are found by the captions of.

    It takes a while where they show much: see `media_size`.

    Args:
        records: The messages; those that refer to it already stay as they are.
        kept: Where the data is put, by the references; without it, nothing is kept of that.
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
    """Keep what messages show, and return them with references in its place, for who writes them next.

    Args:
        store: The store; without messages that show something, it is not asked.
        user_id: The owner. What they have no room for is `omitted`.
        records: The messages.
    """
    given: dict[str, Attachment] = {}
    work = partial(referring, records, given if limit_of(store) else None)
    referred = await off_loop(media_size(records), work)
    refused = given.keys() - await attach(store, user_id, given.values())
    if refused:
        referred = [one.model_copy(update={"content": without_data(one.content, refused)}) for one in referred]
    return referred


def omitted(records: Iterable[Message]) -> int:
    """Return how many blocks of messages are only named, since their data is not kept."""
    blocks = (block for record in records if not isinstance(record.content, str) for block in record.content)
    return sum(block.get("omitted") is True and "bytes" in block for block in blocks)


def media_size(records: Iterable[Message]) -> int:
    """Return how many characters the data in the blocks of messages has."""
    blocks = (block for record in records if not isinstance(record.content, str) for block in record.content)
    return sum(len(p) for b in blocks if medium_of(b) for p in _flat(b).values() if isinstance(p, str))


def by_reference(block: Mapping[str, Any], kept: dict[str, Attachment] | None) -> dict[str, Any]:
    """Return a block without its data: with a reference to that, with the address of what is elsewhere, or `omitted`.

    Args:
        block: The block, which may be one of those that this function returns.
        kept: Where its data is put, by the reference; without it, nothing is kept of that.

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
    """Return the content of a record with the blocks as `omitted` whose data is not kept.

    Args:
        content: The content.
        refused: The references of what is not kept.
    """
    if not isinstance(content, list):
        return content
    return [
        {name: part for name, part in block.items() if name != "ref"} | {"omitted": True}
        if block.get("ref") in refused
        else block
        for block in content
    ]


def captions_in(content: Any) -> list[str]:
    """Return the captions of the blocks of a record's content."""
    return [block["caption"] for block in content if block.get("caption")] if isinstance(content, list) else []


def shown_blocks(content: Any) -> str:
    """Return what a record's content shows or plays, in words.

    >>> shown_blocks([{"type": "text", "text": "Hi"}, {"type": "image", "caption": "Miu [2]"}, {"type": "audio"}])
    '[image: Miu (2)] [audio]'
    """
    if not isinstance(content, list):
        return ""
    media = [(medium_of(block), _within(block.get("caption", ""))) for block in content]
    return " ".join(f"[{medium}: {caption}]" if caption else f"[{medium}]" for medium, caption in media if medium)


def said_again(content: Sequence[Any], data: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the content of a record as a model takes it: with the data, or what there was in words.

    Args:
        content: The content.
        data: The data of attachments as base64, by their references.
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
    """Return where the data of a block is."""
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
    """Return a block with what it has in fields of its own in one."""
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
    """Return how what a block shows is called, by a caption, a title or the name of a file; empty where nothing says.

    >>> caption_of({"type": "file", "file": {"filename": "plan.pdf", "file_data": "aGVsbG8="}})
    'plan.pdf'
    """
    if not medium_of(block):
        return ""
    flat = _flat(block)
    told = (flat.get(name) for name in _CAPTION)
    words = next((one for one in told if isinstance(one, str) and one.strip()), "")
    return " ".join(words[: 2 * _MAX_CAPTION].split())[:_MAX_CAPTION]


def _within(caption: str) -> str:
    return caption.replace("[", "(").replace("]", ")")


async def said_content(store: BaseStore, user_id: str, record: Message) -> str | list[dict[str, Any]]:
    """Return the content of a message as a model takes it, with what is attached to it.

    Args:
        store: The store.
        user_id: The owner.
        record: The message.
    """
    if isinstance(record.content, str):
        return record.content
    read = {ref: await read_attachment(store, user_id, ref) for ref in refs_in(vars(record))}
    return said_again(record.content, {ref: "".join(pieces) for ref, pieces in read.items() if pieces})
