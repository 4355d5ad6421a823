// An agent of the Vercel AI SDK that remembers: `node vercel_ai_sdk.mjs "I live in Hue."`.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, wrapLanguageModel } from "ai";
import { MemoryApiError, MemoryClient } from "react-mem-client";

const memory = new MemoryClient(process.env.MEMORY_URL ?? "http://127.0.0.1:2024", { token: process.env.MEMORY_TOKEN });

const openai = createOpenAI({ apiKey: process.env.OPENAI_API_KEY ?? "unused" }); // a server of your own may want none

/** Returns what memory answers; nothing where it cannot, for that costs nobody an answer. */
const ask = (answer) =>
  answer.catch((error) => {
    // a question or a request states nothing
    if (!(error instanceof MemoryApiError) || error.status !== 422) console.error(`Without memory: ${error.message}`);
    return {};
  });

/** Puts what is remembered for the user's message before the prompt, and remembers what the message says. */
const middleware = {
  async transformParams({ params }) {
    const { content } = params.prompt.findLast(({ role }) => role === "user");
    const said = content.map(({ text }) => text ?? "").join("\n").trim();
    if (!said) return params; // a picture alone
    const { retrieved } = await ask(memory.explainContext(said));
    await ask(memory.remember(said));
    const known = retrieved ? [{ role: "system", content: retrieved }] : [];
    return { ...params, prompt: [...known, ...params.prompt] };
  },
};

const [prompt] = process.argv.slice(2);
if (prompt) {
  const model = wrapLanguageModel({ model: openai.chat(process.env.OPENAI_MODEL ?? "gpt-4.1-mini"), middleware });
  const { text } = await generateText({ model, system: "Answer briefly.", prompt });
  console.log(text);
} else console.log('node vercel_ai_sdk.mjs "I live in Hue."');
