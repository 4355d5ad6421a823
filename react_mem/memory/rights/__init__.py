"""The user's rights over their memories: export, import, correction, erasure, and its receipts."""
