"""`rate-link` on networks that nothing was chosen on: what K foretells there, and what it leaves.

K is known before any network is trained. With c fitted on the networks of P2 alone, c/K is a
prediction of rounds on the others; what remains is laid beside mixing, which K does not know of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from peerbayes.experiments.experiment import Line
from peerbayes.experiments.link_rows import WIDE, Forecast, informative_place, network_of
from theory import Network
from theory.changing import AnyNetwork, DelayedNetwork, PeriodicNetwork, mean_slem
from theory.changing.expected_weights import expected_weights
from theory.network.structure import as_dense
from theory.validation import FloatArray

# Of the bootstraps: part of the record's definition.
_SEED = 0
_RESAMPLES = 4000
# Logarithms that differ by rounding alone have no order.
_ALIKE = 1e-9
_POOLED = "grid corner, {} poolings"


def unseen_lines(
    rates: FloatArray, rounds: FloatArray, *, networks: Sequence[str], target: float
) -> list[Line]:
    """What is left of K where nothing was chosen; nothing if there are no such networks.

    Parameters
    ----------
    rates
        Shape (T,): K of each network.
    rounds
        Shape (T, S): rounds to the target of each seed, above 0; infinite where it was not reached.
    """
    unseen = np.array([name in WIDE for name in networks], dtype=bool)
    if not unseen.any():
        return []
    left = np.log(rounds).mean(axis=1) + np.log(rates)
    return [
        *_foretold(left, unseen, target=target),
        *_poolings(dict(zip(networks, rounds, strict=True)), target=target),
        *_mixing(left, networks=networks, target=target),
    ]


def rate_lines(forecasts: Mapping[str, Forecast]) -> list[Line]:
    """K of each network, which is known before any is trained."""
    return [
        Line(
            f"K, {name}",
            "",
            None,
            None,
            found.rate,
            None,
            f"nats; binding: {found.binding}; share of influence of the informative agent "
            f"{found.influence:.3f}",
        )
        for name, found in forecasts.items()
    ]


def slope_interval(x: FloatArray, y: FloatArray) -> tuple[float, float] | None:
    """95 % of slopes of y over x by bootstrap over networks; None with fewer than five.

    Parameters
    ----------
    x, y
        Shape (T,), means over seeds; NaN where a seed did not reach the target.
    """
    kept = np.isfinite(y)
    x, y = x[kept], y[kept]
    if x.size < 5:
        return None
    draws = np.random.default_rng(_SEED).integers(x.size, size=(_RESAMPLES, x.size))
    u, w = x[draws], y[draws]
    u = u - u.mean(axis=1, keepdims=True)
    spread = (u**2).sum(axis=1)
    slopes = (u * w).sum(axis=1)[spread > 0] / spread[spread > 0]
    return float(np.quantile(slopes, 0.025)), float(np.quantile(slopes, 0.975))


def _foretold(left: FloatArray, unseen: NDArray[np.bool_], *, target: float) -> list[Line]:
    known = np.isfinite(left)
    old, new = left[~unseen & known], left[unseen & known]
    if old.size == 0 or new.size == 0:
        return []
    factors = np.exp(np.abs(new - old.mean()))
    missed = int((unseen & ~known).sum())
    remark = (
        f"{new.size} networks that nothing was chosen on; c of {old.size} others; the largest "
        f"factor is {factors.max():.3g}, {int((factors < 1.5).sum())} are below 1.5"
    )
    if missed:
        remark += f"; {missed} that were not reached by every seed are left out"
    what = f"rounds to test loss {target:g} beside c/K, the median factor between them"
    return [Line(what, "", float(np.median(factors)), None, 1.0, None, remark)]


def _poolings(rounds: Mapping[str, FloatArray], *, target: float) -> list[Line]:
    """The corner with more consensuses a round: the same v and K, and better mixing."""
    lines = []
    once = rounds.get("grid corner")
    for count in (4, 16):
        often = rounds.get(_POOLED.format(count))
        if once is None or often is None:
            continue
        finite = bool(np.isfinite(once).all() and np.isfinite(often).all())
        ratio = often.mean() / once.mean() if finite else math.nan
        what = f"rounds to test loss {target:g} from the corner, {count} poolings over one"
        remark = "the same K: what differs is due to mixing"
        if not finite:
            remark += "; not reached by every seed"
        lines.append(Line(what, "", float(ratio) if finite else None, None, 1.0, None, remark))
    return lines


def _mixing(left: FloatArray, *, networks: Sequence[str], target: float) -> list[Line]:
    """Whether what K leaves open goes with how slowly agents come together.

    What was never reached comes last.
    """
    reached = left[np.isfinite(left)]
    if reached.size < 5 or (reached.size == left.size and np.ptp(left) < _ALIKE):
        return []
    from scipy.stats import spearmanr  # heavy, and every report imports this file

    lines = []
    for words, measure, note in (
        ("the time to mix", mixing_time, "−1/log of the subdominant modulus"),
        ("what the informative agent hears of itself", heard_again, "Z_cc of the docs, in rounds"),
    ):
        values = np.array([measure(name) for name in networks])
        found = spearmanr(values, left)
        lines.append(
            Line(
                f"rank correlation of rounds · K (test loss {target:g}) with {words}",
                "",
                float(found.statistic),
                None,
                None,
                None,
                f"{left.size} networks, {left.size - reached.size} of them last, not reached by "
                f"every seed; {note}, of the mean weights where they change; "
                f"p = {float(found.pvalue):.2g} (two-sided, approximate)",
            )
        )
    return lines


def mixing_time(name: str) -> float:
    """−1/log of the subdominant modulus, in rounds; an estimate in doubles.

    Examples
    --------
    >>> round(mixing_time("grid corner") / mixing_time("grid corner, 4 poolings"), 9)
    4.0
    """
    network = network_of(name)
    slem = network.slem if isinstance(network, Network) else mean_slem(network)
    return -1 / math.log(slem) if slem > 1e-12 else 0.0


def heard_again(name: str) -> float:
    """Z_cc = Σ_{k≥1} ([W^k]_cc − v_c) of the informative agent c, in rounds, in doubles.

    How much more than others c hears of its own steps (docs: mathematics/nets-as-hypotheses). W is
    the mean of the weights where they change.

    Examples
    --------
    >>> round(heard_again("complete"), 12) + 0.0
    0.0
    >>> heard_again("path end") > heard_again("path middle")
    True
    """
    place = informative_place(name)
    weights = mean_weights(network_of(name))
    v = np.linalg.matrix_power(weights, 2**20)[0]
    size = len(weights)
    return float(np.linalg.inv(np.eye(size) - weights + v)[place, place] - 1)


def mean_weights(network: AnyNetwork) -> FloatArray:
    """The mean weights of a round, shape (N, N)."""
    match network:
        case Network():
            return as_dense(network.weights)
        case PeriodicNetwork():
            each = [as_dense(phase.weights) for phase in network.phases]
            return np.asarray(np.mean(each, axis=0))
        case DelayedNetwork():
            return as_dense(network.network.weights)
        case _:
            return as_dense(expected_weights(network).weights)
