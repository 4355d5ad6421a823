"""Authentication and authorization of a LangGraph server: one line of `langgraph.json`.

- `react_mem.graphs.auth.by_jwt:auth`: users by signed tokens of an identity provider, or of your own
- `react_mem.graphs.auth.by_api_key:auth`: users by keys that you hand out

Both deny what nothing allows: see `permissions`. An authentication of your own gets the same permissions with
`permissions.default_deny`.
"""
