"""The parts of an audit: what can be done, scores to judge, judging them, and a journal of what is done."""
