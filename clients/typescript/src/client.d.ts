// Written by `make clients` from the server's OpenAPI schema: change that, not this.

import type {
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
} from "./models.js";
import type { RequestOptions, ServerEvent, Tagged } from "./transport.js";
import { Transport } from "./transport.js";

/** Options of `forgetMemory`. */
export interface ForgetMemoryOptions extends RequestOptions {
  /** The ids of memories, as an export has them. */
  ids?: readonly string[] | undefined;
  /** What is to be forgotten, in the user's words: the one memory that says it. */
  text?: string | undefined;
}

/** Options of `giveFeedback`. */
export interface GiveFeedbackOptions extends RequestOptions {
  /** The conversation; not needed beside `run_id`. */
  thread_id?: string | undefined;
  /** The answer or the question, by its id, or its record's; by default the last answer. */
  message_id?: string | undefined;
  /** The run that answered, in place of `thread_id` and `message_id`. */
  run_id?: string | undefined;
  /**
   * 1 or `up`, -1 or `down`, 0 for neither any more. With `run_id` alone it is LangSmith's, where 0 is bad and 1 is
   * good.
   */
  score?: number | boolean | "up" | "down" | undefined;
  /** Read where there is no `score`: `up`, `down`, `good`, `bad`, yes or no. */
  value?: unknown | undefined;
  /** What is judged. Of each key the last word counts; by default user. */
  key?: string | undefined;
  /** Taken, and kept nowhere. */
  comment?: string | undefined;
}

/** Options of `listMemories`. */
export interface ListMemoriesOptions extends RequestOptions {
  /** Scopes; several may be named. */
  scope?: readonly MemoryScope[] | undefined;
  /** Kinds, such as `fact`. */
  kind?: readonly string[] | undefined;
  /** What is believed, what no longer is, or both; by default current. */
  state?: "current" | "past" | "all" | undefined;
  /** A conversation. */
  session_id?: string | undefined;
  /** Who vouches for it. */
  origin?: readonly Origin[] | undefined;
  /** A topic of facts, as `topics` names them. */
  topic?: string | undefined;
  /** The earliest time at which it came into memory. */
  since?: string | Date | undefined;
  /** The time before which it did. */
  before?: string | Date | undefined;
  /** Memories on a page; by default 50. */
  limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  cursor?: string | undefined;
  /** Whether to tell the topics of all memories. */
  topics?: boolean | undefined;
  /** The ETag of the list that is known. */
  if_none_match?: string | undefined;
}

/** Options of `remember`. */
export interface RememberOptions extends RequestOptions {
  /** Whom or what it is about, by name; empty for the user. */
  about?: string | undefined;
  /** The agent whose model is to read it behind this answer, as it reads turns; by default assistant. */
  agent?: string | undefined;
}

/** Options of `correctMemory`. */
export interface CorrectMemoryOptions extends RequestOptions {
  /** The ETag of what the change is of: done only if it is. */
  if_match?: string | undefined;
}

/** Options of `forgetMemoryById`. */
export interface ForgetMemoryByIdOptions extends RequestOptions {
  /** The ETag of what the change is of: done only if it is. */
  if_match?: string | undefined;
}

/** Options of `searchMemories`. */
export interface SearchMemoriesOptions extends RequestOptions {
  /** Where; by default wherever meaning is indexed. */
  scopes?: readonly MemoryScope[] | undefined;
  /** Memories of each scope; by default 10. */
  limit?: number | undefined;
  /** What was believed at this time; without a zone, in UTC. */
  as_of?: string | Date | undefined;
  /** The agent by whose policy is searched: the name of its file; by default assistant. */
  agent?: string | undefined;
}

/** Options of `explainContext`. */
export interface ExplainContextOptions extends RequestOptions {
  /** The conversation it would go on; by default a new one. */
  thread_id?: string | undefined;
  /** The agent: the name of its file; by default assistant. */
  agent?: string | undefined;
}

/** Options of `listConversations`. */
export interface ListConversationsOptions extends RequestOptions {
  /** Conversations on a page; by default 50. */
  limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  cursor?: string | undefined;
}

/** Options of `showConversation`. */
export interface ShowConversationOptions extends RequestOptions {
  /** Messages on a page; by default 100. */
  limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  cursor?: string | undefined;
  /** Where the messages begin: a summary says its own. */
  first_turn?: number | undefined;
}

/** Options of `storeMessages`. */
export interface StoreMessagesOptions extends RequestOptions {
  /** The agent whose model is to read it behind this answer, as it reads turns; by default assistant. */
  agent?: string | undefined;
}

/** Options of `showGraph`. */
export interface ShowGraphOptions extends RequestOptions {
  /** Kinds, such as `fact`. */
  kind?: readonly string[] | undefined;
  /** Memories at most: the newest; by default 2000. */
  limit?: number | undefined;
}

/** Options of `exportMemory`. */
export interface ExportMemoryOptions extends RequestOptions {
  /** `jsonl` can be imported again; the others are to be read; by default jsonl. */
  format?: "jsonl" | "html" | "markdown" | undefined;
}

/** Options of `followMemory`. */
export interface FollowMemoryOptions extends RequestOptions {
  /** The id of the last event that is known. */
  last_event_id?: string | undefined;
}

/** Memory of a user on a server, over its REST interface. */
export class MemoryClient extends Transport {
  /**
   * Forget memories for good: a fact goes with what derives from it, and with the sentences of messages that said it.
   *
   * Of several ids those that are known are forgotten, and `problems` names the others.
   *
   * The thread keeps its messages, which no prompt shows any more; delete it through the server's own API.
   *
   * @returns Result of the request.
   * @throws {MemoryApiError} 401, 404, 413, 422, 423, 503.
   */
  forgetMemory(options?: ForgetMemoryOptions): Promise<ForgetAnswer>;

  /**
   * Erase what is remembered of the caller, with their threads, for good.
   *
   * Runs that go on in these threads are cancelled. A request that failed half way can be made again.
   *
   * @param confirm `erase everything`: it cannot be undone.
   * @returns Result of the request.
   * @throws {MemoryApiError} 401, 404, 413, 422, 423, 503.
   */
  eraseUser(confirm: "erase everything", options?: RequestOptions): Promise<EraseAnswer>;

  /**
   * Raise or lower the memories that stood in the prompt of an answer, and count for the skills that it followed.
   *
   * Said again, it changes nothing; of each key the last word counts.
   *
   * @returns Result of the request.
   * @throws {MemoryApiError} 401, 404, 409, 413, 422, 503.
   */
  giveFeedback(options?: GiveFeedbackOptions): Promise<FeedbackAnswer>;

  /**
   * List what is remembered of the caller, the latest first, page by page.
   *
   * What is written while the pages are turned neither repeats nor hides a memory on those that follow. Without a
   * scope and a kind, what memory writes for itself is left out. The ETag changes with every write of the caller's
   * memory.
   *
   * @returns A page of memories, the latest first. Null where nothing has changed.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  listMemories(options?: ListMemoriesOptions & { if_none_match?: undefined }): Promise<Tagged<MemoryPage>>;
  listMemories(options: ListMemoriesOptions & { if_none_match: string }): Promise<Tagged<MemoryPage> | null>;

  /**
   * Iterate over all that `listMemories` has, and ask for each page when it is needed.
   *
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  iterMemories(options?: Omit<ListMemoriesOptions, "cursor" | "if_none_match">): AsyncGenerator<MemoryItem, void>;

  /**
   * Remember what the user says, in their own words; said twice it is one memory.
   *
   * What is known already has this as one source more, however often it is told, so that it outlives the conversation
   * that said it first.
   *
   * A text of several statements is a memory each, and so is what tells the assistant what to do from now on: a
   * message, which stands in prompts. What only asks, requests, greets or supposes, and what shows somebody else's
   * words, states nothing and is refused.
   *
   * @param text What the user says, in their own words: statements, such as `I live in Hue.`
   * @returns Result of telling something.
   * @throws {MemoryApiError} 401, 404, 413, 422, 503.
   */
  remember(text: string, options?: RememberOptions): Promise<Tagged<RememberAnswer>>;

  /**
   * Show a memory with its history, the messages it comes from, what was made of it, its links and its uses.
   *
   * The ETag is the memory's own, for `If-Match`.
   *
   * @param memoryId The id of the memory.
   * @returns A memory with all that explains it.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  showMemory(memoryId: string, options?: RequestOptions): Promise<Tagged<MemoryDetail>>;

  /**
   * Put the user's own words in the place of a fact, which stays as dated history; return what is believed now.
   *
   * What states nothing is refused, as where something is remembered. With `If-Match` only the fact that was looked at
   * is corrected.
   *
   * @param memoryId The id of the memory.
   * @param text What is true instead, in the user's words.
   * @returns A memory, as a list shows it.
   * @throws {MemoryApiError} 401, 404, 412, 413, 422, 503.
   */
  correctMemory(memoryId: string, text: string, options?: CorrectMemoryOptions): Promise<Tagged<MemoryItem>>;

  /**
   * Forget a memory for good: a fact goes with what derives from it, and with the sentences of messages that said it.
   *
   * With `If-Match` only what was looked at is forgotten.
   *
   * @param memoryId The id of the memory.
   * @returns Result of the request.
   * @throws {MemoryApiError} 401, 404, 412, 422, 423, 503.
   */
  forgetMemoryById(memoryId: string, options?: ForgetMemoryByIdOptions): Promise<ForgetAnswer>;

  /**
   * Return what an agent would find for a question, the nearest first, with the part of each way of searching.
   *
   * Nothing is written, and no language model is asked.
   *
   * @param query What to look for, in words.
   * @returns Result of a search.
   * @throws {MemoryApiError} 401, 404, 413, 422, 503.
   */
  searchMemories(query: string, options?: SearchMemoriesOptions): Promise<SearchAnswer>;

  /**
   * Return what the prompt for a message would be: its parts with their tokens, and the memories in each.
   *
   * No model is called and nothing is written; the web is not searched, and no tools or layers are chosen. The
   * conversation is told as memory has it: the steps of earlier turns, which only the thread has, are missing.
   *
   * @param message What the user would say.
   * @returns Prompt as it would be, and why.
   * @throws {MemoryApiError} 401, 404, 413, 422, 503.
   */
  explainContext(message: string, options?: ExplainContextOptions): Promise<ContextAnswer>;

  /**
   * Return why an answer was given: the memories that stood in its prompt, as they are now.
   *
   * @param threadId The conversation: the id of its thread.
   * @param messageId The answer or its question: its id, or its record's.
   * @returns An answer, and what stood in its prompt.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  explainAnswer(threadId: string, messageId: string, options?: RequestOptions): Promise<AnswerSources>;

  /**
   * List the conversations of which memory has something, the one first in which something was last said.
   *
   * One that goes on while the pages are turned moves to the first of them.
   *
   * @returns A page of conversations, the latest first.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  listConversations(options?: ListConversationsOptions): Promise<ConversationPage>;

  /**
   * Iterate over all that `listConversations` has, and ask for each page when it is needed.
   *
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  iterConversations(options?: Omit<ListConversationsOptions, "cursor">): AsyncGenerator<HeldConversation, void>;

  /**
   * Show a conversation with the tree of its summaries and a page of its messages, the oldest first.
   *
   * @param threadId The conversation: the id of its thread.
   * @returns A conversation with its summaries and a page of its messages.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  showConversation(threadId: string, options?: ShowConversationOptions): Promise<ConversationDetail>;

  /**
   * Iterate over all that `showConversation` has, and ask for each page when it is needed.
   *
   * @param threadId The conversation: the id of its thread.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  iterConversationMessages(threadId: string, options?: Omit<ShowConversationOptions, "cursor">): AsyncGenerator<ShownMessage, void>;

  /**
   * Forget a conversation for good: its messages, its thread on this server, and what was derived from it alone.
   *
   * @param threadId The conversation: the id of its thread.
   * @returns Result of the request.
   * @throws {MemoryApiError} 401, 404, 422, 423, 503.
   */
  forgetConversation(threadId: string, options?: RequestOptions): Promise<ForgetAnswer>;

  /**
   * Store what was said to an agent of any framework: facts are drawn from it behind this answer, as from turns here.
   *
   * Each message is stored once: send what is new, the same again, or the whole conversation with every message. Those
   * without an `id` are known by their place and words, so that two in a row which are there already count as these:
   * name what may well be said again. An `id` that stands for other words is refused (409), and nothing is stored.
   *
   * A conversation that is not there begins. The assistant's words teach nothing about the user.
   *
   * @param threadId The conversation: the id of its thread.
   * @param messages Messages in order: the new ones, or the whole conversation with them.
   * @returns Messages as they are stored.
   * @throws {MemoryApiError} 401, 404, 409, 413, 422, 503.
   */
  storeMessages(threadId: string, messages: readonly SaidMessage[], options?: StoreMessagesOptions): Promise<StoreMessagesAnswer>;

  /**
   * Show what is known about the user as a person, field by field, with the messages that say it.
   *
   * @returns The profile of a user.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  showProfile(options?: RequestOptions): Promise<OwnersProfile>;

  /**
   * Tell whose memory it is, and whether nothing more is remembered.
   *
   * @returns The owner of a memory, and whether it is paused.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  showPause(options?: RequestOptions): Promise<PauseAnswer>;

  /**
   * Remember nothing of the user's turns from now on, or remember again; what is known is used all the same.
   *
   * @param paused True to remember nothing of what they say from now on; what is known is used.
   * @returns The owner of a memory, and whether it is paused.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  setPause(paused: boolean, options?: RequestOptions): Promise<PauseAnswer>;

  /**
   * List the turns from which nothing has been drawn yet, and why.
   *
   * @returns The turns that wait, the oldest first.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  listPending(options?: RequestOptions): Promise<WaitingTurns>;

  /**
   * List what conversations seem to have asked to forget: it is hidden, and erased after a day.
   *
   * @returns Hidden memories, the oldest first.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  listHidden(options?: RequestOptions): Promise<HiddenMemories>;

  /**
   * Bring back what is hidden; what has changed since keeps that.
   *
   * @param hiddenId The id, as the list of what is hidden has it.
   * @returns Something that a conversation seems to ask to forget: hidden, and not erased yet.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  undoHidden(hiddenId: string, options?: RequestOptions): Promise<HiddenMemory>;

  /**
   * Take back what memory has drawn from what the user said last, whose conversation stays; repeated, from before.
   *
   * @returns Result of an undo: the part of memory that had been drawn from the user's last words.
   * @throws {MemoryApiError} 401, 404, 422, 423, 503.
   */
  undoLast(options?: RequestOptions): Promise<UndoneWrite>;

  /**
   * Erase what is hidden for good, before its day is over.
   *
   * @param hiddenId The id, as the list of what is hidden has it.
   * @returns Result of the request.
   * @throws {MemoryApiError} 401, 404, 422, 423, 503.
   */
  eraseHidden(hiddenId: string, options?: RequestOptions): Promise<ForgetAnswer>;

  /**
   * List what agents have learnt from the user's tasks, what is used most first.
   *
   * @returns The skills, those that are used most first.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  listSkills(options?: RequestOptions): Promise<SkillList>;

  /**
   * Show memories and how they are linked; of many the newest, which `cut` says.
   *
   * @returns Memories with the links among them: of many, the newest.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  showGraph(options?: ShowGraphOptions): Promise<ShownGraph>;

  /**
   * Show how much is remembered of the user; an administrator is shown besides how the memory of this server is.
   *
   * @returns Figures on what is remembered, and for an administrator on the memory of the server.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  showUsage(options?: RequestOptions): Promise<UsageAnswer>;

  /**
   * Export everything that is remembered of the user, as a file; it names no user.
   *
   * @returns The file.
   * @throws {MemoryApiError} 401, 404, 422, 503.
   */
  exportMemory(options?: ExportMemoryOptions): AsyncGenerator<string, void>;

  /**
   * Send the revision of the user's memory now and whenever it has changed, until the client goes.
   *
   * The stream ends after ten minutes, and so does who was authenticated for it: connect again, as `EventSource` does.
   * With the id of the last event, an event comes at once only where memory has changed since.
   *
   * @returns `revision` events; comment lines in between.
   * @throws {MemoryApiError} 401, 404, 422, 429, 503.
   */
  followMemory(options?: FollowMemoryOptions): AsyncGenerator<ServerEvent, void>;
}
