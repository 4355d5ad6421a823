"""The audit log: actor, action, time and number of records in a hash chain, without any content."""
