"""What the page says of each verified problem, in its order: words, numbers, pictures.

Everything here is made from a record's plain numbers; nothing is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peerbayes.figures.canvas import LegendEntry, Plot, to_svg
from peerbayes.figures.curves import failures_plot, sweep_plot, trajectory_plot
from peerbayes.figures.graph import MOST_AGENTS, network_plot
from peerbayes.figures.rows import ladder_plot, rates_plot
from peerbayes.figures.wording import agents_with, count, listed, number, percentage
from peerbayes.tables import limit_sign


@dataclass(frozen=True)
class Verdict:
    """A statement's verdict: its style, its mark, its words."""

    style: str
    mark: str
    words: str


HOLDS = Verdict("good", "✓", "holds")
BROKEN = Verdict("bad", "✗", "BROKEN")
REFUTED = Verdict("news", "△", "fails (not a theorem)")
NOT_RUN = Verdict("quiet", "○", "not run")
NOTHING = Verdict("quiet", "○", "measured only: nothing is claimed")


def verdict(statement: Mapping[str, Any]) -> Verdict:
    """The verdict on one comparison of a record."""
    if statement["holds"] is None:
        return NOT_RUN
    if statement["holds"]:
        return HOLDS
    return BROKEN if statement["is_theorem"] else REFUTED


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a group: broken if one is, else refuted if one is, else holds if one does."""
    return next((v for v in (BROKEN, REFUTED, HOLDS, NOT_RUN) if v in verdicts), NOTHING)


@dataclass(frozen=True)
class Statement:
    """One row of a table of statements, as text.

    `deviation` is how far a measured mean lies from its exact prediction, or beyond its bound, in
    standard errors; None where the statement is no theorem, or a limit, or nothing was random.
    """

    text: str
    predicted: str
    measured: str
    error: str
    kind: str
    note: str
    verdict: Verdict
    deviation: float | None = None


@dataclass(frozen=True)
class Picture:
    """A figure as the page takes it."""

    svg: str
    title: str
    finding: str
    legend: tuple[LegendEntry, ...]


@dataclass(frozen=True)
class Fact:
    """A key number with its name and a word on what it is."""

    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class ProblemView:
    """One problem of a ``verify`` record."""

    key: str
    name: str
    title: str
    family: str
    finding: str
    facts: tuple[Fact, ...]
    pictures: tuple[Picture, ...]
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its statements' verdicts."""
        return worst([statement.verdict for statement in self.statements])


@dataclass(frozen=True)
class SweepView:
    """One sweep over the edge confidence: a picture, and all numbers as a table."""

    key: str
    name: str
    finding: str
    picture: Picture | None
    columns: tuple[tuple[str, str, str], ...]  # a, v_1, what the network settles on
    exponents: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str, str] | None, ...]], ...]
    statements: tuple[Statement, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its statements' verdicts."""
        return worst([statement.verdict for statement in self.statements])


def statements(comparisons: Sequence[Mapping[str, Any]]) -> tuple[Statement, ...]:
    """A record's comparisons as rows of a table."""
    return tuple(
        Statement(
            c["statement"],
            limit_sign(c) + number(c["predicted"], 5),
            number(c["measured"], 5),
            number(c["standard_error"], 2),
            c["kind"],
            c["note"],
            verdict(c),
            _deviation(c),
        )
        for c in comparisons
    )


def _deviation(comparison: Mapping[str, Any]) -> float | None:
    """Standard errors between an exact mean and its measurement, or from a bound that is passed."""
    predicted, measured, error = (
        comparison[name] for name in ("predicted", "measured", "standard_error")
    )
    kind = comparison["kind"]
    if not comparison["is_theorem"] or kind == "asymptotic":
        return None
    if None in (predicted, measured) or not error:
        return None
    score = (float(measured) - float(predicted)) / float(error)
    if kind == "exact":
        return abs(score)
    return max(0.0, -score if comparison.get("side") == "lower" else score)


def picture(plot: Plot, key: str) -> Picture:
    """Draw a plot; `key` is distinct for each figure of a page."""
    label = f"{plot.title}. {plot.finding}"
    return Picture(to_svg(plot.figure, key=key, label=label), plot.title, plot.finding, plot.legend)


def problem_view(problem: Mapping[str, Any], *, key: str) -> ProblemView:
    """Everything the page says of one verified problem."""
    analysis, samples = problem["analysis"], problem["analysis"]["samples"]
    failures = problem["failures"]
    plots = [network_plot(problem["graph"])]
    if problem["trajectory"] is not None:
        plots.append(trajectory_plot(problem["trajectory"]))
    if problem["rates"]:
        plots.append(rates_plot(problem["rates"], replicates=problem["replicates"]))
        plots.append(ladder_plot(samples, measured=failures["measured_rounds"], was_measured=True))
        plots.append(failures_plot(failures, delta=samples["delta"]))
    notes = list(analysis["notes"])
    if plots[0] is None:
        agents = analysis["network"]["agents"]
        notes.insert(0, f"{agents} agents are too many to draw: at most {MOST_AGENTS} are")
    return ProblemView(
        key=key,
        name=problem["name"],
        title=problem["title"],
        family=problem["family"],
        finding=settles(problem),
        facts=_facts(problem),
        pictures=tuple(
            picture(plot, f"{key}-{index}") for index, plot in enumerate(plots) if plot is not None
        ),
        statements=statements(problem["comparisons"]),
        notes=tuple(notes),
    )


def settles(problem: Mapping[str, Any]) -> str:
    """What the network settles on, and how much of it did."""
    learning = problem["analysis"]["learning"]
    reference = learning["compromise"] or learning["optimal_hypotheses"]
    if not problem["rates"]:
        return f"Every hypothesis is optimal, {listed(reference)}: there is nothing to reject."
    if learning["compromise"] is None:
        words = f"The network settles on {listed(reference, joint='or')}, best for every agent."
    else:
        words = (
            "No hypothesis is best for every agent (Θ* is empty): the network settles on the "
            f"compromise {listed(reference, joint='or')}, which minimises the v-weighted "
            "divergence."
        )
    settled = problem["settled"]
    share = sum(settled.get(name) or 0.0 for name in reference)
    words += f" At the last round {percentage(share)} of all agents in all runs hold it"
    others = sorted(
        ((value, name) for name, value in settled.items() if name not in reference and value),
        reverse=True,
    )
    if others:
        words += f"; {percentage(others[0][0])} hold “{others[0][1]}”"
    return words + "."


def _facts(problem: Mapping[str, Any]) -> tuple[Fact, ...]:
    network, learning = problem["analysis"]["network"], problem["analysis"]["learning"]
    samples, v = problem["analysis"]["samples"], problem["graph"]["stationary_distribution"]
    deviations = [d for d in network["deviation"] if d is not None]
    largest = max(deviations) if len(deviations) == len(network["deviation"]) else None
    binding, limiting = learning["binding_hypothesis"], learning["binding_for_exponent"]
    return (
        Fact("Learning rate K", number(learning["rate"]), against("nats per round", binding)),
        Fact(
            "Error exponent E", number(learning["error_exponent"]), against("per round", limiting)
        ),
        rounds_that_suffice(samples),
        Fact("Agents", count(network["agents"])),
        Fact("v of the centre", number(v[0]), "agent 0")
        if "edge_confidence" in problem["parameters"]
        else Fact("Largest v", number(max(v)), agents_with(v, max(v))),
        Fact("Second eigenvalue", number(network["slem"]), "largest modulus below 1"),
        Fact("Largest deviation D", number(largest), "rounds"),
    )


def rounds_that_suffice(samples: Mapping[str, Any]) -> Fact:
    """The smallest number of rounds that is proved to be enough, and what proves it."""
    certified = samples.get("certified")
    proofs = {
        "certified": None if certified is None else certified[1],
        "Chernoff": samples["chernoff"],
        "Hoeffding": samples["repaired"],
    }
    known = {proof: rounds for proof, rounds in proofs.items() if rounds is not None}
    proof = min(known, key=known.__getitem__, default="Chernoff")
    return Fact(
        "Rounds that suffice", count(known.get(proof)), f"{proof}, δ = {number(samples['delta'])}"
    )


def against(unit: str, name: str | None) -> str:
    """A unit, and the hypothesis that binds where there is one."""
    return unit if name is None else f"{unit}, bound by “{name}”"


def sweep_view(sweep: Mapping[str, Any], *, key: str) -> SweepView:
    """Everything the page says of one sweep."""
    confidences = sweep["edge_confidence"]
    columns = tuple(
        (f"{a:g}", number(v), ", ".join(names))
        for a, v, names in zip(confidences, sweep["centre_weight"], sweep["settled"], strict=True)
    )
    rows = []
    for series in sweep["rates"]:
        cells = {point["edge_confidence"]: point for point in series["points"]}
        if cells:
            rows.append((series["hypothesis"], tuple(_cell(cells.get(a)) for a in confidences)))
    return SweepView(
        key=key,
        name=sweep["name"],
        finding=_moves(sweep),
        picture=picture(sweep_plot(sweep), f"{key}-0") if rows else None,
        columns=columns,
        exponents=tuple(number(exponent) for exponent in sweep["exponent"]),
        rows=tuple(rows),
        statements=statements(sweep["comparisons"]),
    )


def _cell(point: Mapping[str, Any] | None) -> tuple[str, str, str] | None:
    if point is None:
        return None
    return number(point["predicted"]), number(point["measured"]), number(point["standard_error"], 2)


def _moves(sweep: Mapping[str, Any]) -> str:
    """How the hypothesis settled on moves with a."""
    groups: list[tuple[list[str], list[float]]] = []
    for a, names in zip(sweep["edge_confidence"], sweep["settled"], strict=True):
        if groups and groups[-1][0] == names:
            groups[-1][1].append(a)
        else:
            groups.append((names, [a]))
    v = sweep["centre_weight"]
    start = f"As a rises, the centre’s weight v₁ rises from {number(v[0])} to {number(v[-1])}"
    if len(groups) == 1:
        return f"{start}; the network settles on {listed(groups[0][0], joint='or')} for every a."
    parts = [
        f"{listed(names, joint='or')} for a = {', '.join(f'{a:g}' for a in values)}"
        for names, values in groups
    ]
    return f"{start}, and what the network settles on changes: {'; '.join(parts)}."
