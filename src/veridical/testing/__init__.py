"""Contract checks for plug-in authors, and models whose explanations can be worked out by hand."""
