"""Bounds on the tails of the network's log-odds, in closed form."""
