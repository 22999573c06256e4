"""What the kinds of problem have in common: their protocol, and social learning on any network."""
