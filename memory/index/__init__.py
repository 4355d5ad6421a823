"""What of a record is indexed, and the operations by which it is found: entries, questions, recalls, arms."""
