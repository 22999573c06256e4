"""Mixing on directed graphs, by local search."""
