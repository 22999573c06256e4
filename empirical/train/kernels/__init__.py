"""Compiled inner loops of training: counter-based noise, matrix products, updates in one sweep."""
