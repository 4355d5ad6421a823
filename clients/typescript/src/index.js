export { MemoryClient } from "./client.js";
export { MemoryApiError } from "./transport.js";
