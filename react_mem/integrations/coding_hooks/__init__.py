"""Memory for coding agents through their hooks: a short-lived client, and a resident process that holds memory open.

The client (`hook_client`, `hook_place`) imports little, and of the standard library only: it starts before every
prompt. The resident does the rest; the first client starts it.
"""
