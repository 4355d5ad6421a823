# Written by `make clients` from the server's OpenAPI schema: change that, not this.

"""The operations of the server: a method each, and one more for what comes in pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Literal, overload

from react_mem_client.models import (
    AnswerSources,
    ContextAnswer,
    ConversationDetail,
    ConversationPage,
    EraseAnswer,
    FeedbackAnswer,
    ForgetAnswer,
    HeldConversation,
    HiddenMemories,
    HiddenMemory,
    MemoryDetail,
    MemoryItem,
    MemoryPage,
    MemoryScope,
    MessagePage,
    Origin,
    OwnersProfile,
    PauseAnswer,
    RememberAnswer,
    SaidMessage,
    SearchAnswer,
    ShownGraph,
    ShownMessage,
    SkillList,
    StoreMessagesAnswer,
    UndoneWrite,
    UsageAnswer,
    WaitingTurns,
)
from react_mem_client.transport import ServerEvent, Transport, entity_tag, items_of, read_answer, read_events, segment


class MemoryClient(Transport):
    """Memory of a user on a server, over its REST interface."""

    async def forget_memory(self, *, ids: Sequence[str] | None = None, text: str | None = None) -> ForgetAnswer:
        """Forget memories for good: a fact goes with what derives from it, and with the sentences of messages that
        said it.

        Of several ids those that are known are forgotten, and `problems` names the others.

        The thread keeps its messages, which no prompt shows any more; delete it through the server's own API.

        Args:
            ids: The ids of memories, as an export has them.
            text: What is to be forgotten, in the user's words: the one memory that says it.

        Returns:
            Result of the request.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 413, 422, 423, 503.
        """
        answer = await self._send(
            "POST", "/memory/v1/forget", query={"user_id": self.user_id}, body={"ids": ids, "text": text}
        )
        return read_answer(ForgetAnswer, answer)

    async def erase_user(self, confirm: Literal["erase everything"]) -> EraseAnswer:
        """Erase what is remembered of the caller, with their threads, for good.

        Runs that go on in these threads are cancelled. A request that failed half way can be made again.

        Args:
            confirm: `erase everything`: it cannot be undone.

        Returns:
            Result of the request.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 413, 422, 423, 503.
        """
        answer = await self._send(
            "POST", "/memory/v1/erase", query={"user_id": self.user_id}, body={"confirm": confirm}
        )
        return read_answer(EraseAnswer, answer)

    async def give_feedback(
        self,
        *,
        thread_id: str | None = None,
        message_id: str | None = None,
        run_id: str | None = None,
        score: float | bool | Literal["up", "down"] | None = None,
        value: Any | None = None,
        key: str | None = None,
        comment: str | None = None,
    ) -> FeedbackAnswer:
        """Raise or lower the memories that stood in the prompt of an answer, and count for the skills that it
        followed.

        Said again, it changes nothing; of each key the last word counts.

        Args:
            thread_id: The conversation; not needed beside `run_id`.
            message_id: The answer or the question, by its id, or its record's; by default the last answer.
            run_id: The run that answered, in place of `thread_id` and `message_id`.
            score: 1 or `up`, -1 or `down`, 0 for neither any more. With `run_id` alone it is LangSmith's, where 0
                is bad and 1 is good.
            value: Read where there is no `score`: `up`, `down`, `good`, `bad`, yes or no.
            key: What is judged. Of each key the last word counts; by default user.
            comment: Taken, and kept nowhere.

        Returns:
            Result of the request.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 409, 413, 422, 503.
        """
        answer = await self._send(
            "POST",
            "/memory/v1/feedback",
            query={"user_id": self.user_id},
            body={
                "thread_id": thread_id,
                "message_id": message_id,
                "run_id": run_id,
                "score": score,
                "value": value,
                "key": key,
                "comment": comment,
            },
        )
        return read_answer(FeedbackAnswer, answer)

    @overload
    async def list_memories(
        self,
        *,
        scope: Sequence[MemoryScope] | None = None,
        kind: Sequence[str] | None = None,
        state: Literal["current", "past", "all"] | None = None,
        session_id: str | None = None,
        origin: Sequence[Origin] | None = None,
        topic: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        topics: bool | None = None,
        if_none_match: None = None,
    ) -> MemoryPage: ...

    @overload
    async def list_memories(
        self,
        *,
        scope: Sequence[MemoryScope] | None = None,
        kind: Sequence[str] | None = None,
        state: Literal["current", "past", "all"] | None = None,
        session_id: str | None = None,
        origin: Sequence[Origin] | None = None,
        topic: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        topics: bool | None = None,
        if_none_match: str,
    ) -> MemoryPage | None: ...

    async def list_memories(
        self,
        *,
        scope: Sequence[MemoryScope] | None = None,
        kind: Sequence[str] | None = None,
        state: Literal["current", "past", "all"] | None = None,
        session_id: str | None = None,
        origin: Sequence[Origin] | None = None,
        topic: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        topics: bool | None = None,
        if_none_match: str | None = None,
    ) -> MemoryPage | None:
        """List what is remembered of the caller, the latest first, page by page.

        What is written while the pages are turned neither repeats nor hides a memory on those that follow. Without
        a scope and a kind, what memory writes for itself is left out. The ETag changes with every write of the
        caller's memory.

        Args:
            scope: Scopes; several may be named.
            kind: Kinds, such as `fact`.
            state: What is believed, what no longer is, or both; by default current.
            session_id: A conversation.
            origin: Who vouches for it.
            topic: A topic of facts, as `topics` names them.
            since: The earliest time at which it came into memory.
            before: The time before which it did.
            limit: Memories on a page; by default 50.
            cursor: The `next_cursor` of the page before.
            topics: Whether to tell the topics of all memories.
            if_none_match: The ETag of the list that is known.

        Returns:
            A page of memories, the latest first. None where nothing has changed since `if_none_match`.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send(
            "GET",
            "/memory/v1/memories",
            query={
                "scope": scope,
                "kind": kind,
                "state": state,
                "session_id": session_id,
                "origin": origin,
                "topic": topic,
                "since": since,
                "before": before,
                "limit": limit,
                "cursor": cursor,
                "topics": topics,
                "user_id": self.user_id,
            },
            headers={"If-None-Match": entity_tag(if_none_match)},
        )
        return None if answer.status_code == 304 else read_answer(MemoryPage, answer)

    def iter_memories(
        self,
        *,
        scope: Sequence[MemoryScope] | None = None,
        kind: Sequence[str] | None = None,
        state: Literal["current", "past", "all"] | None = None,
        session_id: str | None = None,
        origin: Sequence[Origin] | None = None,
        topic: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        topics: bool | None = None,
    ) -> AsyncIterator[MemoryItem]:
        """Iterate over all that `list_memories` has, and ask for each page when it is needed.

        Args:
            scope: Scopes; several may be named.
            kind: Kinds, such as `fact`.
            state: What is believed, what no longer is, or both; by default current.
            session_id: A conversation.
            origin: Who vouches for it.
            topic: A topic of facts, as `topics` names them.
            since: The earliest time at which it came into memory.
            before: The time before which it did.
            limit: Memories on a page; by default 50.
            topics: Whether to tell the topics of all memories.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """

        async def turn(cursor: str | None) -> MemoryPage:
            return await self.list_memories(
                scope=scope,
                kind=kind,
                state=state,
                session_id=session_id,
                origin=origin,
                topic=topic,
                since=since,
                before=before,
                limit=limit,
                topics=topics,
                cursor=cursor,
            )

        return items_of(turn)

    async def remember(self, text: str, *, about: str | None = None, agent: str | None = None) -> RememberAnswer:
        """Remember what the user says, in their own words; said twice it is one memory.

        What is known already has this as one source more, however often it is told, so that it outlives the
        conversation that said it first.

        A text of several statements is a memory each, and so is what tells the assistant what to do from now on: a
        message, which stands in prompts. What only asks, requests, greets or supposes, and what shows somebody
        else's words, states nothing and is refused.

        Args:
            text: What the user says, in their own words: statements, such as `I live in Hue.`
            about: Whom or what it is about, by name; empty for the user.
            agent: The agent whose model is to read it behind this answer, as it reads turns; by default assistant.

        Returns:
            Result of telling something.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 413, 422, 503.
        """
        answer = await self._send(
            "POST",
            "/memory/v1/memories",
            query={"user_id": self.user_id},
            body={"text": text, "about": about, "agent": agent},
        )
        return read_answer(RememberAnswer, answer)

    async def show_memory(self, memory_id: str) -> MemoryDetail:
        """Show a memory with its history, the messages it comes from, what was made of it, its links and its uses.

        The ETag is the memory's own, for `If-Match`.

        Args:
            memory_id: The id of the memory.

        Returns:
            A memory with all that explains it.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send("GET", f"/memory/v1/memories/{segment(memory_id)}", query={"user_id": self.user_id})
        return read_answer(MemoryDetail, answer)

    async def correct_memory(self, memory_id: str, text: str, *, if_match: str | None = None) -> MemoryItem:
        """Put the user's own words in the place of a fact, which stays as dated history; return what is believed now.

        What states nothing is refused, as where something is remembered. With `If-Match` only the fact that was
        looked at is corrected.

        Args:
            memory_id: The id of the memory.
            text: What is true instead, in the user's words.
            if_match: The ETag of what the change is of: done only if it is.

        Returns:
            A memory, as a list shows it.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 412, 413, 422, 503.
        """
        answer = await self._send(
            "PATCH",
            f"/memory/v1/memories/{segment(memory_id)}",
            query={"user_id": self.user_id},
            body={"text": text},
            headers={"If-Match": entity_tag(if_match)},
        )
        return read_answer(MemoryItem, answer)

    async def forget_memory_by_id(self, memory_id: str, *, if_match: str | None = None) -> ForgetAnswer:
        """Forget a memory for good: a fact goes with what derives from it, and with the sentences of messages that
        said it.

        With `If-Match` only what was looked at is forgotten.

        Args:
            memory_id: The id of the memory.
            if_match: The ETag of what the change is of: done only if it is.

        Returns:
            Result of the request.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 412, 422, 423, 503.
        """
        answer = await self._send(
            "DELETE",
            f"/memory/v1/memories/{segment(memory_id)}",
            query={"user_id": self.user_id},
            headers={"If-Match": entity_tag(if_match)},
        )
        return read_answer(ForgetAnswer, answer)

    async def search_memories(
        self,
        query: str,
        *,
        scopes: Sequence[MemoryScope] | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
        agent: str | None = None,
    ) -> SearchAnswer:
        """Return what an agent would find for a question, the nearest first, with the part of each way of searching.

        Nothing is written, and no language model is asked.

        Args:
            query: What to look for, in words.
            scopes: Where; by default wherever meaning is indexed.
            limit: Memories of each scope; by default 10.
            as_of: What was believed at this time; without a zone, in UTC.
            agent: The agent by whose policy is searched: the name of its file; by default assistant.

        Returns:
            Result of a search.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 413, 422, 503.
        """
        answer = await self._send(
            "POST",
            "/memory/v1/search",
            query={"user_id": self.user_id},
            body={"query": query, "scopes": scopes, "limit": limit, "as_of": as_of, "agent": agent},
        )
        return read_answer(SearchAnswer, answer)

    async def explain_context(
        self, message: str, *, thread_id: str | None = None, agent: str | None = None
    ) -> ContextAnswer:
        """Return what the prompt for a message would be: its parts with their tokens, and the memories in each.

        No model is called and nothing is written; the web is not searched, and no tools or layers are chosen. The
        conversation is told as memory has it: the steps of earlier turns, which only the thread has, are missing.

        Args:
            message: What the user would say.
            thread_id: The conversation it would go on; by default a new one.
            agent: The agent: the name of its file; by default assistant.

        Returns:
            Prompt as it would be, and why.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 413, 422, 503.
        """
        answer = await self._send(
            "POST",
            "/memory/v1/context",
            query={"user_id": self.user_id},
            body={"message": message, "thread_id": thread_id, "agent": agent},
        )
        return read_answer(ContextAnswer, answer)

    async def explain_answer(self, thread_id: str, message_id: str) -> AnswerSources:
        """Return why an answer was given: the memories that stood in its prompt, as they are now.

        Args:
            thread_id: The conversation: the id of its thread.
            message_id: The answer or its question: its id, or its record's.

        Returns:
            An answer, and what stood in its prompt.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send(
            "GET", f"/memory/v1/context/{segment(thread_id)}/{segment(message_id)}", query={"user_id": self.user_id}
        )
        return read_answer(AnswerSources, answer)

    async def list_conversations(self, *, limit: int | None = None, cursor: str | None = None) -> ConversationPage:
        """List the conversations of which memory has something, the one first in which something was last said.

        One that goes on while the pages are turned moves to the first of them.

        Args:
            limit: Conversations on a page; by default 50.
            cursor: The `next_cursor` of the page before.

        Returns:
            A page of conversations, the latest first.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send(
            "GET", "/memory/v1/conversations", query={"limit": limit, "cursor": cursor, "user_id": self.user_id}
        )
        return read_answer(ConversationPage, answer)

    def iter_conversations(self, *, limit: int | None = None) -> AsyncIterator[HeldConversation]:
        """Iterate over all that `list_conversations` has, and ask for each page when it is needed.

        Args:
            limit: Conversations on a page; by default 50.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """

        async def turn(cursor: str | None) -> ConversationPage:
            return await self.list_conversations(limit=limit, cursor=cursor)

        return items_of(turn)

    async def show_conversation(
        self, thread_id: str, *, limit: int | None = None, cursor: str | None = None, first_turn: int | None = None
    ) -> ConversationDetail:
        """Show a conversation with the tree of its summaries and a page of its messages, the oldest first.

        Args:
            thread_id: The conversation: the id of its thread.
            limit: Messages on a page; by default 100.
            cursor: The `next_cursor` of the page before.
            first_turn: Where the messages begin: a summary says its own.

        Returns:
            A conversation with its summaries and a page of its messages.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send(
            "GET",
            f"/memory/v1/conversations/{segment(thread_id)}",
            query={"limit": limit, "cursor": cursor, "first_turn": first_turn, "user_id": self.user_id},
        )
        return read_answer(ConversationDetail, answer)

    def iter_conversation_messages(
        self, thread_id: str, *, limit: int | None = None, first_turn: int | None = None
    ) -> AsyncIterator[ShownMessage]:
        """Iterate over all that `show_conversation` has, and ask for each page when it is needed.

        Args:
            thread_id: The conversation: the id of its thread.
            limit: Messages on a page; by default 100.
            first_turn: Where the messages begin: a summary says its own.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """

        async def turn(cursor: str | None) -> MessagePage:
            return (await self.show_conversation(thread_id, limit=limit, first_turn=first_turn, cursor=cursor)).messages

        return items_of(turn)

    async def forget_conversation(self, thread_id: str) -> ForgetAnswer:
        """Forget a conversation for good: its messages, its thread on this server, and what was derived from it alone.

        Args:
            thread_id: The conversation: the id of its thread.

        Returns:
            Result of the request.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 423, 503.
        """
        answer = await self._send(
            "DELETE", f"/memory/v1/conversations/{segment(thread_id)}", query={"user_id": self.user_id}
        )
        return read_answer(ForgetAnswer, answer)

    async def store_messages(
        self, thread_id: str, messages: Sequence[SaidMessage], *, agent: str | None = None
    ) -> StoreMessagesAnswer:
        """Store what was said to an agent of any framework: facts are drawn from it behind this answer, as from turns
        here.

        Each message is stored once: send what is new, the same again, or the whole conversation with every message.
        Those without an `id` are known by their place and words, so that two in a row which are there already count
        as these: name what may well be said again. An `id` that stands for other words is refused (409), and
        nothing is stored.

        A conversation that is not there begins. The assistant's words teach nothing about the user.

        Args:
            thread_id: The conversation: the id of its thread.
            messages: Messages in order: the new ones, or the whole conversation with them.
            agent: The agent whose model is to read it behind this answer, as it reads turns; by default assistant.

        Returns:
            Messages as they are stored.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 409, 413, 422, 503.
        """
        answer = await self._send(
            "POST",
            f"/memory/v1/conversations/{segment(thread_id)}/messages",
            query={"user_id": self.user_id},
            body={"messages": messages, "agent": agent},
        )
        return read_answer(StoreMessagesAnswer, answer)

    async def show_profile(self) -> OwnersProfile:
        """Show what is known about the user as a person, field by field, with the messages that say it.

        Returns:
            The profile of a user.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send("GET", "/memory/v1/profile", query={"user_id": self.user_id})
        return read_answer(OwnersProfile, answer)

    async def show_pause(self) -> PauseAnswer:
        """Tell whose memory it is, and whether nothing more is remembered.

        Returns:
            The owner of a memory, and whether it is paused.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send("GET", "/memory/v1/pause", query={"user_id": self.user_id})
        return read_answer(PauseAnswer, answer)

    async def set_pause(self, paused: bool) -> PauseAnswer:
        """Remember nothing of the user's turns from now on, or remember again; what is known is used all the same.

        Args:
            paused: True to remember nothing of what they say from now on; what is known is used.

        Returns:
            The owner of a memory, and whether it is paused.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send("PUT", "/memory/v1/pause", query={"user_id": self.user_id}, body={"paused": paused})
        return read_answer(PauseAnswer, answer)

    async def list_pending(self) -> WaitingTurns:
        """List the turns from which nothing has been drawn yet, and why.

        Returns:
            The turns that wait, the oldest first.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send("GET", "/memory/v1/pending", query={"user_id": self.user_id})
        return read_answer(WaitingTurns, answer)

    async def list_hidden(self) -> HiddenMemories:
        """List what conversations seem to have asked to forget: it is hidden, and erased after a day.

        Returns:
            Hidden memories, the oldest first.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send("GET", "/memory/v1/hidden", query={"user_id": self.user_id})
        return read_answer(HiddenMemories, answer)

    async def undo_hidden(self, hidden_id: str) -> HiddenMemory:
        """Bring back what is hidden; what has changed since keeps that.

        Args:
            hidden_id: The id, as the list of what is hidden has it.

        Returns:
            Something that a conversation seems to ask to forget: hidden, and not erased yet.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send(
            "POST", f"/memory/v1/hidden/{segment(hidden_id)}/undo", query={"user_id": self.user_id}
        )
        return read_answer(HiddenMemory, answer)

    async def undo_last(self) -> UndoneWrite:
        """Take back what memory has drawn from what the user said last, whose conversation stays; repeated, from
        before.

        Returns:
            Result of an undo: the part of memory that had been drawn from the user's last words.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 423, 503.
        """
        answer = await self._send("POST", "/memory/v1/undo", query={"user_id": self.user_id})
        return read_answer(UndoneWrite, answer)

    async def erase_hidden(self, hidden_id: str) -> ForgetAnswer:
        """Erase what is hidden for good, before its day is over.

        Args:
            hidden_id: The id, as the list of what is hidden has it.

        Returns:
            Result of the request.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 423, 503.
        """
        answer = await self._send("DELETE", f"/memory/v1/hidden/{segment(hidden_id)}", query={"user_id": self.user_id})
        return read_answer(ForgetAnswer, answer)

    async def list_skills(self) -> SkillList:
        """List what agents have learnt from the user's tasks, what is used most first.

        Returns:
            The skills, those that are used most first.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send("GET", "/memory/v1/skills", query={"user_id": self.user_id})
        return read_answer(SkillList, answer)

    async def show_graph(self, *, kind: Sequence[str] | None = None, limit: int | None = None) -> ShownGraph:
        """Show memories and how they are linked; of many the newest, which `cut` says.

        Args:
            kind: Kinds, such as `fact`.
            limit: Memories at most: the newest; by default 2000.

        Returns:
            Memories with the links among them: of many, the newest.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send(
            "GET", "/memory/v1/graph", query={"kind": kind, "limit": limit, "user_id": self.user_id}
        )
        return read_answer(ShownGraph, answer)

    async def show_usage(self) -> UsageAnswer:
        """Show how much is remembered of the user; an administrator is shown besides how the memory of this server is.

        Returns:
            Figures on what is remembered, and for an administrator on the memory of the server.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        answer = await self._send("GET", "/memory/v1/usage", query={"user_id": self.user_id})
        return read_answer(UsageAnswer, answer)

    async def export_memory(self, *, format: Literal["jsonl", "html", "markdown"] | None = None) -> AsyncIterator[str]:
        """Export everything that is remembered of the user, as a file; it names no user.

        Args:
            format: `jsonl` can be imported again; the others are to be read; by default jsonl.

        Yields:
            The file. Its parts, one after the other.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 503.
        """
        async with self._stream(
            "GET", "/memory/v1/export", query={"format": format, "user_id": self.user_id}
        ) as answer:
            async for part in answer.aiter_text():
                yield part

    async def follow_memory(self, *, last_event_id: str | None = None) -> AsyncIterator[ServerEvent]:
        """Send the revision of the user's memory now and whenever it has changed, until the client goes.

        The stream ends after ten minutes, and so does who was authenticated for it: connect again, as `EventSource`
        does. With the id of the last event, an event comes at once only where memory has changed since.

        Args:
            last_event_id: The id of the last event that is known.

        Yields:
            `revision` events; comment lines in between.

        Raises:
            MemoryApiError: If the server refuses: 401, 404, 422, 429, 503.
        """
        async with self._stream(
            "GET", "/memory/v1/events", query={"user_id": self.user_id}, headers={"Last-Event-ID": last_event_id}
        ) as answer:
            async for part in read_events(answer):
                yield part
