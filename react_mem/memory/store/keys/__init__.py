"""Keys of encryption: a data key for each owner, kept in the database wrapped by a master key that is not there."""
