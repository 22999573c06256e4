"""Networks of Bayesian neural nets: all agents of a network trained at once.

Every agent holds a mean-field Gaussian over the weights of one architecture. In a round each takes
some steps of variational inference on its own data, with the posterior of the round before as its
prior; then every agent pools the natural parameters of those it listens to, by its row of W (P1
section 2.1, P2 section 4). The Gaussians of N agents over d weights are two tensors of shape
(N, d), a step of all agents is a few batched matrix products and one fused update.

This room needs torch: ``pip install 'peerbayes[empirical]'``.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401  # asked for once, wherever the room is entered
except ModuleNotFoundError:
    raise ImportError(
        "networks of neural nets need torch; install it with pip install 'peerbayes[empirical]'"
    ) from None
