"""What `rate-link` concludes: rounds beside 1/K, in order and in proportion.

Nothing here is claimed of training by a theorem, so that these lines carry no verdict; the exact
run over the snapshots is, and does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from peerbayes.experiments.experiment import Line
from peerbayes.experiments.link_documents import Forecast, LinkContent, TrainedPart
from peerbayes.experiments.link_networks import WIDE
from peerbayes.experiments.link_setting import AMBIGUOUS
from peerbayes.experiments.link_unseen import rate_lines, slope_interval, unseen_lines
from theory.validation import FloatArray

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
