"""Cost of many tenants in one database: writing, searching, and missed results."""
