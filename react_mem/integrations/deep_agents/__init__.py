"""Memory for Deep Agents: a backend with files as memories, the learnt skills as files, and a search tool."""
