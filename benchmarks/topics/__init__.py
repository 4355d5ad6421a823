"""Search with and without the words that a careful model names a message by."""
