"""Any net, any data, any network: what `peerbayes train` and ``pb.train`` are made of.

A :class:`~empirical.train.net.Net` says what a net with given weights puts out, a
:class:`~empirical.train.likelihoods.likelihood.Likelihood` what its outputs say of a label; both
work on the nets of all agents at once, whose weights are the rows of one tensor.
"""

import empirical.nets  # noqa: F401  # which says what to install where torch is missing
