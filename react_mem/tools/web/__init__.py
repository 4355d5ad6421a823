"""Web search: engines, text of pages, and redaction of queries."""
