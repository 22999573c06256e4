"""Regressions, and beliefs about their coefficients."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from exact.regression import GaussianBeliefs, NormalInverseGammaBeliefs
from tests.strategies.basic import seeds, several
from theory.regression import RegressionAgent, RegressionModel


@st.composite
def regression_agents(draw: st.DrawFn, dimension: int) -> RegressionAgent:
    """Agents with inputs of every law, most of them blind to some directions."""
    law = draw(st.sampled_from(["uniform", "normal", "data"]))
    inputs: dict[str, NDArray[np.float64]]
    if law == "uniform":
        pairs = st.sampled_from([(1, 1), (0, 0), (-1, 1), (-1.5, 1.5), (0, 2), (-1e-3, 1e-3)])
        inputs = {"ranges": np.array(draw(several(pairs, dimension)), dtype=float)}
    else:
        entry = st.integers(-4, 4).map(lambda k: k / 2)
        rows = draw(st.lists(several(entry, dimension), min_size=1, max_size=3))
        table = np.array(rows, dtype=float).reshape(-1, dimension)
        inputs = {"inputs": table} if law == "data" else {"second_moment": table.T @ table}
    return RegressionAgent(
        **inputs,
        noise_std=draw(st.sampled_from([0.3, 0.8, 2.5])),
        claimed_noise_std=draw(st.sampled_from([None, 0.5, 1.0])),
        batch=draw(st.integers(1, 3)),
        tempering=draw(st.sampled_from([1.0, 0.5, 4.0])),
    )


@st.composite
def regression_models(draw: st.DrawFn, agents: int) -> RegressionModel:
    """Regressions in one to four dimensions; priors shared or the agents' own."""
    dimension = draw(st.integers(1, 4))
    kinds = [draw(regression_agents(dimension)) for _ in range(draw(st.integers(1, agents)))]
    chosen = draw(several(st.integers(0, len(kinds) - 1), agents))
    entry = st.integers(-4, 4).map(lambda k: k / 2)
    square = several(several(entry, dimension), dimension).map(np.array)
    covariance = square.map(lambda root: root @ root.T + 0.1 * np.eye(dimension))
    own = draw(st.booleans())
    return RegressionModel(
        draw(several(entry, dimension)),
        kinds,
        [draw(covariance) for _ in range(agents)] if own else draw(covariance),
        draw(square.map(lambda root: root @ root.T)),
        [draw(several(entry, dimension)) for _ in range(agents)] if own else None,
        chosen,
    )


def changed(model: RegressionModel, turn: NDArray[np.float64], label: float) -> RegressionModel:
    """The same problem with inputs `turn` x and labels times `label`.

    `turn` is diagonal, or for agents whose first column is a constant adds multiples of it to the
    others: the laws of their inputs stay what they are.
    """
    back = np.linalg.inv(turn)

    def inputs(kind: RegressionAgent) -> dict[str, NDArray[np.float64]]:
        if kind.ranges is not None:
            diagonal = np.diag(np.diag(turn))
            return {"ranges": diagonal @ kind.ranges + (turn - diagonal) @ kind.ranges[:, :1]}
        if kind.inputs is None:
            return {"second_moment": turn @ kind.second_moment @ turn.T}
        targets = {} if kind.targets is None else {"targets": label * kind.targets}
        return {"inputs": kind.inputs @ turn.T, **targets}

    kinds = [
        RegressionAgent(
            **inputs(kind),
            noise_std=label * kind.noise_std,
            claimed_noise_std=label * kind.claimed_noise_std,
            batch=kind.batch,
            tempering=kind.tempering,
        )
        for kind in model.kinds
    ]
    return RegressionModel(
        label * model.theta @ back,
        kinds,
        label**2 * back.T @ model.prior_covariance @ back,
        turn @ model.test_second_moment @ turn.T,
        label * model.prior_mean @ back,
        model.assignment,
    )


@st.composite
def gaussian_beliefs(draw: st.DrawFn, agents: int, *, dimension: int) -> GaussianBeliefs:
    """Beliefs of means within 3 and standard deviations between .2 and 2 or so."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    turns = np.linalg.qr(rng.normal(size=(agents, dimension, dimension)))[0]
    spread = rng.uniform(0.04, 4.0, size=(agents, 1, dimension))
    covariance = (turns * spread) @ turns.swapaxes(-1, -2)
    return GaussianBeliefs.from_moments(rng.uniform(-3, 3, (agents, dimension)), covariance)


CONDITIONS = (1.0, 1e4, 1e8, 1e12)


@st.composite
def stiff_beliefs(draw: st.DrawFn, agents: int, *, dimension: int) -> GaussianBeliefs:
    """Beliefs with condition numbers up to 1e12; some agents never saw some coordinates.

    Along a coordinate never seen there is the prior alone, the same for all agents.
    """
    rng = np.random.default_rng(draw(seeds))
    condition = draw(st.sampled_from(CONDITIONS))
    # With the same axes for all, pooling does not mend what is ill-conditioned.
    count = 1 if draw(st.booleans()) else agents
    axes = np.linalg.qr(rng.normal(size=(count, dimension, dimension)))[0]
    if draw(st.booleans()):
        axes = np.broadcast_to(np.eye(dimension), axes.shape)
    powers = rng.uniform(0, 1, (agents, dimension))
    powers[:, 0], powers[:, -1] = 0.0, 1.0
    blind = rng.random((agents, dimension)) < draw(st.sampled_from([0.0, 0.4]))
    spread = np.where(blind, 1.0, condition**powers)
    precision = (axes * spread[:, None, :]) @ axes.swapaxes(-1, -2)
    precision = (precision + precision.swapaxes(-1, -2)) / 2
    means = rng.uniform(-3, 3, (agents, dimension))
    return GaussianBeliefs(precision, np.einsum("nde,ne->nd", precision, means))


@st.composite
def noisy_beliefs(draw: st.DrawFn, agents: int, *, dimension: int) -> NormalInverseGammaBeliefs:
    """Beliefs about coefficients and noise, with any number of data behind them."""
    unit = draw(gaussian_beliefs(agents, dimension=dimension))
    rng = np.random.default_rng(draw(seeds))
    return NormalInverseGammaBeliefs(
        unit.precision,
        unit.information,
        10 ** rng.uniform(0, 2, agents),
        10 ** rng.uniform(-1, 2, agents),
    )
