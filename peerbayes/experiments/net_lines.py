"""Numbers read out of the parts of a row of nets, and what they say together: lines.

Accuracies are read in per cent, by sampled prediction where there are beliefs to sample from.
A network's lines come twice, before and after the consensus of the last round; what a paper prints
stands beside the belief that its source predicts with (:mod:`peerbayes.experiments.net_rows`).
Means are over seeds, never over marks: where parts of a recipe have several, or come from several
builds of earlier versions, each has lines of its own.
Theory says nothing of accuracies; it orders them. What it orders is laid beside what was found.

A source prints the numbers of one run and no error. Its number is found again if it lies where one
more run of ours would.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Any

from peerbayes.comparison import STANDARD_ERRORS
from peerbayes.experiments.experiment import Line, code_words, line, mean_and_error
from peerbayes.experiments.net_rows import ASIDE, Measured, NetPart, Row, When
from theory.validation import fail

# Numbers read out of parts -----------------------------------------------------------------------

WHEN: tuple[When, ...] = ("before", "after")


def group_mean(values: Sequence[float | None], agents: Sequence[int]) -> float:
    """Mean over some agents, or over all if none is named, in per cent."""
    chosen = [values[agent] for agent in agents] if agents else values
    known = [value for value in chosen if value is not None]
    if len(known) < len(chosen):
        raise LookupError("no number for every agent")
    return 100 * sum(known) / len(known)


def way_of(measured: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `Beliefs.way` says, of the plain values of a record."""
    found: Mapping[str, Any] = measured.get("sampled") or measured["mean"]
    return found


def last_of(run: NetPart, when: When = "after") -> Measured:
    """A run's final measurements; those after the consensus where there is none before it."""
    return (run.last(when) or run.curve.last).way


def has_before(runs: Sequence[NetPart]) -> bool:
    """Whether all these runs were measured before their last consensus."""
    return all(run.curve.last_before is not None for run in runs)


def mean_over_rounds(run: NetPart, agents: Sequence[int] = (), when: When = "after") -> float:
    """The mean accuracy over the recorded rounds, in per cent: the higher, the faster.

    Runs that are compared have the same recorded rounds.
    """
    seen = [point.at(when) for point in run.curve.points]
    values = [group_mean(one.way.accuracy, agents) for one in seen if one is not None]
    return sum(values) / len(values)


def label_confidence(run: NetPart, agents: Sequence[int], when: When = "after") -> list[float]:
    """Mean probability of the true label at the end, by true label, over some agents."""
    rows = last_of(run, when).confidence or []
    chosen = [rows[agent] for agent in agents] if agents else rows
    labels = zip(*chosen, strict=True)
    known = [[value for value in values if value is not None] for values in labels]
    return [sum(values) / len(values) if values else 0.0 for values in known]


def least_label(
    run: NetPart, agents: Sequence[int], outside: Sequence[int], when: When = "after"
) -> int:
    """The label of least confidence, summed over the recorded rounds, among some labels."""
    seen = [agent for agent in run.curve.agents if agent in agents]
    total = dict.fromkeys(outside, 0.0)
    for beliefs in (point.at(when) for point in run.curve.points):
        rows = [] if beliefs is None else beliefs.way.confidence or []
        for row in rows and (rows[run.curve.agents.index(agent)] for agent in seen):
            for label in outside:
                total[label] += row[label] or 0.0
    return min(total, key=lambda label: total[label])


def has_numbers(values: Sequence[float | None] | None, agents: Sequence[int]) -> bool:
    """Whether there is a number for each of these agents, or for all if none is named."""
    if values is None:
        return False
    return all(values[agent] is not None for agent in agents or range(len(values)))


# Printed numbers ----------------------------------------------------------------------------------

# Standard deviation between seeds as a share of the error rate: twice the 2.4 % that is measured
# before consensus, and above the 4.3 % after it, on the row with three seeds on record.
SPREAD = 0.05
# About 95 % of a normal law.
DEVIATIONS = 2.0


@dataclass(frozen=True)
class Printed:
    """A number as printed, and how finely it can be read: half a unit of its last digit."""

    text: str
    value: float
    reading: float

    @classmethod
    def read(cls, text: str) -> Printed:
        """The first number in what is printed.

        Raises
        ------
        ValueError
            If there is none.

        Examples
        --------
        >>> Printed.read("95.6 (text: 96.5)")
        Printed(text='95.6 (text: 96.5)', value=95.6, reading=0.05)
        >>> Printed.read("83").reading
        0.5
        """
        found = re.search(r"\d*\.?\d+", text)
        if found is None:
            raise fail("printed", "a number", repr(text), "leave it empty if none is printed")
        digits = len(found[0].partition(".")[2])
        return cls(text, float(found[0]), 0.5 * 10.0**-digits)


def accuracy_tolerance(printed: Printed, runs: int) -> float:
    """Points of accuracy by which the mean of so many runs may differ from one printed run.

    The reading precision, and two standard deviations of the difference between one run and a
    mean, each run's being `SPREAD` of the printed error rate.

    Examples
    --------
    >>> round(accuracy_tolerance(Printed.read("90"), 1) - 0.5, 3)  # 2 · .05 · 10 · √2
    1.414
    """
    deviation = SPREAD * (100.0 - printed.value)
    return printed.reading + DEVIATIONS * deviation * sqrt(1.0 + 1.0 / runs)


def is_reproduced(printed: Printed, values: Sequence[float]) -> bool:
    """Whether the mean of some runs, in per cent, is the printed accuracy within its tolerance."""
    mean = sum(values) / len(values)
    return abs(mean - printed.value) <= accuracy_tolerance(printed, len(values))


def accuracy_verdict(recipe: str, printed: str, values: Sequence[float]) -> str:
    """The verdict on a printed accuracy in words; empty where the settings are not the source's.

    Examples
    --------
    >>> accuracy_verdict("paper a=0.7", "69.7", [82.0])
    'not reproduced'
    >>> accuracy_verdict("best a=0.7", "69.7", [82.0])
    ''
    """
    if not printed or not recipe.startswith("paper"):
        return ""
    return "reproduced" if is_reproduced(Printed.read(printed), values) else "not reproduced"


# Lines --------------------------------------------------------------------------------------------

Groups = Sequence[tuple[str, tuple[int, ...]]]
_CONSENSUS = {"before": ", before consensus", "after": ", after consensus"}


def net_lines(row: Row, parts: Mapping[str, Any]) -> tuple[Line, ...]:
    """All lines of a row, from the parts that are there: documents, or their plain values."""
    found = [NetPart.model_validate(part) for part in parts.values()]
    runs = [run for run in found if run.role not in ASIDE]
    codes = code_words(runs, _recipe_of)
    lines: list[Line] = []
    for recipe in dict.fromkeys(run.recipe for run in runs):
        for code in dict.fromkeys(codes):
            both = zip(runs, codes, strict=True)
            own = [run for run, word in both if (run.recipe, word) == (recipe, code)]
            lines += _recipe_lines(row, f"{recipe} ({code})" if code else recipe, own)
    every = zip(found, code_words(found, _recipe_of), strict=True)
    named = [(run, code) for run, code in every if run.role in ASIDE]
    for role, code in dict.fromkeys((run.role, code) for run, code in named):
        alike = [run for run, word in named if (run.role, word) == (role, code)]
        head = f"paper, {role} ({code})" if code else f"paper, {role}"
        lines += _accuracies(head, alike, row.groups, {})
    return tuple(lines)


def _recipe_of(run: NetPart) -> tuple[str, str, str]:
    """What runs that differ in their seed alone have in common."""
    return run.recipe, run.role, run.variant


def _recipe_lines(row: Row, head: str, own: Sequence[NetPart]) -> list[Line]:
    lines: list[Line] = []
    for variant in row.variants:
        together = _of(own, "cooperating", variant.name)
        if together:
            words = " ".join(word for word in (head, variant.name) if word)
            lines += _accuracies(words, together, row.groups, variant.printed)
            lines += _confidences(words, together, row.groups)
    lines += _baselines(row, head, own)
    for told, is_said in (
        (_differences, row.groups[0][0] == "node 1"),
        (_order_over_influence, row.order == "v"),
        (_order_of_placements, row.order == "placement"),
        (_least_sure, bool(row.forecast)),
    ):
        lines += [one for when in WHEN if is_said for one in told(row, head, own, when)]
    return lines


def _of(runs: Sequence[NetPart], role: str, variant: str) -> list[NetPart]:
    return [run for run in runs if (run.role, run.variant) == (role, variant)]


def _whens(runs: Sequence[NetPart]) -> tuple[tuple[When, str], ...]:
    """When the runs have beliefs, and the words for it."""
    if not has_before(runs) or runs[0].network.agents == 1:
        return (("after", ""),)
    return tuple((when, _CONSENSUS[when]) for when in WHEN)


def _accuracies(
    head: str, runs: Sequence[NetPart], groups: Groups, printed: Mapping[str, str]
) -> list[Line]:
    """One line a group of agents and belief; printed numbers are of the first."""
    whens = _whens(runs)
    lines = []
    for name, agents in groups:
        for when, words in whens:
            values = [group_mean(last_of(run, when).accuracy, agents) for run in runs]
            told = printed.get(name, "") if when == whens[0][0] else ""
            remarks = (accuracy_verdict(head, told, values), _remark(runs, agents, when))
            what = f"accuracy [%], {head}, {name}{words}"
            remark = ", ".join(one for one in remarks if one)
            lines.append(line(what, values, printed=told, remark=remark))
    return lines


def _confidences(head: str, runs: Sequence[NetPart], groups: Groups) -> list[Line]:
    """How sure each side is of labels that only others hold, and of every label."""
    lines = []
    for name, agents in groups:
        held = set(runs[0].network.labels[agents[0]]) if agents else set()
        labels = range(len(label_confidence(runs[0], agents)))
        if not agents or all(label in held for label in labels):
            continue
        for when, words in _whens(runs):
            outside = [last_of(run, when).out_of_domain_confidence for run in runs]
            if not all(has_numbers(values, agents) for values in outside):
                continue
            by_label = [label_confidence(run, agents, when) for run in runs]
            each = [mean_and_error([one[label] for one in by_label])[0] for label in labels]
            told = ", ".join(
                f"{label}{'' if label in held else '*'} {100 * each[label]:.1f}" for label in labels
            )
            what = f"confidence in labels not its own [%], {head}, {name}{words}"
            values = [group_mean(one or (), agents) for one in outside]
            lines.append(line(what, values, remark=f"by label (* not its own): {told}"))
    return lines


def _remark(runs: Sequence[NetPart], agents: tuple[int, ...], when: When) -> str:
    """The other way to predict, and how good the probabilities are."""
    words = []
    means = [(run.last(when) or run.curve.last).mean for run in runs]
    if (runs[0].last(when) or runs[0].curve.last).sampled is not None:
        own = [group_mean(one.accuracy, agents) for one in means if one is not None]
        words.append(f"mean weights {mean_and_error(own)[0]:.2f}")
    last = [last_of(run, when) for run in runs]
    for values, label in (
        ([one.nll for one in last], "NLL"),
        ([one.calibration_error for one in last], "ECE"),
        # How well predictive entropy tells images of another kind, and labels an agent never had.
        ([one.other_data_auroc for one in last], "AUROC of other data"),
        ([one.out_of_domain_auroc for one in last], "AUROC of labels not its own"),
    ):
        if all(has_numbers(found, agents) for found in values):
            mean, _ = mean_and_error([group_mean(found or (), agents) for found in values])
            words.append(f"{label} {mean / 100:.3f}")
    return ", ".join(words)


def _baselines(row: Row, head: str, runs: Sequence[NetPart]) -> list[Line]:
    """What the network is compared with."""
    names = [name for name, _ in row.groups]
    everything, server = "all data in one place", "a server on the same split"
    compared: tuple[tuple[str, str, Groups, Mapping[str, str]], ...] = (
        ("alone", ", each alone", row.groups, dict(zip(names, row.alone, strict=False))),
        ("central", "", ((everything, (0,)),), {everything: row.central}),
        ("averaging", ", averaging of nets", row.groups[:1], {}),
        ("fedavg", ", federated averaging", ((server, (0,)),), {server: row.printed_server}),
    )
    lines: list[Line] = []
    for role, words, groups, printed in compared:
        own = _of(runs, role, row.main)
        if own:
            lines += _accuracies(f"{head}{words}", own, groups, printed)
    return lines


def _differences(row: Row, head: str, runs: Sequence[NetPart], when: When) -> list[Line]:
    """Two nodes: theory lets both learn the same."""
    together = _of(runs, "cooperating", row.main)
    # A record of an earlier version has nothing before consensus.
    if not together or (when == "before" and not has_before(together)):
        return []
    printed = [row.variant(row.main).printed[name] for name, _ in row.groups]
    gap = [100 * (a - b) for a, b in (last_of(run, when).accuracy for run in together)]
    return [
        line(
            f"accuracy of node 1 less that of node 2 [%], {head}{_CONSENSUS[when]}",
            gap,
            printed=f"{float(printed[0]) - float(printed[1]):.4g}" if when == "before" else "",
            predicted=0.0,
            remark="in the limit both learn what the whole network learns",
        )
    ]


def _order_over_influence(row: Row, head: str, runs: Sequence[NetPart], when: When) -> list[Line]:
    """Whether a larger influence of the informative agent makes the network faster."""
    found = []
    for variant in row.variants:
        together = _of(runs, "cooperating", variant.name)
        if together and (when == "after" or has_before(together)):
            speeds = {run.seed: mean_over_rounds(run, when=when) for run in together}
            found.append((_influence(together[0]), variant.name, speeds))
    if len(found) < 2:
        return []
    seeds = set.intersection(*(set(speeds) for _, _, speeds in found))
    if not seeds:
        return []
    taus = [_tau([(v, speeds[seed]) for v, _, speeds in found]) for seed in sorted(seeds)]
    parts = [
        f"{name}: v₁ = {v:.2f}, {mean_and_error(list(s.values()))[0]:.2f}" for v, name, s in found
    ]
    is_printed = row.name == "star-mnist-1" and when == "before"
    return [
        line(
            "order of mean accuracy over the rounds against v₁ (Kendall's τ), "
            f"{head}{_CONSENSUS[when]}",
            taus,
            printed="accuracy and speed rise with a" if is_printed else "",
            predicted=1.0,
            remark="; ".join(parts),
        )
    ]


def _influence(run: NetPart) -> float:
    """V of the informative agent."""
    facts = run.network
    if facts.influence is None or facts.informative is None:
        raise LookupError("no influence of an informative agent")
    return facts.influence[facts.informative]


def _tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Kendall's τ of pairs without ties."""
    products = [(a - c) * (b - d) for (a, b), (c, d) in combinations(pairs, 2)]
    return sum((one > 0) - (one < 0) for one in products) / len(products)


def _order_of_placements(row: Row, head: str, runs: Sequence[NetPart], when: When) -> list[Line]:
    """Whether the placement with the larger influence learns faster."""
    first, second = (_of(runs, "cooperating", variant.name) for variant in row.variants[:2])
    if when == "before" and not has_before([*first, *second]):
        return []
    speeds = [
        {run.seed: mean_over_rounds(run, when=when) for run in own} for own in (first, second)
    ]
    seeds = sorted(set(speeds[0]) & set(speeds[1]))
    if not seeds:
        return []
    gaps = [speeds[0][seed] - speeds[1][seed] for seed in seeds]
    v = [_influence(own[0]) for own in (first, second)]
    mean, error = mean_and_error(gaps)
    names = [variant.name for variant in row.variants[:2]]
    return [
        line(
            f"mean accuracy over the rounds, {names[0]} less {names[1]} [%], "
            f"{head}{_CONSENSUS[when]}",
            gaps,
            printed=f"{names[0]} learns faster" if when == "before" else "",
            holds=None if error is None else mean > -STANDARD_ERRORS * error,
            remark=f"above 0 by theory: v = {v[0]:.3f} there, {v[1]:.3f} in the {names[1]}",
        )
    ]


def _least_sure(row: Row, head: str, runs: Sequence[NetPart], when: When) -> list[Line]:
    """The label, among those it does not hold, of which a side is least sure over the rounds."""
    from peerbayes.problem.builtins.label_partitions import label_forecast

    together = _of(runs, "cooperating", row.main)
    if not together or (when == "before" and not has_before(together)):
        return []
    forecast = label_forecast(row.forecast)
    lines = []
    held = together[0].network.labels
    pair = forecast.least_separated
    for name, agents in row.groups:
        if not agents:
            continue
        own = set(held[agents[0]])
        outside = [label for label in range(10) if label not in own]
        # The pair says something of a side that holds one of the two.
        expected = [label for label in pair if label not in own]
        least = [least_label(run, agents, outside, when) for run in together]
        counts = {label: least.count(label) for label in least}
        label = max(counts, key=lambda one: counts[one])
        share = f"{counts[label]} of {len(least)} seeds"
        lines.append(
            line(
                f"label of least confidence over the rounds, {name}, {head}{_CONSENSUS[when]}",
                [float(label)],
                printed=row.least_sure.get(name, "") if when == "before" else "",
                predicted=float(expected[0]) if len(expected) == 1 else None,
                remark=f"{share}; the pair that is told apart last: {pair[0]} and {pair[1]}",
            )
        )
    return lines
