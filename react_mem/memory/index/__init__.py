"""The index of records, and the operations that search it: entries, questions, recalls, the fusion of arms."""
