"""Memory for coding agents, by their hooks: a client that is gone in a moment, and a process that holds memory open.

The client (`hook_client`, `hook_place`) imports nothing but the standard library, and little of that: it is started
before every prompt. What needs memory is done by the resident, which the first client starts.
"""
