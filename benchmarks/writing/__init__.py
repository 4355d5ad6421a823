"""Quality of writing: each fact once, updated where contradicted, nothing invented."""
