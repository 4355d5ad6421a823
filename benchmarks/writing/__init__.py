"""Whether what is written is written once, updates what it contradicts, and invents nothing.

    python -m benchmarks.writing --json results/writing.json      all cases, `react_mem` and its peer
    python -m benchmarks.writing --only en-update-home --explain  one case, a part of an id, or a kind
    python -m benchmarks.writing --model openai:NAME --cases 6 --no-peer --explain
                                                                  a real model in place of the script

A case (`cases/*.yaml`) is a few turns, in one or several conversations; for each turn what a model proposes when it
reads it; and what must be remembered in the end. Some of what the model proposes is wrong, and marked `bad`: it says a
thing again, adds what it should update, changes another memory than it should, believes the assistant or a question.
What is measured is what memory makes of it.

`react_mem` runs whole: its graph, its store, one extraction at the end of each turn. The scripted model sees what any
model would: it cites the messages that it is shown, and where the memory that it should change is not shown, it adds.

The peer is LangMem's store manager (`create_memory_store_manager`) over an InMemoryStore with the same embedding model,
called with the user's message and the answer after each turn. The same script reaches it in its own protocol: what is
to be added is a call of `Memory`, an update a `PatchDoc` that replaces the content of the memory that is shown, a
retraction a `RemoveDoc`. It may delete, which it does not by default, and it is shown as many memories as `react_mem`
shows its model. It has no citations, no history and no counts, so that it is not measured by those; and it takes its
model at its word, so that the cases with a careful model (`model careful` in the table) are those to compare it by
where one trusts the model. In the paraphrases the model repeats itself: a model that left out what is known already
would need no memory that merges.
"""
