// Written by `make clients` from the server's OpenAPI schema: change that, not this.

import { Transport, entityTag, eventsOf, itemsOf, segment, textOf } from "./transport.js";

/** Memory of a user on a server, over its REST interface. */
export class MemoryClient extends Transport {
  async forgetMemory(options = {}) {
    return this.send("POST", "/memory/v1/forget", {
      query: { user_id: this.userId },
      body: { ids: options.ids, text: options.text },
      signal: options.signal,
    });
  }

  async eraseUser(confirm, options = {}) {
    return this.send("POST", "/memory/v1/erase", {
      query: { user_id: this.userId },
      body: { confirm },
      signal: options.signal,
    });
  }

  async giveFeedback(options = {}) {
    return this.send("POST", "/memory/v1/feedback", {
      query: { user_id: this.userId },
      body: {
        thread_id: options.thread_id,
        message_id: options.message_id,
        run_id: options.run_id,
        score: options.score,
        value: options.value,
        key: options.key,
        comment: options.comment,
      },
      signal: options.signal,
    });
  }

  async listMemories(options = {}) {
    return this.send("GET", "/memory/v1/memories", {
      query: {
        scope: options.scope,
        kind: options.kind,
        state: options.state,
        session_id: options.session_id,
        origin: options.origin,
        topic: options.topic,
        since: options.since,
        before: options.before,
        limit: options.limit,
        cursor: options.cursor,
        topics: options.topics,
        user_id: this.userId,
      },
      headers: { "If-None-Match": entityTag(options.if_none_match) },
      signal: options.signal,
    });
  }

  async *iterMemories(options = {}) {
    yield* itemsOf((cursor) => this.listMemories({ ...options, cursor }));
  }

  async remember(text, options = {}) {
    return this.send("POST", "/memory/v1/memories", {
      query: { user_id: this.userId },
      body: { text, about: options.about, agent: options.agent },
      signal: options.signal,
    });
  }

  async showMemory(memoryId, options = {}) {
    return this.send("GET", `/memory/v1/memories/${segment(memoryId)}`, {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async correctMemory(memoryId, text, options = {}) {
    return this.send("PATCH", `/memory/v1/memories/${segment(memoryId)}`, {
      query: { user_id: this.userId },
      body: { text },
      headers: { "If-Match": entityTag(options.if_match) },
      signal: options.signal,
    });
  }

  async forgetMemoryById(memoryId, options = {}) {
    return this.send("DELETE", `/memory/v1/memories/${segment(memoryId)}`, {
      query: { user_id: this.userId },
      headers: { "If-Match": entityTag(options.if_match) },
      signal: options.signal,
    });
  }

  async searchMemories(query, options = {}) {
    return this.send("POST", "/memory/v1/search", {
      query: { user_id: this.userId },
      body: { query, scopes: options.scopes, limit: options.limit, as_of: options.as_of, agent: options.agent },
      signal: options.signal,
    });
  }

  async explainContext(message, options = {}) {
    return this.send("POST", "/memory/v1/context", {
      query: { user_id: this.userId },
      body: { message, thread_id: options.thread_id, agent: options.agent },
      signal: options.signal,
    });
  }

  async explainAnswer(threadId, messageId, options = {}) {
    return this.send("GET", `/memory/v1/context/${segment(threadId)}/${segment(messageId)}`, {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async listConversations(options = {}) {
    return this.send("GET", "/memory/v1/conversations", {
      query: { limit: options.limit, cursor: options.cursor, user_id: this.userId },
      signal: options.signal,
    });
  }

  async *iterConversations(options = {}) {
    yield* itemsOf((cursor) => this.listConversations({ ...options, cursor }));
  }

  async showConversation(threadId, options = {}) {
    return this.send("GET", `/memory/v1/conversations/${segment(threadId)}`, {
      query: {
        limit: options.limit,
        cursor: options.cursor,
        first_turn: options.first_turn,
        user_id: this.userId,
      },
      signal: options.signal,
    });
  }

  async *iterConversationMessages(threadId, options = {}) {
    yield* itemsOf(async (cursor) => (await this.showConversation(threadId, { ...options, cursor })).messages);
  }

  async forgetConversation(threadId, options = {}) {
    return this.send("DELETE", `/memory/v1/conversations/${segment(threadId)}`, {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async storeMessages(threadId, messages, options = {}) {
    return this.send("POST", `/memory/v1/conversations/${segment(threadId)}/messages`, {
      query: { user_id: this.userId },
      body: { messages, agent: options.agent },
      signal: options.signal,
    });
  }

  async showProfile(options = {}) {
    return this.send("GET", "/memory/v1/profile", {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async showPause(options = {}) {
    return this.send("GET", "/memory/v1/pause", {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async setPause(paused, options = {}) {
    return this.send("PUT", "/memory/v1/pause", {
      query: { user_id: this.userId },
      body: { paused },
      signal: options.signal,
    });
  }

  async listPending(options = {}) {
    return this.send("GET", "/memory/v1/pending", {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async listHidden(options = {}) {
    return this.send("GET", "/memory/v1/hidden", {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async undoHidden(hiddenId, options = {}) {
    return this.send("POST", `/memory/v1/hidden/${segment(hiddenId)}/undo`, {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async undoLast(options = {}) {
    return this.send("POST", "/memory/v1/undo", {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async eraseHidden(hiddenId, options = {}) {
    return this.send("DELETE", `/memory/v1/hidden/${segment(hiddenId)}`, {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async listSkills(options = {}) {
    return this.send("GET", "/memory/v1/skills", {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async showGraph(options = {}) {
    return this.send("GET", "/memory/v1/graph", {
      query: { kind: options.kind, limit: options.limit, user_id: this.userId },
      signal: options.signal,
    });
  }

  async showUsage(options = {}) {
    return this.send("GET", "/memory/v1/usage", {
      query: { user_id: this.userId },
      signal: options.signal,
    });
  }

  async *exportMemory(options = {}) {
    const answer = await this.stream("GET", "/memory/v1/export", {
      query: { format: options.format, user_id: this.userId },
      signal: options.signal,
    });
    yield* textOf(answer);
  }

  async *followMemory(options = {}) {
    const answer = await this.stream("GET", "/memory/v1/events", {
      query: { user_id: this.userId },
      headers: { "Last-Event-ID": options.last_event_id },
      signal: options.signal,
    });
    yield* eventsOf(answer);
  }
}
