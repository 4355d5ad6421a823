"""REST interface of memory, `/memory/v1`: a user's access to their own memories."""
