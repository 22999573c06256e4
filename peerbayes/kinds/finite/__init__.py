"""Finitely many hypotheses on a network that stays as it is."""
