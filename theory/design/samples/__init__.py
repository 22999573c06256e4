"""The fewest rounds, over influence and weights together."""
