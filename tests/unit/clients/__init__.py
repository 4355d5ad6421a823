"""The clients of the REST interface: what follows from the schema, and how they send and read."""
