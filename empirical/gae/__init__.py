"""GAE, compressed gossip of weights by pruning and an autoencoder, as its paper has it."""
