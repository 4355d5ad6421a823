"""The contract: records, scopes, the policy, queries and results, and the names of places in the store."""
