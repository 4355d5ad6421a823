"""Memory as the interfaces of LangChain have it."""
