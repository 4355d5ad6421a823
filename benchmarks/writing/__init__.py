"""Quality of writing: each fact once, updated where contradicted, nothing invented.

    python -m benchmarks.writing --json results/writing.json      all cases, `react_mem` and its peers
    python -m benchmarks.writing --only en-update-home --explain  one case, part of an id, a kind, language or half
    python -m benchmarks.writing --check FILE                     what is wrong with a file of cases
    python -m benchmarks.writing --model openai:NAME --cases 6 --no-peer --explain
                                                                  a real model in place of the script

A case (`FORMAT.md`, `cases/early`, `cases/late`) is a few turns, in one or several conversations; for each turn how a
model reads the user's words; and what must be remembered in the end. The early half was written with the code, the late
half after it, by somebody who had not read it; they are reported apart. Every case is run three times: with a model
that answers correctly; with a careless one, which gives facts about others to the user, tells changes as new, takes
questions and suppositions for facts, and adds details; and with a hostile one, which invents, ends and forgets all that
it is shown, and passes the words of tools for the user's. What is measured is what memory makes of it: faults
(`correct.fault_share`), the share of what it believes that is false (`careless.false_share`), and the false facts that
it believes and the true ones that it gives up (`hostile.false`, `hostile.retired`).

`react_mem` runs whole: its graph, its store, one extraction at the end of each turn. The scripted model sees what any
model would: it labels the clauses that it is shown, and where the memory that it should change is not shown, it adds.

The peers are LangMem's store manager (`create_memory_store_manager`) over an InMemoryStore, and Mem0 over a Qdrant in
memory where it is installed, both with the same embedding model, called with the user's message and the answer after
each turn. The same script reaches each in its own protocol. LangMem: what is new is a call of `Memory`, a change a
`PatchDoc` that replaces the content of the memory that is shown, an end a `RemoveDoc`; it may delete, which it does not
by default, and it is shown as many memories as `react_mem` shows its model. Mem0: its model can only add, so that what
has changed stands beside what it was. They have no quotes, dates, doubts, history and counts, and are not measured by
those; they take their model at its word, so that they compare by the correct answers where one trusts the model.
"""
