"""Cost of many tenants in one database: writing, searching, and what a search misses."""
