"""The excess error given the inputs: exact in expectation over the noise.

Given every input, agent i's estimate after n rounds is linear in the labels' noise:

    estimate − θ* = Ω_i⁻¹ ( Σ_j [W^n]_ij Ω_j^0 (m_j − θ*)  +  Σ_k Σ_j [W^k]_ij c_j x ε ),

so that its mean and its covariance are known without any error but rounding. Averaged over drawn
inputs this is the expected error, with far less scatter than runs of the learning itself have
(Rao and Blackwell): the noise is integrated out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.network import Network
from theory.regression.expansion import centring
from theory.regression.model import RegressionModel, check_fits
from theory.regression.positive import Factor
from theory.regression.predicted import as_rounds, is_mixed, refuse_targets
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_float_array, as_integer, fail, read_only

# A hundredth of the draws that carries more of the mean than this makes its scatter doubtful.
_HEAVY = 0.1
# Numbers in the squares of the inputs of the draws that are taken together.
_MOST_NUMBERS = 1_000_000


@dataclass(frozen=True, eq=False)
class ConditionalError(Shown):
    """Exact moments of every agent's estimate given the inputs, at T recorded rounds.

    Attributes
    ----------
    rounds
        Shape (T,).
    bias
        Shape (T, N, d): the mean of estimate − θ*.
    covariance, reported_covariance
        Shape (T, N, d, d): the estimate's, and the belief's own.
    excess_error, reported_error
        Shape (T, N): biasᵀ S_test bias + tr(S_test covariance), and tr(S_test reported_covariance).
    """

    rounds: IntArray
    bias: FloatArray
    covariance: FloatArray
    reported_covariance: FloatArray
    excess_error: FloatArray
    reported_error: FloatArray

    @property
    def coordinate_ratios(self) -> FloatArray:
        """True over reported variance of each coefficient, shape (T, N, d): 1 is calibrated."""
        true = np.diagonal(self.covariance, axis1=-2, axis2=-1)
        return np.asarray(true / np.diagonal(self.reported_covariance, axis1=-2, axis2=-1))

    @property
    def direction_ratios(self) -> FloatArray:
        """The stationary values over all directions of the same, increasing, shape (T, N, d)."""
        factor = Factor.of(self.reported_covariance)
        half = factor.half(factor.half(self.covariance).swapaxes(-1, -2))
        return np.asarray(np.linalg.eigvalsh((half + half.swapaxes(-1, -2)) / 2))


@typed
def conditional_error(
    network: Network, model: RegressionModel, inputs: ArrayLike, rounds: Sequence[int] | IntArray
) -> ConditionalError:
    """Mean and covariance of every estimate given the inputs.

    Parameters
    ----------
    inputs
        Shape (n, N, batch, d): the inputs of each round; rows of zeros stand for pairs that were
        not drawn, where agents' batches differ.
    rounds
        Increasing round numbers up to n.

    Raises
    ------
    ValueError
        If network, model and inputs do not fit, rounds do not increase from 1 to n, or some agent's
        labels are those of a data set, so that they are not random given the inputs.

    Notes
    -----
    Memory: n N d² numbers for the squares of the inputs, and 2 T N d² for the result. Work: that of
    W^k for all k until it is mixed, and T N² d² for each.

    Examples
    --------
    One agent that measures one number, x = 1, four times with noise of variance 1:

    >>> import numpy as np
    >>> from theory.regression import RegressionAgent, RegressionModel
    >>> agent = RegressionAgent(ranges=[[1, 1]], noise_std=1)
    >>> model = RegressionModel([2.0], [agent], [[1.0]], [[1.0]])
    >>> result = conditional_error(Network([[1]]), model, np.ones((4, 1, 1, 1)), [4])
    >>> result.bias.ravel().round(12).tolist(), result.covariance.ravel().round(12).tolist()
    ([-0.4], [0.16])
    """
    check_fits(network, model)
    refuse_targets(model)
    wanted = as_rounds(rounds)
    x = as_float_array("inputs", inputs, ndim=4)
    if x.shape[1] != model.agents or x.shape[3] != model.dimension or len(x) < wanted[-1]:
        raise fail(
            "inputs",
            f"shape (at least {wanted[-1]} rounds, {model.agents} agents, batch,"
            f" {model.dimension})",
            f"shape {x.shape}",
            "draw inputs for every round and agent",
        )
    found = _Moments.of(network, model, wanted).given(x[None, : wanted[-1]])
    turn = found.turn
    return ConditionalError(
        np.array(wanted, dtype=np.int64),
        read_only(found.bias[0] @ turn),
        read_only(turn.T @ found.covariance[0] @ turn),
        read_only(turn.T @ found.reported_covariance[0] @ turn),
        read_only(found.excess_error[0]),
        read_only(found.reported_error[0]),
    )


@dataclass(frozen=True, eq=False)
class _Given:
    """What `ConditionalError` has, for R draws of the inputs: shapes (R, T, N, …).

    Bias and covariances are those of x' = L x, L being `turn`.
    """

    turn: FloatArray
    bias: FloatArray
    covariance: FloatArray
    reported_covariance: FloatArray
    excess_error: FloatArray
    reported_error: FloatArray


@dataclass(frozen=True, eq=False)
class _Moments:
    """What all draws of inputs have in common.

    Attributes
    ----------
    wanted
        The rounds.
    turn, test
        L, and S_test of x' = L x; shape (d, d) each.
    powers
        W, W², … until it is mixed, or as far as is asked for.
    weight, over
        Shape (N,): by what squares of inputs add to Ω and, in its units, to V.
    prior, errors
        Ω and the errors that the prior leaves at the rounds: shapes (d, d) or (T, N, d, d), and
        (T, N, d).
    """

    wanted: tuple[int, ...]
    turn: FloatArray
    test: FloatArray
    powers: tuple[FloatArray, ...]
    weight: FloatArray
    over: FloatArray
    prior: FloatArray
    errors: FloatArray

    @classmethod
    def of(cls, network: Network, model: RegressionModel, wanted: Sequence[int]) -> _Moments:
        """Of a network and a model that fit, at some rounds."""
        centred, turn = centring(model)
        powers: list[FloatArray] = []
        for power in network.powers():
            powers.append(power)
            if len(powers) == wanted[-1] or is_mixed(power):
                break
        mixings = [powers[min(n, len(powers)) - 1] for n in wanted]
        prior = turn @ model.prior_precision @ turn.T
        if prior.ndim == 3:
            prior = np.array([np.tensordot(mixing, prior, axes=1) for mixing in mixings])
        return cls(
            tuple(wanted),
            turn,
            centred.test_second_moment,
            tuple(powers),
            np.array([kind.weight for kind in model.kinds])[model.assignment],
            np.array([kind.overweight for kind in model.kinds])[model.assignment],
            prior,
            np.array([mixing @ model.prior_errors for mixing in mixings]) @ turn.T,
        )

    def given(self, inputs: FloatArray) -> _Given:
        """The moments given inputs of shape (R, n, N, batch, d), n the last round wanted."""
        S, weight, over = self.test, self.weight, self.over
        x = inputs @ self.turn.T
        draws, longest, N, _, d = x.shape
        gram = (x.swapaxes(-1, -2) @ x).reshape(draws, longest, N, d * d)
        information = np.zeros((draws, len(self.wanted), N, d * d))
        # `gram` times weight is what a round adds to Ω, times weight·over what it adds to V.
        noise = np.zeros(information.shape)
        ends = np.array(self.wanted)
        for past, power in enumerate(self.powers, start=1):
            live = np.flatnonzero(ends >= past)
            seen = gram[:, ends[live] - past]
            information[:, live] += (power * weight) @ seen
            noise[:, live] += (power**2 * (weight * over)) @ seen
        lag = len(self.powers)
        if lag < longest:
            older = np.cumsum(gram, axis=1)
            live = np.flatnonzero(ends > lag)
            seen = older[:, ends[live] - lag - 1]
            information[:, live] += (power * weight) @ seen
            noise[:, live] += (power**2 * (weight * over)) @ seen
        factor = Factor.of(self.prior + information.reshape(*information.shape[:3], d, d))
        b = factor.solve(self.errors[..., None])[..., 0]
        C = factor.sandwich(noise.reshape(*noise.shape[:3], d, d))
        R = factor.inverse()
        excess = ((b @ S) * b).sum(axis=-1) + (S * C).sum(axis=(-2, -1))
        return _Given(self.turn, b, C, R, excess, (S * R).sum(axis=(-2, -1)))


@dataclass(frozen=True, eq=False)
class AveragedError(Shown):
    """Expected errors estimated by averaging over drawn inputs; unbiased, with standard errors.

    All arrays but `rounds` have shape (T, N); the errors' standard errors are those of the mean
    over `draws` independent draws. They are estimates too, and too small where few draws carry
    most of the mean: `notes` names the rounds where that can be told from the draws.
    """

    rounds: IntArray
    excess_error: FloatArray
    standard_error: FloatArray
    reported_error: FloatArray
    reported_standard_error: FloatArray
    draws: int
    notes: tuple[str, ...] = ()


@typed
def averaged_error(
    network: Network,
    model: RegressionModel,
    rounds: Sequence[int] | IntArray,
    *,
    draws: int,
    seed: int | np.random.SeedSequence | np.random.Generator,
) -> AveragedError:
    """The expected excess error by averaging `conditional_error` over drawn inputs.

    Parameters
    ----------
    draws
        How many independent sets of inputs, at least 2.
    seed
        A whole number, a seed sequence or a generator.

    Raises
    ------
    ValueError
        As for `conditional_error`, or if `draws` is below 2.

    Notes
    -----
    An estimate, with an estimated standard error. Before inputs span all directions, n of the
    order of d and below, the error given the inputs varies by orders of magnitude from draw to
    draw where inputs are heavy-tailed or a weak prior meets a rare input: at n ≤ 4 a few hundred
    draws may miss the inputs that carry the mean, and then the mean *and* its standard error are
    too small. The result's `notes` name the rounds where the draws show it, one draw in a hundred
    carrying a tenth of the mean or more; inputs that no draw met cannot be noticed. Take
    thousands of draws there, and compare two seeds.

    Examples
    --------
    >>> from theory.regression.rational_model import two_nodes
    >>> case = two_nodes().as_floats()
    >>> averaged = averaged_error(case.network, case.model, [100], draws=50, seed=1)
    >>> bool(averaged.standard_error.max() < 0.02 * averaged.excess_error.min())
    True
    """
    check_fits(network, model)
    refuse_targets(model)
    count = as_integer("draws", draws, minimum=2)
    wanted = as_rounds(rounds)
    generator = np.random.default_rng(seed)
    excess, reported = np.empty((2, count, len(wanted), model.agents))
    moments = _Moments.of(network, model, wanted)
    size = model.agents * model.dimension * max(model.batch, model.dimension)
    together = max(1, _MOST_NUMBERS // (wanted[-1] * size))
    for start in range(0, count, together):
        some = slice(start, min(start + together, count))
        x = [draw_inputs(model, wanted[-1], generator) for _ in range(some.stop - start)]
        result = moments.given(np.array(x))
        excess[some], reported[some] = result.excess_error, result.reported_error
    scale = np.sqrt(count)
    return AveragedError(
        np.array(wanted, dtype=np.int64),
        read_only(excess.mean(axis=0)),
        read_only(excess.std(axis=0, ddof=1) / scale),
        read_only(reported.mean(axis=0)),
        read_only(reported.std(axis=0, ddof=1) / scale),
        count,
        _doubts(wanted, excess),
    )


def _doubts(rounds: Sequence[int], excess: FloatArray) -> tuple[str, ...]:
    """A note on rounds at which few draws carry the mean of `excess`, shape (draws, T, N)."""
    few = max(1, len(excess) // 100)
    total = excess.sum(axis=0)
    top = np.sort(excess, axis=0)[-few:].sum(axis=0)
    # Among few draws each one has a share of its own.
    usual = few / len(excess)
    heavy = (top > max(_HEAVY, 4 * usual) * total).any(axis=-1)
    early = [n for n, is_heavy in zip(rounds, heavy.tolist(), strict=True) if is_heavy]
    if not early:
        return ()
    return (
        f"rounds {', '.join(map(str, early))}: {few} of {len(excess)} draws carry much of the "
        "mean, so that standard errors may be too small; take more draws",
    )


@typed
def draw_inputs(model: RegressionModel, rounds: int, generator: np.random.Generator) -> FloatArray:
    """Inputs of every agent, shape (rounds, N, batch, d); rows of zeros pad smaller batches."""
    x = np.zeros((rounds, model.agents, model.batch, model.dimension))
    for k, kind in enumerate(model.kinds):
        who = np.flatnonzero(model.assignment == k)
        if who.size:
            x[:, who, : kind.batch] = kind.draw_inputs(generator, (rounds, who.size, kind.batch))
    return x
