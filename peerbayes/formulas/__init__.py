"""Closed forms of networks and families of networks."""
