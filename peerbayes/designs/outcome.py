"""What a design came to, whatever the kind of problem and the objective, and how it is shown.

A design is best by its own objective alone: what a problem is about, few rounds or small errors,
may be had from another of the networks compared, which then is recommended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from peerbayes.designs.details import LEARNABILITY, PRICE, TRADE_OFF_POINT
from peerbayes.designs.quantities import (
    BOUNDED,
    CERTIFIED,
    DESIGNED,
    DESIGNS,
    RECOMMENDATION,
    DesignRecord,
)
from peerbayes.designs.shared import (
    CHANGING_ROW,
    FINITE_ROW,
    MOST_ROWS,
    REGRESSION_ROW,
    Outcome,
    ProblemRecord,
    form_of,
    side,
)
from peerbayes.designs.weight_text import MOST_PHASES, shown_weights
from peerbayes.documents import GraphDocument
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.writing import with_network
from peerbayes.quantities.messages import MESSAGES
from peerbayes.quantities.quantity import Table
from peerbayes.quantities.showing import ends_text, facts, grid, titled
from peerbayes.settings.questions import Design
from peerbayes.tables import (
    agent_names,
    facts_table,
    figures_table,
    notes_text,
    number,
    rounds,
    spread,
)
from theory.showing import Words
from theory.validation import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

    from peerbayes.designs.weights import Found


# Which of the networks compared to use ------------------------------------------------------------


_GIVEN = "as given"
# What differs by less is rounding, and no reason to prefer another network to the design.
_SAME = 1e-9


def networks_of(result: Any) -> dict[str, Any]:
    """The networks compared, by their names: the design first."""
    return {DESIGNED: result, **result.baselines}


def recommend(result: Any, *, delta: float) -> Any:
    """The best of the networks that a design is compared with, itself included; None if none is."""
    rows = networks_of(result)
    if hasattr(result, "excess_error_constant"):
        return by_error(result.objective, rows)
    if hasattr(result, "influence"):
        # Rounds of a network that settles on another hypothesis are no rounds to the target.
        rows = {n: row for n, row in rows.items() if result.target in row.settles_on.split(", ")}
    samples = {name: row.samples for name, row in rows.items()}
    return by_rounds(result.objective, samples, delta=delta)


def by_rounds(objective: str, samples: Mapping[str, Any], *, delta: float) -> Any:
    """The network with the fewest rounds that are proved to be enough; the first among equals.

    Certified numbers are compared by their upper ends; where no network has one, Chernoff's bounds
    are. None where nothing is proved of any network.

    Parameters
    ----------
    samples
        By name, the design first under the name ``"designed"``; None for networks that settle on
        another hypothesis.
    """
    samples = {name: entry for name, entry in samples.items() if entry is not None}
    certified = {n: entry.certified[1] for n, entry in samples.items() if entry.certified}
    bounded = {n: entry.chernoff for n, entry in samples.items() if entry.chernoff is not None}
    known = certified or bounded
    if not known:
        return None
    name = min(known, key=known.__getitem__)
    best, own, unit = known[name], known.get(DESIGNED), CERTIFIED if certified else BOUNDED
    sentence = f"for an error of at most {delta:g} use {_named(name)}: {best} {unit}"
    if name == DESIGNED:
        few = "the fewest" if [*known.values()].count(best) == 1 else "as few as any"
        sentence += f", {few} of these networks"
    elif own is None:
        sentence += "; no number of rounds is proved of the design"
    else:
        sentence += (
            f"; the design takes {own}: the objective {objective} costs {own - best} "
            "rounds (the objective samples looks for the fewest)"
        )
    return RECOMMENDATION.read(
        {"network": name, "by": unit, "value": best, "designed": own, "sentence": sentence}
    )


def by_error(objective: str, rows: Mapping[str, Any]) -> Any:
    """The network with the least error of a regression: by its limit, then by c of c/n."""
    known = {
        name: (row.limit, row.excess_error_constant)
        for name, row in rows.items()
        if row.limit is not None and row.excess_error_constant is not None
    }
    if not known:
        return None
    name = min(known, key=known.__getitem__)
    own = known.get(DESIGNED)
    if own is not None and all(
        math.isclose(a, b, rel_tol=_SAME, abs_tol=1e-12)
        for a, b in zip(own, known[name], strict=True)
    ):
        name = DESIGNED
    vanishes = known[name][0] == 0
    value, designed = known[name][vanishes], own and own[vanishes]
    what = f"error {value:.4g}/n" if vanishes else f"limit of the error {value:.4g}"
    sentence = f"use {_named(name)}: {what}"
    if name == DESIGNED:
        sentence += ", the least of these networks"
    elif designed is not None:
        sentence += f"; the design has {designed:.4g}{'/n' if vanishes else ''}"
        sentence += f": the objective {objective} costs accuracy"
    by = "limit and c of the error"
    return RECOMMENDATION.read(
        {"network": name, "by": by, "value": value, "designed": designed, "sentence": sentence}
    )


def _named(name: str) -> str:
    return "the designed weights" if name == DESIGNED else f"the weights {name!r}"


# In a few words ---------------------------------------------------------------------------------


def advice(result: Any) -> Iterator[tuple[str, Words]]:
    """Which of the networks compared to use, what they take, the cost, and the certificate."""
    best, certificate = result.recommended, result.certificate
    if best is not None:
        kept = "the weights as given: leave them as they are"
        yield "use", Words(kept if best.network == _GIVEN else _named(best.network))
        rows, counted = networks_of(result), best.by in (CERTIFIED, BOUNDED)
        key = "limit" if not counted and rows[best.network].limit else "excess_error_constant"
        texts = [
            f"{_rounds(row.samples, best.by) if counted else number(getattr(row, key))} {name}"
            for name in dict.fromkeys((_GIVEN, DESIGNED, best.network))
            if (row := rows.get(name)) is not None
        ]
        yield best.by if counted else str(REGRESSION_ROW[key].label), Words(", ".join(texts))
        if best.network != DESIGNED and None not in (best.designed, best.value):
            more = f"{rounds(round(best.designed - best.value))} rounds" if counted else "accuracy"
            yield "cost", Words(f"the objective {result.objective} costs {more}")
    if certificate is not None and certificate.value is not None:
        bound = certificate.bound
        others = (
            f"any design: {side(certificate)} {bound:.6g}"
            if bound is not None
            else "no bound known"
        )
        yield "certificate", Words(f"{certificate.value:.6g}; {others}")


def _rounds(samples: Any, by: str) -> str:
    if samples is None:
        return "none proved"
    return rounds(samples.chernoff) if by == BOUNDED else ends_text(samples.certified)


# Outcomes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignOutcome(Outcome):
    """The design for one problem; the base of those for each kind.

    Attributes
    ----------
    stopped
        Whether the time was up before the search was done.
    written_path
        Where the problem with the designed weights is; None if it was not written.
    """

    request: Design
    stopped: bool = False
    written_path: Path | None = None

    def _remarked(self) -> Iterator[tuple[str, object]]:
        """What is printed of every design: whether it was cut short, and where it is."""
        if self.stopped:
            yield "stopped", "by the time budget"
        if self.written_path is not None:
            yield "written", str(self.written_path)
        if self.record_path is not None:
            yield "record", str(self.record_path)

    def designed_problem(self) -> AnyProblem:
        """The problem with the designed weights in place of its own.

        Raises
        ------
        ValueError
            If the objective designs no weights.
        """
        wanted = "an objective that designs weights"
        raise fail("write", wanted, self.request.objective, "leave it out")

    def pictures(self) -> dict[str, Any]:
        """What a record holds besides, for the report: networks before and after, and curves."""
        return {}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Belief before and after, if that was simulated, or the network as designed.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.designs.figures import curves_plot
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.graph import draw_network

        found = self.pictures()
        if found.get("curves"):
            return on_axes(lambda axes: curves_plot(found["curves"], axes=axes), ax)
        if "after" not in found:
            raise fail("plot", "a design of one network", "another", "plot what it is made of")
        return draw_network(found["after"], ax)

    def record(self) -> ProblemRecord:
        """What is left on disk."""
        return DesignRecord(**self.recorded(), **self.pictures())


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignedWeights(DesignOutcome):
    """Weights beside those of other networks: `rows` of all by their names, the design first."""

    rows: Mapping[str, Any]

    @property
    def designed(self) -> Any:
        """The row of the design."""
        return self.rows[DESIGNED]

    def document(self) -> Any:
        """What `design` prints, checked: its keys are attributes."""
        found = super().document()
        best = recommend(found, delta=self.request.delta)
        return found.model_copy(update={"recommended": best})

    def tables(self) -> list[RenderableType]:
        """Facts, W, what the objective says, the networks compared, who matters, and notes."""
        return design_parts(self.document())

    def _facts(self) -> Iterator[tuple[str, object]]:
        told = dict(super()._facts())
        yield from ((name, told[name]) for name in ("objective", "target") if name in told)
        yield from advice(self.document())
        yield from self._remarked()
        yield from ((name, told[name]) for name in _SHORT if name in told)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneNetwork(DesignedWeights):
    """The design of a network that stays as it is: what an objective led to."""

    found: Found

    @property
    def failed(self) -> bool:
        """Whether a solver gave up on the way."""
        return self.found.weights.failed

    @property
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        certificate = self.found.certificate
        proof = f"certificate: {certificate.note}" if certificate and certificate.note else ""
        notes = [*self.remarks, *self.found.notes, *self.found.weights.notes, proof]
        return [note for note in notes if note]

    def designed_problem(self) -> AnyProblem:
        """The problem with the designed weights."""
        found, weights = self.found, self.found.weights
        return with_network(
            self.problem, weights.network, rows=weights.rows, messages=found.quantiser
        )

    def pictures(self) -> dict[str, Any]:
        """Both networks."""
        networks: dict[str, Any] = {
            "before": self.problem.network,
            "after": self.found.weights.network,
        }
        return {name: GraphDocument.of(network) for name, network in networks.items()}


# Tables for people ------------------------------------------------------------------------------

# What is said in the table and in a repr, in this order.
_LABELS = (
    *("objective", "to settle on", "influence of each agent v"),
    *("limit of the error", "error c/n with c", "learning rate K", "error exponent E"),
    *("subdominant modulus, mean", "subdominant modulus", "certificate", "mixing", "binding"),
    *("weights by", "written to"),
)
_SHORT = (
    *("v", "settles on", "rate K", "exponent E", "limit of the error", "error, times n", "slem"),
)
_MOST_AGENTS = 40
_ALL_OF_THEM = "(all of them: --json, or --write FILE)"


def design_parts(result: Any) -> list[RenderableType]:
    """The tables of a design, for a problem of any kind."""
    told = facts(form_of(result, DESIGNS), result)
    shown = {label: told[label] for label in _LABELS if label in told}
    parts: list[RenderableType] = [facts_table(result.problem, shown), Text()]
    parts += weight_parts(result)
    for key, table in {"trade_off": TRADE_OFF_POINT, "prices": PRICE}.items():
        if entries := getattr(result, key, None):
            parts.append(grid(table, entries))
    if getattr(result, "messages", None) is not None:
        parts += titled(MESSAGES, result.messages)
    parts.append(_comparison(result))
    parts += _who_matters(getattr(result, "learnability", None), result.names)
    if result.recommended is not None:
        parts.append(Text(f"recommended: {result.recommended.sentence}"))
    return [*parts, notes_text(result.notes)]


def weight_parts(result: Any) -> list[RenderableType]:
    """W as a table for few agents, else whom each agent hears; rows sum to one as shown."""
    parts: list[RenderableType] = []
    for shown in shown_weights(result, most=_MOST_AGENTS):
        if shown.columns:
            table = figures_table(shown.title, "", *shown.columns)
            for name, cells in shown.rows:
                table.add_row(Text(name), *cells)
        else:
            heard = {name: words for name, (words,) in shown.rows}
            table = facts_table(f"{shown.title}: whom each agent hears, and how much", heard)
        parts.append(table)
        if shown.left:
            parts.append(Text(f"and {shown.left} more agents {_ALL_OF_THEM}"))
    more = len(result.weights) - MOST_PHASES
    if hasattr(result, "influence") and more > 0:
        parts.append(Text(f"and {more} more phases {_ALL_OF_THEM}"))
    return [*parts, Text()]


def compared_in(result: Any) -> Table:
    """The quantities by which the networks of a comparison are shown."""
    row = form_of(result, DESIGNS)["baselines"].table
    assert row is not None
    if row is CHANGING_ROW:  # runs are not simulated there
        return replace(row, quantities=(*row.quantities, FINITE_ROW["simulated"]))
    return row


def _comparison(result: Any) -> RenderableType:
    """The networks compared, a row each."""
    networks = networks_of(result)
    deltas = [row.samples.delta for row in networks.values() if getattr(row, "samples", None)]
    title = f"Networks; rounds for an error of at most {deltas[0]:g}" if deltas else "Networks"
    return grid(compared_in(result), networks.items(), title=title, names="weights")


def _who_matters(found: Any, names: Sequence[str] | None) -> list[RenderableType]:
    if found is None:
        return []
    shown = {}
    if found.unseparable_pairs:
        pairs = "; ".join(" and ".join(pair) for pair in found.unseparable_pairs[:MOST_ROWS])
        shown["nobody tells apart"] = pairs
    fewest = found.sufficient_for_target or found.sufficient_agents
    agents = agent_names(fewest.agents, names)
    proof = "none smaller suffices" if fewest.proved else f"at least {fewest.lower} are needed"
    shown["agents that suffice"] = f"{agents} ({proof})"
    departures = found.departures
    if departures:
        shown["K if one falls silent"] = spread(departures.silent.rates)
        if departures.critical:
            shown["nothing is learnt without"] = agent_names(departures.critical, names)
        if departures.cuts:
            shown["the graph falls apart without"] = agent_names(departures.cuts, names)
    return [facts_table(str(LEARNABILITY.title), shown), Text()]
