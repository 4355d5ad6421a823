"""The terminal: the subcommands of `react-mem`."""
