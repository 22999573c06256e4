"""Finitely many hypotheses on a network that changes."""
