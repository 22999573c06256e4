"""Networks of Bayesian neural nets: all agents of a network trained at once.

Every agent holds a mean-field Gaussian over the weights of one architecture. In a round each takes
some steps of variational inference on its own data, with the posterior of the round before as its
prior; then every agent pools the natural parameters of those it listens to, by its row of W (P1
section 2.1, P2 section 4). The Gaussians of N agents over d weights are two tensors of shape
(N, d), a step of all agents is a few batched matrix products and one fused update.

This package needs torch: in a checkout, ``pip install -c constraints.txt '.[empirical]'``.
"""

from __future__ import annotations

from theory.validation import install_extra

try:
    import torch  # noqa: F401  # asked for once, wherever the package is entered
except ModuleNotFoundError:
    remedy = install_extra("empirical")
    raise ImportError(f"networks of neural nets need torch; {remedy}") from None
