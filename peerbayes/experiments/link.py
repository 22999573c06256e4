"""`rate-link`: the rates that theory predicts from snapshots, beside the speed of training.

The networks of P2's MNIST runs that differ in nothing but W: the star with five edge confidences,
and the 3 × 3 grid with the informative agent in two places. Everywhere one agent holds the labels
2–9 and eight others share 0 and 1. Nets trained in one place on some of the labels are the
hypotheses (:mod:`empirical.forecast`), K is computed for each network, networks are trained, and
the rounds that they take to come down to given test losses are laid beside 1/K: in rank, and in
proportion. What K may be expected to say of training, and what not, is in docs:
mathematics/nets-as-hypotheses.

The learning rate does not fall, so that a round late in the run is worth as much as an early one.
Adam divides a gradient by its size where that is well above ε. With ε = 1 it does not, and agents
pull in proportion to v and to how wrong they are, as in theory; with ε = .01, as in the recipes of
the other rows, an agent that is nearly content pulls the output layer as hard as one that is not.
There is a row for each.

Nothing here is claimed of training by a theorem, so that lines of it carry no verdict; the exact
run over the snapshots is, and does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from empirical import papers
from peerbayes.documents import Document, number
from peerbayes.experiments.experiment import (
    Experiment,
    Job,
    Line,
    Numbered,
    line,
    numbered,
)
from peerbayes.experiments.link_rows import (
    AMBIGUOUS,
    BOOTSTRAP,
    SNAPSHOTS,
    WIDE,
    Forecast,
    LinkContent,
    LinkSetting,
    TrainedPart,
    rounds_reached,
    slope_interval,
)
from peerbayes.experiments.setting import Setting
from theory.lazy import later

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from peerbayes.settings.nets import Experiment as Options
    from theory.validation import FloatArray
else:
    np = later("numpy")

FORM = "rate-link"


@dataclass(frozen=True)
class RateLink(Experiment[Numbered]):
    """The link between predicted rates and measured speeds; all seeds of a network in one part.

    Attributes
    ----------
    plan
        What is trained and computed.
    """

    name: str = "rate-link"
    title: str = "predicted rates beside the speed of training, over networks"
    source: str = "P2 4.2; theory"
    plan: LinkSetting = field(default_factory=LinkSetting)

    replicates_are_parts = False
    libraries = ("torch",)

    @property
    def dataset(self) -> str:
        """Whose images are learnt from."""
        return self.plan.data_set

    @property
    def table(self) -> Mapping[str, Numbered]:
        """The snapshots, each network, and MNIST's split with the ambiguous pair {4, 9}."""
        pair = (AMBIGUOUS,) if self.plan.data_set == "mnist" else ()
        return numbered(SNAPSHOTS, *self.plan.networks, *pair)

    def settings(self) -> dict[str, Any]:
        """Everything but seed, replicates, device and folder; `form` is what a report goes by."""
        head = {"form": FORM, "networks": list(self.plan.networks)}
        names = {"name": self.name, "title": self.title, "source": self.source}
        return {**head, **names, **asdict(self.plan)}

    def depends(self, part: Numbered) -> dict[str, Any]:
        """The settings of the snapshots, or those of training."""
        return self.plan.part_content(part.name)

    def quick(self) -> RateLink:
        """The same in less than a minute; its numbers are no result."""
        return replace(self, name=f"{self.name} quick", plan=self.plan.quick(), seeds=2)

    def configured(self, how: Options, out: Path) -> tuple[Experiment[Any], tuple[str, ...]]:
        """The experiment on a device, with images of a folder.

        Raises
        ------
        ValueError
            If there are no such parts, or what it needs is missing; in one line.
        """
        found = (self.quick() if how.nets.quick else self).with_setting(
            Setting(how.nets.device or "cpu", how.images)
        )
        only = found.parts_with(how.nets.part or "")
        found.check()
        return found, only

    def find(self, part: Numbered, job: Job) -> Document:
        """The hypotheses and their rates, or one network's training with each seed.

        Raises
        ------
        ValueError
            If there are no images (then it is an ``empirical.DataNotFound``), or a run breaks down.
        """
        from peerbayes.experiments.link_runs import run_forecasts, run_training

        if part.name == SNAPSHOTS:
            return run_forecasts(self.plan, job, self.setting)
        return run_training(self.plan, part.name, job, self.setting)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """The table of networks, the correlations, the orderings, and the exact run.

        Lines that need a part that is not there are left out.
        """
        present = [name for name in self.plan.networks if name in parts]
        found = LinkContent.of(parts)
        return link_lines(found, networks=present, targets=self.plan.targets)


def _link(table: Mapping[str, Any]) -> RateLink:
    more = tuple(WIDE) if table.get("wide") else ()
    plan = papers.built(LinkSetting, table.get("setting", {}), more=more)
    return RateLink(table["name"], table["title"], table["source"], plan)


LINKS = tuple(_link(one) for one in papers.tables("link")["links"])
"""The rows."""


# What the parts say together ----------------------------------------------------------------------

# Logarithms that differ by rounding alone have no order.
_ALIKE = 1e-9
# The labels that P2 says are taken for each other in star-mnist-2: 4 at the centre, 9 at the edges.
_PAIR = (4, 9)
_CENTRE = range(8)
_UNREACHED = "; not reached by every seed"


def link_lines(
    parts: LinkContent, *, networks: Sequence[str], targets: Sequence[float]
) -> tuple[Line, ...]:
    """The lines of all parts that are there."""
    lines: list[Line] = []
    if parts.snapshots is not None:
        forecasts = parts.snapshots.forecasts
        lines += _rates(forecasts)
        rates = np.array([forecasts[name].rate for name in networks])
        trained = [parts.trained[name] for name in networks]
        for index, target in enumerate(targets if networks else ()):
            rounds = rounds_reached(trained, index=index)
            if index == 0:
                lines += _each_network(rates, rounds, networks, target, forecasts)
            lines += _correlation(rates, rounds, target=target)
            lines += _proportion(rates, rounds, target=target)
            lines += unseen_lines(rates, rounds, networks=networks, target=target)
        lines += _orderings(dict(zip(networks, trained, strict=True)), rates=rates)
        lines += _control(forecasts)
        lines += _exact(forecasts)
    if AMBIGUOUS in parts.trained:
        lines += _ambiguous(parts.trained[AMBIGUOUS])
    return tuple(lines)


def _logs(rounds: FloatArray) -> FloatArray:
    """Means of logarithms over seeds, shape (networks,); NaN where a seed did not reach it."""
    reached = np.isfinite(rounds) & (rounds > 0)
    return np.asarray(np.log(np.where(reached, rounds, np.nan)).mean(axis=1))


def _rates(forecasts: Mapping[str, Forecast]) -> list[Line]:
    """K of each network, which is known before any is trained."""
    return [
        line(
            f"K, {name}",
            predicted=found.rate,
            remark=f"nats; binding: {found.binding}; share of influence of the informative agent "
            f"{found.influence:.3f}",
        )
        for name, found in forecasts.items()
    ]


def _each_network(
    rates: FloatArray,
    rounds: FloatArray,
    networks: Sequence[str],
    target: float,
    forecasts: Mapping[str, Forecast],
) -> list[Line]:
    """Each network's rounds, and c/K with the one constant c that fits all of them best."""
    logs = _logs(rounds) + np.log(rates)
    reached = np.isfinite(logs)
    constant = math.exp(float(logs[reached].mean())) if reached.any() else math.nan
    lines = []
    for name, rate, row in zip(networks, rates, rounds, strict=True):
        found = forecasts[name]
        known = bool(np.isfinite(row).all())
        lines.append(
            line(
                f"rounds to test loss {target:g}, {name}",
                row.tolist() if known else (),
                predicted=number(constant / rate),
                remark=f"K = {rate:.4g} nats, binding: {found.binding}; v of the informative agent "
                f"{found.influence:.3f}; predicted is c/K, one c for all"
                + ("" if known else _UNREACHED),
            )
        )
    return lines


def _correlation(rates: FloatArray, rounds: FloatArray, *, target: float) -> list[Line]:
    from empirical.rank_correlation import rank_correlation

    what = f"rank correlation (Spearman) of rounds to test loss {target:g} with 1/K"
    middle = np.sort(rounds, axis=1)[:, rounds.shape[1] // 2]
    if rates.size < 3 or np.unique(rates).size < 2 or np.unique(middle).size < 2:
        return [line(what, predicted=1.0, remark="too little differs to have an order")]
    found = rank_correlation(1 / rates, rounds, seed=BOOTSTRAP)
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
    return [line(what, [found.spearman], predicted=1.0, remark=f"{remark}; {p}")]


def _proportion(rates: FloatArray, rounds: FloatArray, *, target: float) -> list[Line]:
    """The slope of log rounds over log 1/K: one, if rounds · K is constant."""
    what = f"slope of log rounds to test loss {target:g} over log 1/K"
    x = np.repeat(-np.log(rates), rounds.shape[1])
    y = np.log(np.where(rounds > 0, rounds, np.inf)).ravel()
    kept = np.isfinite(y)
    if np.unique(x[kept]).size < 3:
        return [line(what, predicted=1.0, remark="reached on too few networks")]
    from scipy.stats import linregress  # heavy, and every report imports this file

    fit = linregress(x[kept], y[kept])
    left = int((~kept).sum())
    remark = f"1 if rounds · K is constant; r² = {float(fit.rvalue) ** 2:.3f}"
    if (ends := slope_interval(-np.log(rates), _logs(rounds))) is not None:
        remark += f"; 95 % by bootstrap over networks [{ends[0]:.2f}, {ends[1]:.2f}]"
    if left:
        remark += f"; {left} runs that did not reach it are left out"
    return [Line(what, "", float(fit.slope), float(fit.stderr), 1.0, None, remark)]


def _control(forecasts: Mapping[str, Forecast]) -> list[Line]:
    """How far the rates differ over networks: of label hypotheses, and of early stages."""
    early = np.array([min(filter(None, f.stage_rates.values())) for f in forecasts.values()])
    labels = np.array([f.rate for f in forecasts.values()])
    return [
        line(
            "largest over smallest K of the networks, stages of one training as hypotheses",
            predicted=number(float(early.max() / early.min())),
            remark="a control: stages know nothing of who holds what; "
            f"with nets trained on some of the labels it is {labels.max() / labels.min():.3g}",
        )
    ]


def _orderings(parts: Mapping[str, TrainedPart], *, rates: FloatArray) -> list[Line]:
    order = dict(zip(parts, rates, strict=True))
    mean = {name: np.array(part.accuracies).mean(axis=0) for name, part in parts.items()}
    lines = []
    stars = [name for name in parts if name.startswith("star") and name not in WIDE]
    if len(stars) > 1:
        shares = [
            (mean[b][1:] > mean[a][1:]) == (order[b] > order[a]) for a, b in combinations(stars, 2)
        ]
        lines.append(
            line(
                "share of looks, over all pairs of a, at which accuracies are in the order of K",
                [float(np.mean(shares))],
                printed="accuracy and speed rise with a",
                predicted=1.0,
                remark=f"{len(shares)} pairs, {len(shares[0])} looks each; means over agents and "
                "seeds",
            )
        )
    corner, centre = "grid corner", "grid centre"
    if corner in parts and centre in parts:
        printed = "centre learns faster"
        ahead = (mean[centre] > mean[corner])[1:]
        lines.append(
            line(
                "share of looks at which the centre's accuracy is ahead of the corner's",
                [float(ahead.mean())],
                printed=printed,
                predicted=1.0,
                remark=f"{ahead.size} looks; means over agents and seeds",
            )
        )
        rounds = rounds_reached([parts[corner], parts[centre]], index=0).mean(axis=1)
        lines.append(
            line(
                "rounds from the corner over rounds from the centre",
                [float(rounds[0] / rounds[1])] if np.isfinite(rounds).all() else (),
                printed=printed,
                predicted=float(order[centre] / order[corner]),
                remark="predicted is the quotient of K",
            )
        )
    return lines


def _ambiguous(part: TrainedPart) -> list[Line]:
    """The pair {4, 9} of star-mnist-2, a = .5: predicted from who holds what, by looks."""
    from empirical.rank_correlation import rank_correlation
    from peerbayes.problem.builtins.label_partitions import label_forecast

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
        others = np.mean([edges[y] for y in _CENTRE if y != four])
        lines += [
            line(
                f"place of 4 among the centre's labels, the least sure first, at the edges {when} "
                "consensus",
                [float(place)],
                printed="4 low at an edge",
                predicted=float(expected),
                remark=f"star-mnist-2, a = .5; confidence {edges[four]:.3f}, the others' mean "
                f"{others:.3f}",
            ),
            line(
                f"confidence on 9 less that on 8 at the centre {when} consensus",
                [float(centre[nine] - centre[8])],
                printed="9 low at the centre",
                remark=f"star-mnist-2; {centre[nine]:.3f} and {centre[8]:.3f}; theory's limit is "
                "the same at all agents",
            ),
        ]
    found = rank_correlation(forecast.confidences, after.mean(axis=0), seed=BOOTSTRAP)
    lines.append(
        line(
            "rank correlation of labels' confidences with the forecast by looks, star-mnist-2",
            [found.spearman],
            predicted=1.0,
            remark=f"10 labels; 95 % by bootstrap [{found.over_points.lower:.2f}, "
            f"{found.over_points.upper:.2f}]; p = {found.p_value:.2g}; means over agents and seeds",
        )
    )
    return lines


def _exact(forecasts: Mapping[str, Forecast]) -> list[Line]:
    """Social learning over the snapshots, beside its exact means."""
    return [
        Line(
            f"snapshots' log-odds on {name}, largest difference from their exact means",
            "", exact.share_of_allowed, None, 1.0, exact.holds,
            f"as a share of what chance allows, at most 1; {exact.rounds} rounds, "
            f"{exact.replicates} runs",
        )
        for name, forecast in forecasts.items()
        if (exact := forecast.exact) is not None
    ]  # fmt: skip


# On networks that nothing was chosen on -----------------------------------------------------------


def unseen_lines(
    rates: FloatArray, rounds: FloatArray, *, networks: Sequence[str], target: float
) -> list[Line]:
    """What is left of K where nothing was chosen; nothing if there are no such networks.

    K is known before any network is trained. With c fitted on the networks of P2 alone, c/K is a
    prediction of rounds on the others; what remains is laid beside mixing, which K does not know
    of.

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
    return [line(what, [float(np.median(factors))], predicted=1.0, remark=remark)]


def _poolings(rounds: Mapping[str, FloatArray], *, target: float) -> list[Line]:
    """The corner with more consensuses a round: the same v and K, and better mixing."""
    lines = []
    once = rounds.get("grid corner")
    for count in (4, 16):
        often = rounds.get(f"grid corner, {count} poolings")
        if once is None or often is None:
            continue
        known = bool(np.isfinite(once).all() and np.isfinite(often).all())
        ratio = [float(often.mean() / once.mean())] if known else ()
        what = f"rounds to test loss {target:g} from the corner, {count} poolings over one"
        remark = "the same K: what differs is due to mixing" + ("" if known else _UNREACHED)
        lines.append(line(what, ratio, predicted=1.0, remark=remark))
    return lines


def _mixing(left: FloatArray, *, networks: Sequence[str], target: float) -> list[Line]:
    """Whether what K leaves open goes with how slowly agents come together.

    What was never reached comes last.
    """
    reached = left[np.isfinite(left)]
    if reached.size < 5 or (reached.size == left.size and np.ptp(left) < _ALIKE):
        return []
    from scipy.stats import spearmanr  # heavy, and every report imports this file

    from peerbayes.experiments.link_runs import heard_again, mixing_time

    lines = []
    for words, measure, note in (
        ("the time to mix", mixing_time, "−1/log of the subdominant modulus"),
        ("what the informative agent hears of itself", heard_again, "Z_cc of the docs, in rounds"),
    ):
        found = spearmanr(np.array([measure(name) for name in networks]), left)
        lines.append(
            line(
                f"rank correlation of rounds · K (test loss {target:g}) with {words}",
                [float(found.statistic)],
                remark=f"{left.size} networks, {left.size - reached.size} of them last, not "
                f"reached by every seed; {note}, of the mean weights where they change; "
                f"p = {float(found.pvalue):.2g} (two-sided, approximate)",
            )
        )
    return lines
