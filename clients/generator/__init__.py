"""Generator of the clients of the REST interface: `python -m clients.generator` writes what follows from the schema."""
