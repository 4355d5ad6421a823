"""What belongs to the user: export, import, correction, forgetting, and the receipts of it."""
