"""Content blocks of messages: media by reference, in the formats of providers; tool calls and thinking."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.store.base import BaseStore

from react_mem.memory.model.namespaces import off_loop
from react_mem.memory.model.records import CalledTool, Message
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
_MAX_MIME = 100  # character limits of a client's description of a block; a longer address is not an address of anything


M = TypeVar("M", bound=BaseMessage)


def blocks_of(message: BaseMessage) -> list[dict[str, Any]]:
    """Return the content of a message as blocks: a string, and each string among blocks, as a block of text.

    >>> blocks_of(AIMessage("Hi"))
    [{'type': 'text', 'text': 'Hi'}]
    """
    given = [message.content] if isinstance(message.content, str) else message.content
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in given]


def words_in(block: Mapping[str, Any]) -> str:
    """Return the words of a block: its text, or the transcript of a voice note; empty of another medium.

    >>> words_in({"type": "input_audio", "input_audio": {"data": "aGk=", "transcript": "Buy tea"}})
    'Buy tea'
    """
    words = block.get("text") or (_flat(block).get("transcript") if medium_of(block) == "audio" else "")
    return words if isinstance(words, str) else ""


def texts_of(message: BaseMessage) -> list[str]:
    """Return the texts of a message, of a string and of blocks alike, without media and thinking."""
    said = (block for block in blocks_of(message) if not (medium_of(block) or block.get("type") in THOUGHTS))
    return list(filter(None, map(words_in, said)))


def with_text(message: M, change: Callable[[str], str]) -> M:
    """Return a message with its text changed; the same message if it stays. The texts of blocks are changed as one.

    >>> with_text(AIMessage([{"type": "text", "text": "So "}, {"type": "text", "text": "long"}]), str.upper).content
    [{'type': 'text', 'text': 'SO LONG'}]
    """
    if isinstance(message.content, str):
        text = change(message.content)
        return message if text == message.content else message.model_copy(update={"content": text})
    # an answer is cut into blocks within its sentences
    whole = ("" if isinstance(message, AIMessage) else "\n").join(texts_of(message))
    if (text := change(whole)) == whole:
        return message
    blocks: list[dict[str, Any]] = []
    said = [{"type": "text", "text": text}]
    for block in blocks_of(message):
        if medium_of(block) or block.get("type") in THOUGHTS or not words_in(block):
            blocks.append(block)
        else:
            blocks += said
            said = []
    return message.model_copy(update={"content": blocks})


def without_media(message: M) -> M:
    """Return a message with its media in words, `[image]` or a voice note's transcript; the same without any."""
    if not has_media(message):
        return message
    blocks = [
        {"type": "text", "text": words_in(block) or shown_blocks([{**block, "caption": caption_of(block)}])}
        if medium_of(block)
        else block
        for block in blocks_of(message)
    ]
    return message.model_copy(update={"content": blocks})


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
    """Return messages with references in place of media; `kept` receives the data, if any. Slow for large data."""
    found = []
    for record in records:
        if not isinstance(record.content, str):
            content = [b if b.get("type") == "text" else by_reference(b, kept) for b in record.content]
            words = " ".join(captions_in(content)) or record.keywords
            record = record.model_copy(update={"content": content, "keywords": words})
        found.append(record)
    return found


async def kept_apart(store: BaseStore, user_id: str, records: Sequence[Message]) -> list[Message]:
    """Store attachments and return the messages with references; those over the owner's limit are marked `omitted`."""
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
    """Return a block without data: with a reference to stored data, an external URL, or `omitted`. See `referring`.

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
    """Return a record's content for a model: with attachments' data (base64, by reference), or captions in words."""
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
    """Return the content of a message for a model, with its attachments."""
    if isinstance(record.content, str):
        return record.content
    read = {ref: await read_attachment(store, user_id, ref) for ref in refs_in(vars(record))}
    return said_again(record.content, {ref: "".join(pieces) for ref, pieces in read.items() if pieces})


# Calls and thoughts that led to an answer: a model's thinking, in the forms of the providers.

THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""Types of content blocks with a model's thinking, which nobody says aloud."""

CALLS = frozenset({"tool_call", "tool_use", "function_call", "server_tool_call", "server_tool_use"})
"""Types of content blocks with a tool call."""

_MAX_ARGUMENTS = 2_000
_MAX_THINKING = 4_000
_MAX_CALLS = 20
"""Limits of a turn's record: characters of a call's arguments, characters of thinking, and calls. The latest are kept;
the thread has all.
"""

_BESIDE = ("reasoning_content", "thought")
"""Fields beside the content that hold thinking: of servers of open models, and of tool calls in text form."""

_BEFORE = re.compile(r"\s*<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def called(messages: Sequence[AIMessage]) -> tuple[CalledTool, ...]:
    """Return the tool calls before an answer, the latest last.

    >>> call = {"name": "look_up", "args": {"what": "Huế"}, "id": "c1"}
    >>> called([AIMessage("", tool_calls=[call])])
    (CalledTool(name='look_up', arguments='{"what": "Huế"}', id='c1'),)
    """
    calls = [call for message in messages for call in calls_of(message)]
    return tuple(map(_kept, calls[-_MAX_CALLS:]))


def calls_of(message: AIMessage) -> list[Mapping[str, Any]]:
    """Return the calls of a message, from its field and from its content, each as {"name", "args", "id"}.

    >>> calls_of(AIMessage([{"type": "tool_use", "name": "look_up", "input": {"what": "Huế"}, "id": "c1"}]))
    [{'name': 'look_up', 'args': {'what': 'Huế'}, 'id': 'c1'}]
    """
    if isinstance(message.content, str):
        return list(message.tool_calls)
    known = {call["id"] for call in message.tool_calls}
    return [*message.tool_calls, *(call for call in map(_call, message.content) if call and call["id"] not in known)]


def led_apart(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message to be written with its calls and thinking moved from its blocks to their own fields.

    Its `tool_calls` and `thinking` stay, ahead of those of its blocks.

    >>> led_apart({"content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Hi"}]})
    {'content': [{'type': 'text', 'text': 'Hi'}], 'thinking': 'Hm.'}
    """
    content, known = data.get("content"), data.get("tool_calls") or ()
    if not isinstance(content, list) or not isinstance(known, list | tuple):
        return dict(data)
    ids = {call.get("id") if isinstance(call, Mapping) else getattr(call, "id", None) for call in known}
    found = [call for call in map(_call, content) if call]
    calls = [_kept(call) for call in found if not call["id"] or call["id"] not in ids]
    thought = "\n\n".join(dict.fromkeys(text for block in content if _is_thought(block) for text in _texts(block)))
    said = [block for block in content if not (_is_thought(block) or _call(block))]
    apart = {**data, "content": said}
    if calls:
        apart["tool_calls"] = [*known, *calls][-_MAX_CALLS:]
    if thought:
        apart["thinking"] = _latest("\n\n".join(filter(None, [data.get("thinking"), thought])))
    return apart


def thoughts_in(messages: Sequence[AIMessage]) -> str:
    """Return a model's thinking for an answer, the latest part if it is long.

    >>> thoughts_in([AIMessage([{"type": "thinking", "thinking": "Hm.", "signature": "x"}])])
    'Hm.'
    """
    # some servers send it twice, beside the content and in it
    thought = "\n\n".join(dict.fromkeys(text for message in messages for text in _thoughts(message)))
    return _latest(thought)


def thought_before(text: str) -> str:
    """Return the tagged thinking at the head of a text; empty if there is none.

    >>> thought_before("<think>Hm.</think> Hello"), thought_before("I think so")
    ('<think>Hm.</think>', '')
    """
    found = _BEFORE.match(text) if "<" in text[:80] else None
    return found[0] if found else ""


def _thoughts(message: AIMessage) -> Iterable[str]:
    told = [message.additional_kwargs.get(name) for name in _BESIDE] if message.additional_kwargs else []
    content = message.content
    if isinstance(content, str):
        found = _BEFORE.match(content) if "<" in content[:80] else None
        told += [found[1]] if found else []
    else:
        told += filter(_is_thought, content)
    return [text for part in told for text in _texts(part)]


def _is_thought(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") in THOUGHTS


def _call(block: Any) -> Mapping[str, Any] | None:
    """Return the call of a block as {"name", "args", "id"}; None if it is none."""
    if not isinstance(block, Mapping) or block.get("type") not in CALLS or not isinstance(block.get("name"), str):
        return None
    args: Any = next((block[name] for name in ("args", "input", "arguments") if name in block), {})
    return {"name": block["name"], "args": args, "id": str(block.get("call_id") or block.get("id") or "")}


def _kept(call: Mapping[str, Any]) -> CalledTool:
    args = call["args"]
    arguments = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str)
    if len(arguments) > _MAX_ARGUMENTS:
        arguments = f"{arguments[: _MAX_ARGUMENTS - 1]}…"
    return CalledTool(name=call["name"], arguments=arguments, id=call["id"] or "")


def _latest(thought: str) -> str:
    return thought if len(thought) <= _MAX_THINKING else f"…{thought[1 - _MAX_THINKING :]}"


def _texts(part: Any) -> Iterable[str]:
    """Yield the texts of a thinking block."""
    if isinstance(part, str):
        if part.strip():
            yield part.strip()
    elif isinstance(part, Mapping):
        # never the signature beside it, nor what is encrypted
        for name in ("thinking", "reasoning", "reasoning_content", "summary", "content", "text"):
            yield from _texts(part.get(name))
    elif isinstance(part, list):
        for one in part:
            yield from _texts(one)
