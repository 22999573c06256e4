"""Finitely many hypotheses, with faulty agents among the honest ones."""
