"""The worker and what it does in time: the queue of work, conversations that have ended, upkeep."""
