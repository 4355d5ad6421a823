"""Routing of a request to tools and kinds of memory: routes, scores, relations, one choice."""
