// Against a server on this machine that MEMORY_URL names: tests/integration/rest/test_typescript_client.py starts it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryApiError, MemoryClient } from "react-mem-client";

const url = process.env.MEMORY_URL;
const facts = Number(process.env.MEMORY_FACTS);
const as = (user, more = {}) => new MemoryClient(url, { token: user, ...more });

async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

async function refused(status, request) {
  let error;
  await assert.rejects(request, (thrown) => ((error = thrown), thrown instanceof MemoryApiError));
  assert.equal(error.status, status);
  return error;
}

test("a memory is told, found, corrected and forgotten", async () => {
  const memory = as("tim");
  const told = await memory.remember("Tôi sống ở Huế 🏯.");
  assert.deepEqual([told.outcome, told.etag], ["new", `"${told.memory.revision}"`]);
  assert.ok(!JSON.stringify(told).includes("etag"));
  const found = await memory.searchMemories("Huế", { scopes: ["semantic"], as_of: new Date(Date.now() + 60_000) });
  assert.deepEqual(found.items.map((one) => one.memory.id), [told.memory.id]);
  const shown = await memory.showMemory(told.memory.id);
  const corrected = await memory.correctMemory(told.memory.id, "我住在北京。", { if_match: shown.etag });
  assert.equal(corrected.text, "我住在北京。");
  const gone = await memory.forgetMemoryById(corrected.id, { if_match: corrected.revision });
  assert.ok(gone.receipt.removed.fact.includes(corrected.id));
  await refused(404, memory.showMemory(corrected.id));
});

test("messages are told once", async () => {
  const memory = as("ted");
  const said = [{ role: "user", content: "Tôi sống ở Huế 🏯.", id: "a" }, { role: "assistant", content: "Huế đẹp lắm!" }];
  const stored = await memory.storeMessages("montag 🙂", said);
  assert.deepEqual(stored.messages.map((one) => one.outcome), ["new", "new"]);
  assert.deepEqual((await memory.storeMessages("montag 🙂", said)).messages.map((one) => one.outcome), ["known", "known"]);
  const error = await refused(409, memory.storeMessages("montag 🙂", [{ role: "user", content: "No.", id: "a" }]));
  assert.match(error.detail, /messages\.0\.id/);
  const told = await all(memory.iterConversationMessages("montag 🙂"));
  assert.deepEqual(told.map((one) => one.text), said.map((one) => one.content));
});

test("what is another user's is not there", async () => {
  const theirs = (await as("tom").remember("I like tea.")).memory;
  const error = await refused(404, as("eve", { userId: "tom" }).forgetMemoryById(theirs.id));
  assert.deepEqual([error.title, error.detail], ["Not Found", "this user has no such memory"]);
  assert.equal((await as("tom").showMemory(theirs.id)).memory.text, "I like tea.");
});

test("what has changed is not changed again, and what has not is not sent again", async () => {
  const memory = as("una");
  const tea = (await memory.remember("I like tea.")).memory;
  const page = await memory.listMemories();
  assert.equal(await memory.listMemories({ if_none_match: page.etag }), null);
  const milk = await memory.correctMemory(tea.id, "I like milk.", { if_match: tea.revision });
  assert.notEqual(await memory.listMemories({ if_none_match: page.etag }), null);
  const error = await refused(412, memory.forgetMemoryById(milk.id, { if_match: tea.revision }));
  assert.equal(error.title, "Precondition Failed");
});

test("what is held is not forgotten", async () => {
  const [held] = await all(as("held").iterMemories({ kind: ["fact"] }));
  const error = await refused(423, as("held").forgetMemoryById(held.id));
  assert.match(String(error), /423 Locked: .*case-7/);
});

test("all pages are gone through", async () => {
  let asked = 0;
  const counting = (...request) => ((asked += 1), fetch(...request));
  const memory = as("ann", { fetch: counting });
  const found = await all(memory.iterMemories({ kind: ["fact"] }));
  assert.equal(new Set(found.map((one) => one.text)).size, facts);
  assert.deepEqual([found[0].text, found.at(-1).text, asked], [`I own book ${facts - 1}.`, "I own book 0.", 3]);
  const messages = await all(memory.iterConversationMessages("monday", { limit: 2 }));
  assert.deepEqual(messages.map((one) => one.text), ["I said 0.", "I said 1.", "I said 2."]);
  assert.deepEqual((await all(memory.iterConversations({ limit: 1 }))).map((one) => one.id), ["monday"]);
});

test("a file is read in parts, and a stream of changes until nobody listens", async () => {
  const exported = (await all(as("ann").exportMemory({ format: "markdown" }))).join("");
  assert.ok(exported.includes("I own book 7."));
  for await (const { event, data, id } of as("ann").followMemory()) {
    assert.equal(event, "revision");
    assert.deepEqual([typeof data.revision, id], ["string", data.revision]);
    break;
  }
  const sent = [];
  const telling = (url, { headers }) => (sent.push(headers.get("last-event-id")), new Response(""));
  await all(as("ann", { fetch: telling }).followMemory({ last_event_id: "7" }));
  assert.deepEqual(sent, ["7"]);
});

test("the token may be a function, and who is nobody is refused", async () => {
  const tokens = ["ann", "", "ann"];
  const memory = new MemoryClient(`${url}/`, { token: async () => tokens.shift() });
  assert.equal((await memory.showUsage()).kinds.fact, facts);
  const error = await refused(401, memory.showUsage());
  assert.match(error.detail, /Bearer/);
  assert.equal((await memory.showUsage()).kinds.fact, facts);
});

test("a request that is wrong says which field", async () => {
  const error = await refused(422, as("ann").eraseUser("erase a little"));
  assert.match(error.message, /^422 Unprocessable [A-Z]\w+: body\.confirm: /);
  await assert.rejects(as("ann").forgetMemoryById(".."), TypeError);
  await assert.rejects(as("ann").showUsage({ signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("a server may be named with its routes, and has a scheme", async () => {
  assert.equal((await new MemoryClient(`${url}/memory/v1/`, { token: "ann" }).showUsage()).kinds.fact, facts);
  for (const wrong of [undefined, "", "127.0.0.1:2024"]) assert.throws(() => new MemoryClient(wrong), /begins with http/);
});

test("an answer that is none of the server's is an error", async () => {
  const answering = (...answer) => as("ann", { fetch: async () => new Response(...answer) });
  await refused(502, answering("<h1>bad gateway</h1>", { status: 502 }).showUsage());
  await refused(200, answering("<h1>log in</h1>").showUsage());
  const slow = await refused(503, answering('{"detail": "later"}', { status: 503, headers: { "retry-after": "7" } }).showUsage());
  assert.deepEqual([slow.detail, slow.retryAfter], ["later", 7]);
  await refused(302, answering(null, { status: 302, headers: { location: "http://127.0.0.1:1" } }).showUsage());
});

test("events are read however they are cut", async () => {
  const bytes = new TextEncoder().encode(': ho\n\nid: 7\r\nevent: revision\r\ndata: {"revision":\r\ndata: "Huế 🏯"}\r\n\r\ndata: {"cut');
  const stream = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const memory = as("ann", { fetch: async () => new Response(stream) });
  assert.deepEqual(await all(memory.followMemory()), [{ event: "revision", data: { revision: "Huế 🏯" }, id: "7" }]);
});
