"""The index of records and its search: entries, questions, recalls, and the fusion of arms."""
