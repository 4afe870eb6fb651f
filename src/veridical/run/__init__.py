"""Jobs: what the command line, the API and notebooks call. Each can be interrupted and goes on where it stopped."""
