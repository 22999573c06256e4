"""Agents of a network of nets, each by itself."""
