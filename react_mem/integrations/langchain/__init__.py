"""Memory behind LangChain's interfaces."""
