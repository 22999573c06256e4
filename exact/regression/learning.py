"""Decentralised Bayesian linear regression as the papers write it, on given data.

Each round an agent updates its private belief by the batch it observes (P1 eq. 2), which gives its
public belief, and pools the public beliefs it hears with the weights of its row of W (P1 eq. 3).
This is the readable form; :mod:`exact.regression.simulation` is the fast one, for drawn data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from exact.regression.batches import Batches
from exact.regression.beliefs import GaussianBeliefs, stacked_beliefs
from exact.regression.unknown_noise import NormalInverseGammaBeliefs
from theory import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import fail

Belief = TypeVar("Belief", GaussianBeliefs, NormalInverseGammaBeliefs)


@dataclass(frozen=True, eq=False)
class RegressionBeliefs(Shown, Generic[Belief]):
    """What every agent believed after rounds 1 to T.

    Attributes
    ----------
    public, private
        Beliefs with a leading axis of T rounds: before and after pooling. Floating-point values.
    """

    public: Belief
    private: Belief


@typed
def learn_regression(
    network: Network,
    designs: ArrayLike | Sequence[Batches],
    targets: ArrayLike | Sequence[Batches],
    *,
    prior: Belief,
    noise_std: ArrayLike | None = None,
    tempering: ArrayLike = 1.0,
) -> RegressionBeliefs[Belief]:
    """Run the algorithm on given data, round by round.

    Parameters
    ----------
    network
        N agents.
    designs, targets
        For each of T ≥ 1 rounds the features and labels of the N agents: arrays of shape
        (T, N, M, d) and (T, N, M), or for each round N arrays of shapes (M_i, d) and (M_i,),
        where M_i may be 0.
    prior
        The agents' private beliefs before round 1. The kind of belief decides what is learnt: of
        coefficients alone, or of coefficients and noise.
    noise_std
        The standard deviation that agents ascribe to labels, one or one per agent; for
        `GaussianBeliefs`, which need it, and only for them.
    tempering
        The power to which likelihoods are raised: one, or one per agent.

    Returns
    -------
    RegressionBeliefs
        Public and private beliefs after each round.

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, the noise is missing, not wanted or not
        positive; the message names the agent where there is one.

    Examples
    --------
    >>> pair = Network([[0.5, 0.5], [0.5, 0.5]])
    >>> prior = GaussianBeliefs.from_moments([0.0], [[1.0]], agents=2)
    >>> run = learn_regression(
    ...     pair, [[[[1.0]], []], [[[1.0]], []]], [[[1.0], []], [[1.0], []]],
    ...     prior=prior, noise_std=1.0,
    ... )
    >>> run.private.mean[:, :, 0].round(4).tolist()
    [[0.3333, 0.3333], [0.5, 0.5]]
    """
    if prior.agents != network.agents:
        got = f"{prior.agents} of them"
        raise fail("prior", f"beliefs of {network.agents} agents", got, "give every agent one")
    rounds = len(designs)  # type: ignore[arg-type]
    if rounds == 0 or len(targets) != rounds:  # type: ignore[arg-type]
        got = f"{len(targets)} rounds of targets and {rounds} of designs"  # type: ignore[arg-type]
        raise fail("targets", "as many rounds as designs, at least one", got, "match them")
    known = isinstance(prior, GaussianBeliefs)
    if known != (noise_std is not None):
        expected = "the noise's standard deviation" if known else "none where it is learnt"
        raise fail("noise_std", expected, repr(noise_std), "match it to the kind of belief")
    options: dict[str, Any] = {"tempering": tempering}
    if known:
        options["noise_std"] = noise_std
    public, private = [], [prior]
    for features, labels in zip(designs, targets, strict=True):  # type: ignore[arg-type]
        public.append(private[-1].update(features, labels, **options))
        private.append(public[-1].consensus(network.weights))
    return RegressionBeliefs(public=stacked(public), private=stacked(private[1:]))


def stacked(beliefs: Sequence[Belief]) -> Belief:
    """Beliefs of equal shapes along a new first axis."""
    if isinstance(beliefs[0], GaussianBeliefs):
        return stacked_beliefs(beliefs)
    return NormalInverseGammaBeliefs.of_unit(
        stacked_beliefs([belief.unit for belief in beliefs]),
        *(np.stack([getattr(belief, name) for belief in beliefs]) for name in ("shape", "scale")),
    )
