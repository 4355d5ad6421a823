"""Encryption keys: a data key for each owner, stored in the database and wrapped by a master key outside it."""
