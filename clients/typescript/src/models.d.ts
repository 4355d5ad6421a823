// Written by `make clients` from the server's OpenAPI schema: change that, not this.

/** An answer, and what stood in its prompt. */
export interface AnswerSources {
  readonly answer: ShownMessage;
  readonly question?: ShownMessage | null;
  /** The memories that stood in its prompt, the most relevant first. */
  readonly used: readonly MemoryItem[];
  /** How many of them are not there any more. */
  readonly gone: number;
}

/** One look at a place that could still hold it. */
export interface Check {
  readonly name: string;
  readonly hits?: number;
  readonly ids?: readonly string[];
  readonly problem?: string;
}

/** Prompt as it would be, and why. */
export interface ContextAnswer {
  readonly parts: readonly ContextPart[];
  /** What all parts take. */
  readonly tokens: number;
  /** What they may take: the model's window without the answer. */
  readonly limit: number;
  /** Characters of the message that do not fit. */
  readonly cut: number;
  /** What could not be asked or put in, with the cause. */
  readonly missing: Readonly<Record<string, string>>;
  /**
   * What is remembered for the message, between marks and with what they mean: for the instructions of an agent of
   * your own. Empty where nothing is.
   */
  readonly retrieved: string;
  readonly prompt: readonly PromptMessage[];
}

/** A part of a prompt. */
export interface ContextPart {
  /** `system`, `tools`, `profile`, `memories`, `summaries`, `conversation`, ... */
  readonly name: string;
  /** What it takes. */
  readonly tokens: number;
  /** What it could take, the others being as they are. */
  readonly limit: number;
  /** What there was no room for: memories, messages, fields. */
  readonly dropped: number;
  /** `system`, `memory` behind that, `tools`, `conversation` or `question`. */
  readonly place: string;
  /** What it says; of the tools, which are no text, nothing. */
  readonly text: string;
  /** The memories in it. */
  readonly memories: readonly string[];
}

/** A conversation with its summaries and a page of its messages. */
export interface ConversationDetail {
  readonly conversation: HeldConversation;
  /** Those that no other one sums up, the oldest first. */
  readonly summaries: readonly SummaryTree[];
  readonly messages: MessagePage;
}

/** A page of conversations, the latest first. */
export interface ConversationPage {
  readonly items: readonly HeldConversation[];
  /** What the next page is asked for with; null on the last. */
  readonly next_cursor: string | null;
  readonly total: number;
}

/** Result of the request. */
export interface EraseAnswer {
  /**
   * What was removed, and what a look through everything found of it afterwards, signed: `react-mem receipt verify`
   * takes it, or this whole answer, as it is.
   */
  readonly receipt: SignedReceipt;
  /** The conversations that were erased. */
  readonly threads: readonly string[];
  /** What is left, or could not be looked at; empty where everything is gone. */
  readonly problems: readonly string[];
}

/** Result of the request. */
export interface FeedbackAnswer {
  /** What the user thinks of the turn, all keys together. */
  readonly verdict: "up" | "down" | "none";
  /** How many memories it moved; none where nothing has changed. */
  readonly memories: number;
  /** How many skills it counted for. */
  readonly skills: number;
}

/** Result of the request. */
export interface ForgetAnswer {
  /** What was removed, and what was found when everything was read again. */
  readonly receipt: Receipt;
  /** What is left of it, could not be looked at, or was not there under its id; empty where all of it is gone. */
  readonly problems: readonly string[];
  /**
   * What the text may mean, where that is not clear: nothing was forgotten then. Ask by `ids`, or in the words of one
   * of these.
   */
  readonly unclear: readonly string[];
}

/** Former value of a field of the profile. */
export interface FormerValue {
  readonly value: string;
  readonly since: string;
  readonly origin: Origin;
}

/** A memory that was found, and by what. */
export interface FoundItem {
  readonly memory: MemoryItem;
  /** Higher is nearer; null for what was not compared. */
  readonly score: number | null;
  /** From 0 to 1, whatever the embedder: 0.5 is unrelated. */
  readonly similarity: number | null;
  /** The part of each way of searching: `vector`, `lexical`, ... */
  readonly arms: Readonly<Record<string, number>>;
  /** The texts that matched, in their order. */
  readonly fragments: readonly MemoryFragment[];
}

/** A conversation of which memory has something. */
export interface HeldConversation {
  /** Its thread. */
  readonly id: string;
  readonly agent: string;
  /** How many messages memory has of it. */
  readonly messages: number;
  /** When the first of them was said. */
  readonly first: string;
  /** When something was last said in it. */
  readonly last: string;
  /** What the user said first. */
  readonly about: string;
  /** What it came to, as last summed up; empty where nobody has. */
  readonly summary: string;
}

/** Hidden memories, the oldest first. */
export interface HiddenMemories {
  readonly items: readonly HiddenMemory[];
}

/** Something that a conversation seems to ask to forget: hidden, and not erased yet. */
export interface HiddenMemory {
  /** The id of the wish, for `undo` and `erase`. */
  readonly id: string;
  /** What is hidden: the facts. */
  readonly texts: readonly string[];
  /** Since when. */
  readonly hidden_at: string;
  /** When it is erased for good. */
  readonly erase_at: string;
}

/** A memory with all that explains it. */
export interface MemoryDetail {
  readonly memory: MemoryItem;
  /** What was believed in its place before, the oldest first. */
  readonly history: readonly MemoryVersion[];
  /** The messages that say it, the oldest first. */
  readonly provenance: readonly MemorySource[];
  /** What was made of it. */
  readonly derived: readonly MemoryItem[];
  /** What else it is linked with, the most strongly bound first. */
  readonly links: readonly MemoryLink[];
  /** What speaks against it. */
  readonly doubts: readonly MemoryDoubt[];
  /** Answers in whose prompt it stood, among the latest; the latest first. */
  readonly used: readonly MemoryUse[];
}

/** Doubt about a memory, or a change since a message or a summary. */
export interface MemoryDoubt {
  /** The memory that speaks against it. */
  readonly id: string;
  /** Text of the contradicting memory; of a change, the text that holds now: empty where it is over. */
  readonly text: string;
  /** The day. */
  readonly since: string;
  /** Of a change, the message or summary that states what has changed. */
  readonly of?: string;
  /** Of a change, the words that no longer hold; empty for all of a message. */
  readonly part?: string;
}

/** A text of what was found. */
export interface MemoryFragment {
  /** The record that it is of. */
  readonly id: string;
  /** Who said it; empty for what nobody said. */
  readonly role: string;
  readonly text: string;
}

/** Health of the memory of a server. */
export interface MemoryHealth {
  readonly database: PartHealth;
  readonly embedder: PartHealth;
  readonly worker: PartHealth;
  /** Null where the database does not answer. */
  readonly queue: QueueHealth | null;
}

/** A memory, as a list shows it. */
export interface MemoryItem {
  /** Unique for its owner. */
  readonly id: string;
  readonly scope: MemoryScope;
  /** `fact`, `message`, `summary`, `episode`, `skill`, ... */
  readonly kind: string;
  /** What it says; in a list its first 4,000 characters. */
  readonly text: string;
  /** What says in short what it is. */
  readonly title: string;
  /** Whom or what a fact is about, by name; empty for the user. */
  readonly about?: string;
  /** When it was said, or first believed. */
  readonly created_at: string;
  /** When it was last written. */
  readonly updated_at?: string | null;
  /** The conversation that it came from. */
  readonly session_id?: string;
  /** The agent that wrote it. */
  readonly agent?: string;
  /** Who vouches for it. */
  readonly origin: Origin;
  /** True if believed, or a message, unless a search finds all it says changed. */
  readonly current: boolean;
  /** Since when it holds, as far as that is known. */
  readonly since?: string | null;
  /** Until when, where it is over or says so. */
  readonly until?: string | null;
  /** Whether something speaks against it. */
  readonly in_doubt?: boolean;
  /** Of a message that was found, what has changed since; empty for nothing. */
  readonly changed?: string;
  /** From 0 to 1. */
  readonly importance?: number;
  /** Whether the text goes on: see the memory itself. */
  readonly truncated?: boolean;
  /** Changes with every change of the record; its ETag. */
  readonly revision: string;
}

/** A memory that another one is linked with. */
export interface MemoryLink {
  /** Why they are linked. */
  readonly relation: "support" | "summarization" | "milestone" | "dependency" | "timeline" | "semantic";
  /** Whether the link leads to it or comes from it. */
  readonly direction: "out" | "in" | "both";
  readonly memory: MemoryItem;
}

/** A page of memories, the latest first. */
export interface MemoryPage {
  readonly items: readonly MemoryItem[];
  /** What the next page is asked for with; null on the last. */
  readonly next_cursor: string | null;
  /**
   * How many there are on all pages. Facts that a date of their own ends are counted by whether they have been ended;
   * where memory is encrypted, who vouches for a memory is not counted by.
   */
  readonly total: number;
  /** Changes with every write of the owner's memory. */
  readonly revision: string;
  /** Topics of all memories, where asked for: those with the most first. */
  readonly topics?: readonly string[];
}

/** Scope of memory: the kind of thing that is remembered. */
export type MemoryScope = "dialog" | "state" | "semantic" | "episodic" | "procedural" | "profile" | "experience" | "files";

/** A message that a memory comes from. */
export interface MemorySource {
  /** The record of the message; of what was told outside of a conversation its own name. */
  readonly id: string;
  readonly session_id: string;
  /** Its place in the conversation. */
  readonly turn?: number | null;
  readonly said_at?: string | null;
  readonly role: string;
  readonly text: string;
  /** The words of it that say this. */
  readonly quote?: string;
}

/** An answer in whose prompt a memory stood. */
export interface MemoryUse {
  readonly session_id: string;
  /** The record of the answer. */
  readonly message_id: string;
  readonly at: string;
}

/** A time in which something was believed, and how it was put. */
export interface MemoryVersion {
  readonly text: string;
  readonly since?: string | null;
  /** Null for what is believed now. */
  readonly until?: string | null;
  /**
   * `believed` now; `replaced` by what came after it; `ended` by words of the user's; `over` by its own date;
   * `reworded`: the same in other words; `set aside` before it was said again.
   */
  readonly why: "believed" | "replaced" | "ended" | "over" | "reworded" | "set aside";
  /** The memory that says it. */
  readonly id?: string;
}

/** A page of messages, the oldest first. */
export interface MessagePage {
  readonly items: readonly ShownMessage[];
  /** What the next page is asked for with; null on the last. */
  readonly next_cursor: string | null;
  readonly total: number;
}

/** Provenance of a record, the most trusted first. */
export type Origin = "user" | "assent" | "speaker" | "quoted" | "assistant" | "tool" | "web" | "import";

/** The profile of a user. */
export interface OwnersProfile {
  readonly fields: readonly ShownField[];
}

/** Health of a part. */
export interface PartHealth {
  readonly ok: boolean;
  /** What it is, or why it does not work. */
  readonly detail?: string;
  /** What it took to ask it. */
  readonly seconds?: number | null;
}

/** The owner of a memory, and whether it is paused. */
export interface PauseAnswer {
  /** True to remember nothing of what they say from now on; what is known is used. */
  readonly paused: boolean;
  /** The user whose memory this is, by the id under which it is kept. */
  readonly user: string;
}

/** A message of a prompt. */
export interface PromptMessage {
  readonly role: string;
  readonly content: string;
}

/** State of the turns of all users that wait. */
export interface QueueHealth {
  readonly waiting: number;
  /** Those that were tried in vain. */
  readonly failed: number;
  /** Those that are not tried any more. */
  readonly parked: number;
  /** Since when the first one waits. */
  readonly oldest: string | null;
}

/**
 * Receipt of what was forgotten, by ids and without a word of it, and of the checks afterwards.
 *
 * The thread keeps its messages: that of the conversation is the application's to delete.
 */
export interface Receipt {
  readonly at?: string;
  readonly removed?: Readonly<Record<string, readonly string[]>>;
  readonly rewritten?: Readonly<Record<string, readonly string[]>>;
  readonly messages?: number;
  readonly checks?: readonly Check[];
}

/** Result of telling something. */
export interface RememberAnswer {
  readonly memory: MemoryItem;
  /** `known` where it is believed already, in these words. */
  readonly outcome: "new" | "known";
  /** The further statements of the text, a memory each. */
  readonly also: readonly ToldMemory[];
}

/** A message of a conversation. */
export interface SaidMessage {
  /** Who says it. */
  readonly role: "user" | "assistant";
  /** What is said, in words. */
  readonly content: string;
  /**
   * What you call it, in its conversation alone: told again it is the same message. Without, it is known by its place
   * and its words.
   */
  readonly id?: string;
  /** When it was said (ISO 8601), which is not in the future; by default now. */
  readonly created_at?: string | null;
}

/** Result of a search. */
export interface SearchAnswer {
  /** The nearest first. */
  readonly items: readonly FoundItem[];
  /** What could not be asked, such as the embedder, with the cause. */
  readonly missing: Readonly<Record<string, string>>;
}

/** A field of the profile. */
export interface ShownField {
  readonly value: string;
  readonly since: string;
  readonly origin: Origin;
  readonly name: string;
  /** The messages that say it. */
  readonly provenance: readonly MemorySource[];
  /** What it held before, the oldest first. */
  readonly previous: readonly FormerValue[];
}

/** Memories with the links among them: of many, the newest. */
export interface ShownGraph {
  /** The oldest first. */
  readonly nodes: readonly ShownNode[];
  readonly links: readonly ShownLink[];
  /** How many older memories there are beside these. */
  readonly left_out: number;
  /** What of the whole is shown, in words; empty where it is all. */
  readonly cut: string;
}

/** A link between two memories of the graph. */
export interface ShownLink {
  readonly from: string;
  readonly to: string;
  readonly relation: string;
}

/** A message of a conversation. */
export interface ShownMessage {
  /** Its record. */
  readonly id: string;
  readonly turn: number;
  readonly role: string;
  readonly speaker: string;
  readonly text: string;
  readonly said_at: string;
  /** Of an answer, the memories that stood in its prompt. */
  readonly used: readonly string[];
  /** Of an answer, what the user thinks of it, by key. */
  readonly feedback: Readonly<Record<string, number>>;
}

/** A memory in the graph. */
export interface ShownNode {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
  readonly current: boolean;
}

/** A skill that agents have learnt or been given. */
export interface ShownSkill {
  readonly id: string;
  /** When it is used. */
  readonly title: string;
  readonly text: string;
  readonly task_type: string;
  readonly uses: number;
  readonly successes: number;
  /** `probation`, `active` or `archived`. */
  readonly state: string;
}

/** Receipt with the server's signature. It names nobody: who knows a user's id can tell whether it is theirs. */
export interface SignedReceipt {
  readonly receipt: Receipt;
  readonly salt: string;
  readonly subject: string;
  readonly public_key: string;
  readonly signature?: string;
}

/** The skills, those that are used most first. */
export interface SkillList {
  readonly items: readonly ShownSkill[];
}

/** Messages as they are stored. */
export interface StoreMessagesAnswer {
  /** Those of the request, in its order. */
  readonly messages: readonly StoredMessage[];
  /** Turns of the conversation from which nothing has been drawn yet. */
  readonly waiting: number;
}

/** A message of the request, as it is stored. */
export interface StoredMessage {
  /** Its record: a message of the conversation, and a memory. */
  readonly id: string;
  /** `known` where it was there; `forgotten` where the user wants it out of memory: it stays away. */
  readonly outcome: "new" | "known" | "forgotten";
}

/** A summary of a part of a conversation, and those that it was made of. */
export interface SummaryTree {
  readonly id: string;
  /** `1` of messages, `2` of summaries of level 1, ..., `master` of all. */
  readonly level: string;
  readonly text: string;
  readonly first_turn?: number | null;
  readonly last_turn?: number | null;
  readonly children?: readonly SummaryTree[];
}

/** A memory, and whether it is news. */
export interface ToldMemory {
  readonly memory: MemoryItem;
  /** `known` where it is believed already, in these words. */
  readonly outcome: "new" | "known";
}

/** Result of an undo: the part of memory that had been drawn from the user's last words. */
export interface UndoneWrite {
  /** Texts that are no longer believed. */
  readonly texts?: readonly string[];
  /** Facts that the write had ended, believed again. */
  readonly restored?: readonly string[];
}

/** Figures on what is remembered, and for an administrator on the memory of the server. */
export interface UsageAnswer {
  /** How many records there are, by kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** How many texts are indexed by meaning; 0 where the store does not tell. */
  readonly texts: number;
  /** What the records take, without vectors and indexes. */
  readonly bytes: number;
  /** Turns from which nothing has been drawn yet. */
  readonly waiting: number;
  /** Those of them that are not tried any more. */
  readonly parked: number;
  /** For administrators only. */
  readonly health?: MemoryHealth | null;
}

/** A turn from which nothing has been drawn yet. */
export interface WaitingTurn {
  readonly id: string;
  readonly session_id: string;
  readonly agent: string;
  /** When it was said. */
  readonly since: string;
  /** The beginning of what the user said. */
  readonly text: string;
  readonly attempts: number;
  /** Whether it is not tried any more. */
  readonly parked: boolean;
  /** When it is tried next; null for at once. */
  readonly retry_at: string | null;
  /** Why it waits: the last error; empty where nobody has tried yet. */
  readonly why: string;
}

/** The turns that wait, the oldest first. */
export interface WaitingTurns {
  readonly items: readonly WaitingTurn[];
}
