"""Memory on a Citus cluster, under load, while a node fails and another joins."""
