"""Rewriting a text without changing what it says: which edits there are, and the search for those that fool a model."""
