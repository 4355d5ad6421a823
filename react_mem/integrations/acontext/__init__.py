"""Skills and sessions of Acontext."""
