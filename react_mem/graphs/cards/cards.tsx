/* Cards of memory for a chat that shows components of the server's, such as LangChain's Agent Chat UI.

   What is remembered is data: it is set as text alone, and the one link goes where the server says that its page is. */

type Memory = { text: string; scope: string; origin: string; date: string };
type Recalled = { memories?: Memory[]; more?: number; page?: string };
type Remembered = { state?: "reading" | "kept" | "read"; stored?: string[]; retired?: string[]; page?: string };

const ORIGINS: Record<string, string> = {
  user: "your words",
  assent: "you agreed",
  quoted: "quoted by you",
  assistant: "said by the assistant",
  tool: "from a tool",
  web: "from a web page",
  import: "imported",
};

/* in the colours of the chat, whatever they are */
const STYLE = `
.memory { margin: 6px 0; padding: 8px 12px; border: 1px solid color-mix(in srgb, currentColor 22%, transparent); border-radius: 10px;
  background: color-mix(in srgb, currentColor 4%, transparent); font: 13px/1.5 system-ui, sans-serif; max-width: 44rem;
  overflow-wrap: anywhere; }
.memory summary { cursor: pointer; font-weight: 600; }
.memory ul { margin: 6px 0; padding: 0; list-style: none; }
.memory li { margin: 4px 0; }
.memory p { margin: 0; }
.memory small { margin-left: 6px; opacity: .75; }
.memory s { opacity: .75; }
.memory a { color: inherit; }
`;

function day(date: string): string {
  const at = new Date(date);
  return date && !Number.isNaN(at.getTime()) ? at.toLocaleDateString() : "";
}

function Page({ page }: { page?: string }) {
  // an address of the server's own, or none
  if (!page || !/^https?:\/\//.test(page)) return null;
  return <a href={page} target="_blank" rel="noopener noreferrer">All that is remembered</a>;
}

function RecalledCard({ memories = [], more = 0, page }: Recalled) {
  if (memories.length === 0) return null;
  return (
    <details className="memory" open>
      <style>{STYLE}</style>
      <summary>Recalled</summary>
      <ul>
        {memories.map((memory, place) => (
          <li key={place}>
            {memory.text}
            <small>{[ORIGINS[memory.origin], day(memory.date)].filter(Boolean).join(", ")}</small>
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
      <Page page={page} />
    </details>
  );
}

function RememberedCard({ state, stored = [], retired = [], page }: Remembered) {
  const said = {
    reading: "Kept word for word. What follows from it is drawn behind the conversation.",
    kept: "Kept word for word.",
    read: stored.length + retired.length ? "Kept word for word, and drawn from it:" : "Kept word for word. Nothing new follows from it.",
  }[state ?? "kept"];
  return (
    <section className="memory" aria-label="Remembered">
      <style>{STYLE}</style>
      <p><strong>Remembered</strong></p>
      <p>{said}</p>
      {stored.length + retired.length > 0 && (
        <ul>
          {stored.map((text, place) => <li key={`new-${place}`}>{text}</li>)}
          {retired.map((text, place) => <li key={`old-${place}`}><s>{text}</s><small>no longer believed</small></li>)}
        </ul>
      )}
      <Page page={page} />
    </section>
  );
}

export default { recalled: RecalledCard, remembered: RememberedCard };
