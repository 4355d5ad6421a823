"""Background work: a small queue in the store, on any store of LangGraph."""
