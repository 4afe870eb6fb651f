"""What `veridical check` looks at, one question per file; `run/checking.py` puts them together."""
