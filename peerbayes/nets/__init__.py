"""Trainings of one's own: the net file, the run, its documents and its page."""
