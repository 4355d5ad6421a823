/** Bearer token, or what returns one for each request, such as one that is renewed. */
export type Token = string | (() => string | Promise<string>);

/** How a server is reached, and as whom. */
export interface ClientOptions {
  /** The bearer token of the user, or what returns it. */
  token?: Token | undefined;
  /** Whose memory it is, where the server authenticates nobody; others ignore it. */
  userId?: string | undefined;
  /** What sends requests, in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
}

/** What every request takes. */
export interface RequestOptions {
  /** Ends the request, such as `AbortSignal.timeout(30_000)`; without it a request waits as long as `fetch` does. */
  signal?: AbortSignal | undefined;
}

/** An answer with the ETag that it came with, for `if_match` and `if_none_match`; no property that is listed or written. */
export type Tagged<Answer> = Answer & { readonly etag: string };

/** Event of a stream. */
export interface ServerEvent {
  /** Its kind, such as `revision`. */
  readonly event: string;
  /** What it says: of a `revision`, which one it is. */
  readonly data: Readonly<Record<string, any>>;
  /** What a stream goes on from it with, as `last_event_id`; empty where it has none. */
  readonly id: string;
}

/** Answer of the server that a request could not be carried out, or an answer that is none of its own. */
export class MemoryApiError extends Error {
  constructor(status: number, title: string, detail: unknown, retryAfter?: number);
  /** The HTTP status. */
  readonly status: number;
  /** The status in words, such as `Precondition Failed`. */
  readonly title: string;
  /** The cause, as the server tells it; of a request that is wrong, a list of the fields that are. */
  readonly detail: unknown;
  /** Seconds after which to ask again, where the server says so. */
  readonly retryAfter: number | undefined;
}

/** A request: what is undefined is left to the server. */
export interface Sent {
  query?: Record<string, unknown>;
  body?: Record<string, unknown>;
  headers?: Record<string, string | undefined>;
  signal?: AbortSignal | undefined;
}

/** Connection to a server as one user. */
export class Transport {
  /**
   * @param url The server, such as `http://127.0.0.1:2024`; `/memory/v1` may stand behind it.
   * @param options As whom, and by what.
   * @throws {TypeError} If the URL has no scheme.
   */
  constructor(url: string, options?: ClientOptions);
  protected readonly userId: string | undefined;
  protected send(method: string, path: string, sent: Sent): Promise<any>;
  protected stream(method: string, path: string, sent: Sent): Promise<Response>;
}

/** Yield what is on the pages of a list, and ask for a page when the one before is used up. */
export function itemsOf<Item>(
  turn: (cursor: string | undefined) => Promise<{ readonly items: readonly Item[]; readonly next_cursor: string | null }>,
): AsyncGenerator<Item, void>;

/** Yield the text of a stream, in parts. */
export function textOf(answer: Response): AsyncGenerator<string, void>;

/** Yield the server-sent events of a stream, without its comments. */
export function eventsOf(answer: Response): AsyncGenerator<ServerEvent, void>;

/** Return an id as a part of a path. */
export function segment(value: string): string;

/** Return what a header says for an ETag, or for the bare revision that it is of. */
export function entityTag(value: string | undefined): string | undefined;
