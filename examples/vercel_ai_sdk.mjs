// An agent of the Vercel AI SDK that remembers: `node vercel_ai_sdk.mjs "I live in Hue."`.
import { openai } from "@ai-sdk/openai";
import { generateText, wrapLanguageModel } from "ai";
import { MemoryApiError, MemoryClient } from "react-mem-client";

const memory = new MemoryClient(process.env.MEMORY_URL ?? "http://127.0.0.1:2024", { token: process.env.MEMORY_TOKEN });

/** Puts what is remembered for the user's message before the prompt, and remembers what the message says. */
const middleware = {
  async transformParams({ params }) {
    const { content } = params.prompt.findLast(({ role }) => role === "user");
    const said = content.map(({ text }) => text ?? "").join("\n").trim();
    if (!said) return params; // a picture alone
    const { retrieved } = await memory.explainContext(said);
    await memory.remember(said).catch((error) => {
      if (!(error instanceof MemoryApiError) || error.status !== 422) throw error; // a question or a request states nothing
    });
    const known = retrieved ? [{ role: "system", content: retrieved }] : [];
    return { ...params, prompt: [...known, ...params.prompt] };
  },
};

const model = wrapLanguageModel({ model: openai.chat("gpt-4.1-mini"), middleware });
const { text } = await generateText({ model, system: "Answer briefly.", prompt: process.argv[2] });
console.log(text);
