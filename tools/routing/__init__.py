"""Which of many tools, and which kinds of memory, a request needs: routes, scores, relations, one choice."""
