"""What observations look like in a run that goes wrong: the tilted law.

Errors at a late round n have probability about e^{−nE}, and given that one happens, agent j's
observations are distributed as if z_j had the density e^{−t v_j z − κ_j(−t v_j)} with respect to
its own law, t the tilt of the error exponent (docs: mathematics/prefactor). Under it the network's
stationary log-ratio S = Σ_j v_j z_j has mean zero: wrong and right are balanced, and an error is
no longer rare. So it is the law to sample from where errors are too rare to be seen, and its
variance is what stands before e^{−nE}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.learning.exponent import ErrorExponent, error_exponent
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.network.network import require_fixed
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only


@dataclass(frozen=True, eq=False)
class TiltedLaw(Shown):
    """The laws of z_j(reference, hypothesis) tilted by e^{−t v_j z}; floating-point values.

    Attributes
    ----------
    hypothesis, reference
        The wrong hypothesis, and the one it is compared with.
    tilt
        t > 0, at which `mean` vanishes.
    exponent
        −Σ_j κ_j(−t v_j), in nats per round: the error exponent of this hypothesis.
    laws
        One tilted law for each distinct pair (kind, v_j) of agents.
    assignment
        Shape (N,): which of `laws` is agent j's.
    weights
        Shape (N,): v.
    mean
        E S under the tilted laws, in nats: zero up to rounding.
    variance
        Var S under them, in nats²: σ² = (Σ_j κ_j(−t v_j))''.
    """

    hypothesis: int
    reference: int
    tilt: float
    exponent: float
    laws: tuple[LogRatioLaw, ...]
    assignment: IntArray
    weights: FloatArray
    mean: float
    variance: float


@typed
def tilted_law(network: Network, model: FiniteModel, *, hypothesis: int | None = None) -> TiltedLaw:
    """The tilted law of `hypothesis`, by default the one that binds the error exponent.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, `hypothesis` is not a wrong one, or
        the evidence against it never misleads, so that no finite tilt balances it.

    Examples
    --------
    A fair coin that might be loaded (3/4 heads): in the runs that mislead, heads come up with
    probability log 2 / log 3, at which the two explanations are equally good.

    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin])
    >>> law = tilted_law(Network([[1.0]]), model)
    >>> float(law.laws[0].probabilities[0].round(9)), round(float(np.log(2) / np.log(3)), 9)
    (0.630929754, 0.630929754)
    """
    exponent = error_exponent(require_fixed(network), model)
    theta = exponent.binding if hypothesis is None else _wrong(hypothesis, exponent)
    if theta is None:
        raise fail("model", "a wrong hypothesis", "none", "give hypotheses that can be told apart")
    return tilted_pair(network, model, exponent, theta)


def tilted_pair(
    network: Network, model: FiniteModel, exponent: ErrorExponent, theta: int
) -> TiltedLaw:
    """:func:`tilted_law` of one wrong hypothesis whose exponent is known.

    Raises
    ------
    ValueError
        If its tilt is infinite or zero.
    """
    best, tilt = int(exponent.against[theta]), float(exponent.tilts[theta])
    if not 0 < tilt < np.inf:
        raise fail(
            "hypothesis",
            "one whose evidence can mislead, but does not on average",
            f"{model.hypotheses[theta]!r}, of tilt {tilt:g}",
            "choose another hypothesis",
        )
    v = network.stationary_distribution
    plain = model.log_ratio_laws(best, theta)
    pairs, inverse = np.unique(np.column_stack([model.assignment, v]), axis=0, return_inverse=True)
    counts = np.bincount(inverse.ravel())
    kinds, weights = pairs[:, 0].astype(np.int64), pairs[:, 1]

    def laws(t: float) -> tuple[LogRatioLaw, ...]:
        return tuple(plain[k].tilted(-t * w) for k, w in zip(kinds, weights, strict=True))

    # In units of the largest weight that bears on the matter nothing underflows.
    random = np.array([plain[k].variance > 0 for k in kinds])
    unit = float(weights[random].max())
    shares = weights / unit

    def moments(tilted: tuple[LogRatioLaw, ...]) -> tuple[float, float]:
        mean = float((counts * shares) @ np.array([law.mean for law in tilted]))
        variances = np.array([law.variance for law in tilted])[random]
        return mean, float((counts[random] * shares[random] ** 2) @ variances)

    # The exponent's tilt is right to 1e-9, enough for E; one Newton step balances S to rounding.
    mean, variance = moments(laws(tilt))
    tilt += mean / variance / unit
    tilted = laws(tilt)
    mean, variance = moments(tilted)
    return TiltedLaw(
        hypothesis=theta,
        reference=best,
        tilt=tilt,
        exponent=float(exponent.exponents[theta]),
        laws=tilted,
        assignment=read_only(inverse.ravel().astype(np.int64)),
        weights=v,
        mean=mean * unit,
        variance=variance * unit * unit,
    )


def _wrong(hypothesis: int, exponent: ErrorExponent) -> int:
    count = len(exponent.exponents)
    theta = as_integer("hypothesis", hypothesis, minimum=0, maximum=count - 1)
    if exponent.against[theta] == theta:
        raise fail("hypothesis", "a wrong hypothesis", f"{theta}, a reference", "choose another")
    return theta
