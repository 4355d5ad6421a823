"""The audit log: who did what with whose memory, in a chain of hashes; never what it says."""
