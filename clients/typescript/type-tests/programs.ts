// Read by `tsc` and never run: what a program may write, and what it may not.
import { MemoryApiError, MemoryClient, type MemoryItem, type MemoryPage, type Tagged } from "react-mem-client";

const memory = new MemoryClient("http://127.0.0.1:2024", { token: async () => "..." });

export async function programs(): Promise<void> {
  const page: Tagged<MemoryPage> = await memory.listMemories({ kind: ["fact"], state: "past" });
  const later: Tagged<MemoryPage> | null = await memory.listMemories({ if_none_match: page.etag });
  // @ts-expect-error what has not changed is null
  later.items;
  // @ts-expect-error there is no such state
  await memory.listMemories({ state: "future" });
  // @ts-expect-error a memory has an id
  await memory.forgetMemoryById();
  for await (const item of memory.iterMemories({ limit: 10 })) {
    const one: MemoryItem = item;
    // @ts-expect-error an answer is not changed
    one.text = "";
    await memory.correctMemory(one.id, "I live in Hanoi.", { if_match: one.revision });
  }
  for await (const event of memory.followMemory({ last_event_id: "660fa214f4774" })) {
    const known: string = event.data.revision ?? event.id;
    console.log(known);
    // @ts-expect-error an event is not changed
    event.id = "";
  }
  try {
    await memory.eraseUser("erase everything", { signal: AbortSignal.timeout(1000) });
  } catch (error) {
    if (error instanceof MemoryApiError && error.status === 423) console.log(error.title, error.retryAfter);
  }
}
