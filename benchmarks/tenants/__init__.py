"""What many tenants in one database cost each other: writing, searching, and what a search misses."""
