"""`rate-link`: the rates that theory predicts from snapshots, beside the speed of training.

The networks of P2's MNIST runs that differ in nothing but W: the star with five edge confidences,
and the 3 × 3 grid with the informative agent in two places. Everywhere one agent holds the labels
2–9 and eight others share 0 and 1. Nets trained in one place on some of the labels are the
hypotheses (:mod:`empirical.snapshots`), K is computed for each network, networks are trained, and
the rounds that they take to come down to given test losses are laid beside 1/K: in rank, and in
proportion. What K may be expected to say of training, and what not, is in docs:
mathematics/nets-as-hypotheses.

The learning rate does not fall, so that a round late in the run is worth as much as an early one.
Adam divides a gradient by its size where that is well above ε. With ε = 1 it does not, and agents
pull in proportion to v and to how wrong they are, as in theory; with ε = .01, as in the recipes of
the other rows, an agent that is nearly content pulls the output layer as hard as one that is not.
There is a row for each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerbayes.documents import Document
from peerbayes.experiments.experiment import Line, parts_named
from peerbayes.experiments.link_rows import (
    AMBIGUOUS,
    SNAPSHOTS,
    WIDE,
    WIDE_NAMES,
    Forecast,
    LinkContent,
    LinkSetting,
    TrainedPart,
    informative_place,
    network_of,
)
from theory import Network
from theory.changing import AnyNetwork, DelayedNetwork, PeriodicNetwork, mean_slem
from theory.changing.expected_weights import expected_weights
from theory.network.structure import as_dense
from theory.progress import Progress
from theory.validation import FloatArray, fail, install_extra

# `rate-link` on networks that nothing was chosen on ----------------------------------------------


# Of the bootstraps: part of the record's definition.
_BOOTSTRAP = 0
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
    draws = np.random.default_rng(_BOOTSTRAP).integers(x.size, size=(_RESAMPLES, x.size))
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


# What `rate-link` concludes ----------------------------------------------------------------------


# Of the bootstraps: part of the record's definition.
_SEED = 0
# The labels that P2 says are taken for each other in star-mnist-2: 4 at the centre, 9 at the edges.
_PAIR = (4, 9)
_CENTRE = range(8)


def link_lines(
    parts: LinkContent, *, networks: Sequence[str], targets: Sequence[float]
) -> tuple[Line, ...]:
    """The lines of all parts that are there."""
    lines: list[Line] = []
    if parts.snapshots is not None:
        forecasts = parts.snapshots.forecasts
        lines += rate_lines(forecasts)
        rates = np.array([forecasts[name].rate for name in networks])
        trained = [parts.trained[name] for name in networks]
        for index, target in enumerate(targets if networks else ()):
            rounds = rounds_reached(trained, index=index)
            if index == 0:
                lines += _table(
                    rates, rounds, networks=networks, target=target, forecasts=forecasts
                )
            lines += _correlation(rates, rounds, target=target)
            lines += _proportion(rates, rounds, target=target)
            lines += unseen_lines(rates, rounds, networks=networks, target=target)
        lines += _orderings(dict(zip(networks, trained, strict=True)), rates=rates)
        lines += _control(forecasts)
        lines += _exact(forecasts)
    if AMBIGUOUS in parts.trained:
        lines += _ambiguous(parts.trained[AMBIGUOUS])
    return tuple(lines)


def rounds_reached(trained: Sequence[TrainedPart], *, index: int) -> FloatArray:
    """Rounds to the target of this number, shape (networks, seeds); infinite where never."""
    return np.array(
        [[math.inf if r is None else r for r in part.rounds_to_loss[index]] for part in trained]
    )


def _table(
    rates: FloatArray,
    rounds: FloatArray,
    *,
    networks: Sequence[str],
    target: float,
    forecasts: Mapping[str, Forecast],
) -> list[Line]:
    """Each network's rounds, and c/K with the one constant c that fits all of them best."""
    logs = np.log(np.where(np.isfinite(rounds), rounds, np.nan))
    reached = np.isfinite(logs).all(axis=1)
    constant = (
        math.exp(float((logs.mean(axis=1) + np.log(rates))[reached].mean()))
        if (reached.any())
        else math.nan
    )
    lines = []
    for name, rate, row in zip(networks, rates, rounds, strict=True):
        found = forecasts[name]
        finite = bool(np.isfinite(row).all())
        lines.append(
            Line(
                f"rounds to test loss {target:g}, {name}",
                "",
                float(row.mean()) if finite else None,
                _error(row) if finite else None,
                _finite(constant / rate),
                None,
                f"K = {rate:.4g} nats, binding: {found.binding}; v of the informative agent "
                f"{found.influence:.3f}; predicted is c/K, one c for all"
                + ("" if finite else "; not reached by every seed"),
            )
        )
    return lines


def _correlation(rates: FloatArray, rounds: FloatArray, *, target: float) -> list[Line]:
    from empirical.rank_correlation import rank_correlation

    what = f"rank correlation (Spearman) of rounds to test loss {target:g} with 1/K"
    middle = np.sort(rounds, axis=1)[:, rounds.shape[1] // 2]
    if rates.size < 3 or np.unique(rates).size < 2 or np.unique(middle).size < 2:
        return [Line(what, "", None, None, 1.0, None, "too little differs to have an order")]
    found = rank_correlation(1 / rates, rounds, seed=_SEED)
    ends = [
        f"{name} [{one.lower:.2f}, {one.upper:.2f}]"
        for name, one in (
            ("other seeds", found.seeds),
            ("other networks too", found.over_points),
            (f"Kendall's {found.kendall:.2f}, whatever the law", found.certain),
        )
        if one is not None
    ]
    percent = f"{100 * found.confidence:g} %"
    p = f"p = {found.p_value:.2g}" + (" (exact)" if found.exact else "")
    remark = f"{found.points} networks, {found.replicates} seeds; {percent}: " + "; ".join(ends)
    return [Line(what, "", found.spearman, None, 1.0, None, f"{remark}; {p}")]


def _proportion(rates: FloatArray, rounds: FloatArray, *, target: float) -> list[Line]:
    """The slope of log rounds over log 1/K: one, if rounds · K is constant."""
    what = f"slope of log rounds to test loss {target:g} over log 1/K"
    x = np.repeat(-np.log(rates), rounds.shape[1])
    y = np.log(np.where(rounds > 0, rounds, np.inf)).ravel()
    kept = np.isfinite(y)
    if np.unique(x[kept]).size < 3:
        return [Line(what, "", None, None, 1.0, None, "reached on too few networks")]
    from scipy.stats import linregress  # heavy, and every report imports this file

    fit = linregress(x[kept], y[kept])
    left = int((~kept).sum())
    remark = f"1 if rounds · K is constant; r² = {float(fit.rvalue) ** 2:.3f}"
    logs = np.log(np.where(np.isfinite(rounds) & (rounds > 0), rounds, np.nan)).mean(axis=1)
    if (ends := slope_interval(-np.log(rates), logs)) is not None:
        remark += f"; 95 % by bootstrap over networks [{ends[0]:.2f}, {ends[1]:.2f}]"
    if left:
        remark += f"; {left} runs that did not reach it are left out"
    return [Line(what, "", float(fit.slope), float(fit.stderr), 1.0, None, remark)]


def _control(forecasts: Mapping[str, Forecast]) -> list[Line]:
    """How far the rates differ over networks: of label hypotheses, and of early stages."""
    early = np.array([min(filter(None, f.stage_rates.values())) for f in forecasts.values()])
    labels = np.array([f.rate for f in forecasts.values()])
    return [
        Line(
            "largest over smallest K of the networks, stages of one training as hypotheses",
            "",
            None,
            None,
            _finite(float(early.max() / early.min())),
            None,
            "a control: stages know nothing of who holds what; "
            f"with nets trained on some of the labels it is {labels.max() / labels.min():.3g}",
        )
    ]


def _orderings(parts: Mapping[str, TrainedPart], *, rates: FloatArray) -> list[Line]:
    networks = list(parts)
    mean = {name: np.array(part.accuracies).mean(axis=0) for name, part in parts.items()}
    lines = []
    stars = [name for name in networks if name.startswith("star") and name not in WIDE]
    if len(stars) > 1:
        order = dict(zip(networks, rates, strict=True))
        shares = [
            (mean[b][1:] > mean[a][1:]) == (order[b] > order[a]) for a, b in combinations(stars, 2)
        ]
        lines.append(
            Line(
                "share of looks, over all pairs of a, at which accuracies are in the order of K",
                "accuracy and speed rise with a",
                float(np.mean(shares)),
                None,
                1.0,
                None,
                f"{len(shares)} pairs, {len(shares[0])} looks each; means over agents and seeds",
            )
        )
    if "grid centre" in networks and "grid corner" in networks:
        ahead = (mean["grid centre"] > mean["grid corner"])[1:]
        lines.append(
            Line(
                "share of looks at which the centre's accuracy is ahead of the corner's",
                "centre learns faster",
                float(ahead.mean()),
                None,
                1.0,
                None,
                f"{ahead.size} looks; means over agents and seeds",
            )
        )
        both = [parts["grid corner"], parts["grid centre"]]
        rounds = rounds_reached(both, index=0).mean(axis=1)
        known = dict(zip(networks, rates, strict=True))
        lines.append(
            Line(
                "rounds from the corner over rounds from the centre",
                "centre learns faster",
                _finite(float(rounds[0] / rounds[1])) if np.isfinite(rounds).all() else None,
                None,
                float(known["grid centre"] / known["grid corner"]),
                None,
                "predicted is the quotient of K",
            )
        )
    return lines


def _ambiguous(part: TrainedPart) -> list[Line]:
    """The pair {4, 9} of star-mnist-2, a = .5: predicted from who holds what, by looks."""
    from empirical.rank_correlation import rank_correlation
    from peerbayes.problem.builtins.label_forecast import label_forecast

    forecast = label_forecast("star-mnist-2")
    lost = [e - c for e, c in zip(forecast.even_confidences, forecast.confidences, strict=True)]
    after = np.array(part.label_confidences, dtype=np.float64).mean(axis=0)
    before = np.array(part.local_label_confidences, dtype=np.float64).mean(axis=0)
    four, nine = _PAIR
    lines = []
    for when, table in (("after", after), ("before", before)):
        edges, centre = table[1:].mean(axis=0), table[0]
        place = sorted(_CENTRE, key=lambda y: edges[y]).index(four) + 1
        expected = sorted(_CENTRE, key=lambda y: -lost[y]).index(four) + 1
        lines.append(
            Line(
                f"place of 4 among the centre's labels, the least sure first, at the edges {when} "
                "consensus",
                "4 low at an edge",
                float(place),
                None,
                float(expected),
                None,
                f"star-mnist-2, a = .5; confidence {edges[four]:.3f}, the others' mean "
                f"{np.mean([edges[y] for y in _CENTRE if y != four]):.3f}",
            )
        )
        lines.append(
            Line(
                f"confidence on 9 less that on 8 at the centre {when} consensus",
                "9 low at the centre",
                float(centre[nine] - centre[8]),
                None,
                None,
                None,
                f"star-mnist-2; {centre[nine]:.3f} and {centre[8]:.3f}; theory's limit is the same "
                "at all agents",
            )
        )
    means = after.mean(axis=0)
    found = rank_correlation(forecast.confidences, means, seed=_SEED)
    lines.append(
        Line(
            "rank correlation of labels' confidences with the forecast by looks, star-mnist-2",
            "",
            found.spearman,
            None,
            1.0,
            None,
            f"10 labels; 95 % by bootstrap [{found.over_points.lower:.2f}, "
            f"{found.over_points.upper:.2f}]; p = {found.p_value:.2g}; means over agents and seeds",
        )
    )
    return lines


def _exact(forecasts: Mapping[str, Forecast]) -> list[Line]:
    """Social learning over the snapshots, beside its exact means."""
    lines = []
    for name, forecast in forecasts.items():
        exact = forecast.exact
        if exact is None:
            continue
        lines.append(
            Line(
                f"snapshots' log-odds on {name}, largest difference from their exact means",
                "",
                exact.share_of_allowed,
                None,
                1.0,
                exact.holds,
                f"as a share of what chance allows, at most 1; {exact.rounds} rounds, "
                f"{exact.replicates} runs",
            )
        )
    return lines


def _error(values: FloatArray) -> float | None:
    if values.size < 2:
        return None
    return float(values.std(ddof=1) / math.sqrt(values.size))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# `rate-link` -------------------------------------------------------------------------------------


FORM = "rate-link"


@dataclass(frozen=True)
class RateLink:
    """The link between predicted rates and measured speeds.

    Attributes
    ----------
    setting
        What is trained and computed.
    replicates
        Seeds of each network's training.
    """

    name: str = "rate-link"
    title: str = "predicted rates beside the speed of training, over networks"
    source: str = "P2 4.2; theory"
    setting: LinkSetting = field(default_factory=LinkSetting)
    replicates: int = 3

    @property
    def parts(self) -> tuple[str, ...]:
        """The snapshots, each network, and MNIST's split with the ambiguous pair {4, 9}."""
        pair = (AMBIGUOUS,) if self.setting.data_set == "mnist" else ()
        return (SNAPSHOTS, *self.setting.networks, *pair)

    @property
    def replicates_are_parts(self) -> bool:
        """All seeds of a network are run in one part."""
        return False

    def settings(self) -> dict[str, Any]:
        """Everything but seed, replicates, device and folder; `form` is what a report goes by."""
        head = {"form": FORM, "networks": list(self.setting.networks)}
        names = {"name": self.name, "title": self.title, "source": self.source}
        return {**head, **names, **self.setting.content()}

    def part_settings(self, part: str) -> dict[str, Any]:
        """Those of the snapshots, or those of training."""
        return self.setting.part_content(part)

    def stream(self, part: str) -> int:
        """One for each part: networks are not paired."""
        return self.parts.index(part)

    def quick(self) -> RateLink:
        """The same in less than a minute; its numbers are no result."""
        return replace(self, name=f"{self.name} quick", setting=self.setting.quick(), replicates=2)

    def placed(self, *, device: str, data: Path | None) -> RateLink:
        """The same, to be run elsewhere."""
        return replace(self, setting=replace(self.setting, device=device, data=data))

    def parts_with(self, words: str) -> tuple[str, ...]:
        """The parts whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        return parts_named(self.parts, words)

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If torch, the data or the device are missing; in one line that says how to get them.
        """
        from empirical.data import locate

        if find_spec("torch") is None:
            raise fail(self.name, "torch", "no torch", install_extra("empirical"))
        from empirical.nets.training import check_device

        check_device(self.setting.device)
        locate(self.setting.data_set, directory=self.setting.data)

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
        """The hypotheses and their rates, or one network's training with each seed.

        Raises
        ------
        ValueError
            If there are no images (then it is an ``empirical.DataNotFound``), or a run breaks down.
        ImportError
            Without torch, in one line that says what to install.
        """
        from empirical.nets.threads import one_thread
        from peerbayes.experiments.link_runs import run_forecasts, run_training

        setting = self.setting
        with one_thread():
            if part == SNAPSHOTS:
                return run_forecasts(setting, seed=seed, progress=progress)
            return run_training(setting, part, seed=seed, replicates=replicates, progress=progress)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """The table of networks, the correlations, the orderings, and the exact run.

        Lines that need a part that is not there are left out.
        """
        from peerbayes.experiments.link_rows import LinkContent

        present = [name for name in self.setting.networks if name in parts]
        found = LinkContent.of(parts)
        return link_lines(found, networks=present, targets=self.setting.targets)


_FASHION = LinkSetting(data_set="fashion-mnist", more=WIDE_NAMES)

LINKS = (
    RateLink(),
    RateLink(
        name="rate-link-adam",
        title="the same, by an optimiser that rescales gradients",
        setting=LinkSetting(mean_rate=5e-3, mean_epsilon=1e-2),
    ),
    RateLink(
        name="rate-link-fashion",
        title="predicted rates beside the speed of training, Fashion-MNIST, over more networks",
        setting=_FASHION,
    ),
    RateLink(
        name="rate-link-fashion-natural",
        title="the same, by natural gradients",
        setting=replace(_FASHION, learner="natural-gradient", mean_rate=0.1),
    ),
    RateLink(
        name="rate-link-fashion-adam",
        title="the same, by an optimiser that rescales gradients",
        setting=replace(_FASHION, mean_rate=5e-3, mean_epsilon=1e-2),
    ),
)
"""The rows."""
