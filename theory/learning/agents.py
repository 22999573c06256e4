"""What one agent observes, and how each hypothesis explains it.

An agent draws inputs x from its own law P(x) and labels y from f(y | x); hypothesis θ claims
ℓ(y | θ, x). Two kinds of agent cover the field:

* :class:`FiniteAgent`: finitely many outcomes o = (x, y), given by tables, or by the
  log-likelihoods of a data set from which the agent draws with replacement;
* :class:`GaussianAgent`: finitely many inputs, real labels, Gaussian truth and hypotheses, whose
  log-likelihood ratios have no bound.

Both answer the same questions: the divergence D(θ) = E KL(f(·|x) ‖ ℓ(·|θ, x)) of each hypothesis
from the agent's truth, the law of the log-likelihood ratio of any two hypotheses, and the bounds
α ≤ ℓ ≤ L of the papers' Assumption 3. All divergences are in nats.
"""

from __future__ import annotations

from theory.learning.finite_agent import FiniteAgent
from theory.learning.gaussian_agent import GaussianAgent

Agent = FiniteAgent | GaussianAgent
