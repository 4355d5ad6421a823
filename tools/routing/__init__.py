"""Which of many tools, and which kinds of memory, a request needs: routes, their scores, their relations, one choice."""
