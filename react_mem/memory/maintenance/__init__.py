"""Background worker: the queue of work, concluded conversations, retention rounds."""
