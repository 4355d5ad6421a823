"""Memory for coding agents through their hooks: a short-lived client, and a resident process that holds memory open."""
