"""The command line: thin commands that parse, call a job, and print."""
