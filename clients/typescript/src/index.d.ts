export * from "./client.js";
export type * from "./models.js";
export { MemoryApiError } from "./transport.js";
export type { ClientOptions, RequestOptions, ServerEvent, Tagged, Token } from "./transport.js";
