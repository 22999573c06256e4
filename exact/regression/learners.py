"""Who learns in a simulated regression, from what data, and whom they listen to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.sparse import csr_array

from exact.regression.beliefs import GaussianBeliefs
from exact.regression.factors import residual
from exact.regression.state import Samples, lighter, samples_of, settling_rounds
from theory import Network
from theory.regression import RegressionAgent, RegressionModel
from theory.validation import FloatArray, fail

Mode = Literal["cooperate", "alone", "central", "central-node"]


@dataclass(frozen=True, eq=False)
class Learners:
    """Who learns from what.

    Attributes
    ----------
    weights
        What N learners listen to, shape (N, N); None if nobody listens to anybody.
    distribution
        Shape (N,): their shares in the network's average, summing to one.
    settled
        Powers of W beyond which all rows are alike, to rounding; 0 without weights.
    model, samples
        The data, and which learner each sample goes to.
    prior
        The learners' beliefs before the first round.
    """

    weights: FloatArray | csr_array | None
    distribution: FloatArray
    settled: int
    model: RegressionModel
    samples: Samples
    prior: GaussianBeliefs


def learners_of(
    network: Network,
    model: RegressionModel,
    *,
    mode: Mode,
    node: RegressionAgent | None,
    rounds: int,
) -> Learners:
    """The learners of a mode (:func:`exact.simulate_regression`), over so many rounds.

    Raises
    ------
    ValueError
        If the mode is not known, or a central node is wanted of agents that differ in their noise
        or whose labels are data.
    """
    if mode not in get_args(Mode):
        raise fail("mode", " or ".join(get_args(Mode)), repr(mode), "choose one of them")
    v, prior = network.stationary_distribution, prior_beliefs(model)
    if mode == "cooperate":
        settled = settling_rounds(network, most=rounds)
        return Learners(lighter(network.weights), v, settled, model, samples_of(model), prior)
    if mode == "alone":
        return Learners(None, v, 0, model, samples_of(model), prior)
    prior = prior.consensus(np.full((1, model.agents), 1 / model.agents))
    if mode == "central":
        model = model.tempered(1.0)
        samples = samples_of(model)
        samples = replace(samples, owner=np.zeros_like(samples.owner))
    else:
        model = central_node(model) if node is None else lone(model, node)
        samples = samples_of(model)
    return Learners(None, np.ones(1), 0, model, samples, prior)


def about_theta(model: RegressionModel) -> RegressionModel:
    """The same problem in the coordinates θ − θ*, in which beliefs are about errors.

    What beliefs hold is then of the size of noise and errors, however far from zero θ* and the
    labels lie, and no digit is lost to either.
    """
    kinds = []
    for kind in model.kinds:
        if kind.targets is not None and kind.inputs is not None:
            rest = residual(kind.inputs, model.theta[:, None], kind.targets[:, None])[:, 0]
            kind = kind.changed(targets=rest)
        kinds.append(kind)
    zero, mean = np.zeros_like(model.theta), model.prior_mean - model.theta
    return replace(model, theta=zero, kinds=tuple(kinds), prior_mean=mean)


def prior_beliefs(model: RegressionModel) -> GaussianBeliefs:
    """The agents' priors."""
    if model.prior_covariance.ndim == 3 or model.prior_mean.ndim == 2:
        return GaussianBeliefs.from_moments(model.prior_means, model.prior_covariance)
    one = GaussianBeliefs.from_moments(model.prior_mean, model.prior_covariance, agents=1)
    return GaussianBeliefs(
        np.repeat(one.precision, model.agents, axis=0),
        np.repeat(one.information, model.agents, axis=0),
    )


def central_node(model: RegressionModel) -> RegressionModel:
    """A model of one agent that draws one full sample a round, as the papers' central node does.

    If every agent's coordinates are uniform, the node draws each from the hull of the ranges of the
    agents that see it, provided that these have the test inputs' second moment; else it draws
    normal inputs with that second moment.

    Raises
    ------
    ValueError
        If agents differ in their noise, or labels are data.

    Examples
    --------
    >>> seen = [[[1, 1], [-1, 1], [0, 0]], [[1, 1], [0, 0], [-1.5, 1.5]]]
    >>> model = RegressionModel.from_agents(
    ...     np.zeros(3), [RegressionAgent(ranges=rows, noise_std=0.8) for rows in seen],
    ...     prior_covariance=np.eye(3), test_second_moment=np.diag([1, 1 / 3, 3 / 4]),
    ... )
    >>> central_node(model).agent(0).ranges.tolist()
    [[1.0, 1.0], [-1.0, 1.0], [-1.5, 1.5]]
    """
    noise = model.noise_std
    if noise is None or model.has_targets:
        got = "labels of data" if model.has_targets else "agents of different noise"
        raise fail("mode", "one law of labels for a central node", got, 'use "central"')
    node = RegressionAgent(second_moment=model.test_second_moment, noise_std=noise)
    ranges = [kind.ranges for kind in model.kinds if kind.ranges is not None]
    if len(ranges) == len(model.kinds):
        table = np.array(ranges)
        seen = (table != 0).sum(axis=-1) > 0
        low = np.where(seen, table[..., 0], np.inf).min(axis=0)
        high = np.where(seen, table[..., 1], -np.inf).max(axis=0)
        hull = np.where(seen.any(axis=0)[:, None], np.stack([low, high], axis=1), 0.0)
        full = RegressionAgent(ranges=hull, noise_std=noise)
        if np.allclose(full.second_moment, model.test_second_moment, rtol=1e-9, atol=1e-12):
            node = full
    return lone(model, node)


def lone(model: RegressionModel, node: RegressionAgent) -> RegressionModel:
    """The same problem with a single agent."""
    return RegressionModel.from_agents(
        model.theta,
        [node],
        # Not used: the learner starts from the average prior.
        prior_covariance=np.eye(model.dimension),
        test_second_moment=model.test_second_moment,
    )


def sum_of_batches(model: RegressionModel) -> int:
    """Samples of a round."""
    batches = np.array([kind.batch for kind in model.kinds])
    return int(batches[model.assignment].sum())
