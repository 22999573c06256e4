"""Every figure of the sources: its needs, its drawing, its rules, and how a verdict is put.

The figures stand in `empirical/papers/figures.toml`, in the order of the sources; the drawings that
they name are functions below, the rules those of `peerbayes.sources.rules`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from empirical import papers
from peerbayes.experiments.gae_rows import TABLE_1
from peerbayes.experiments.net_lines import Printed
from peerbayes.experiments.net_rows import APART, ROWS, NetPart
from peerbayes.experiments.registry import find_experiment
from peerbayes.figures.chart import floats
from peerbayes.figures.wording import number
from peerbayes.messages import choose
from peerbayes.sources import rules
from peerbayes.sources.documents import (
    AFTER,
    CONFIDENCES,
    CONFUSION,
    CheckDocument,
    CurveDocument,
    FigureDocument,
    FiguresPrinted,
    Kept,
    LevelDocument,
    MissingDocument,
    Need,
    Outcome,
    PanelDocument,
    outcome,
)
from peerbayes.sources.rules import (
    AS_PRINTED,
    CENTRAL,
    COOPERATING,
    SIDES,
    Reading,
    accuracy_course,
    apart_of,
    confusion,
    curve,
    label_course,
    labels_among,
    lone,
    missing_of_gae,
    pairs,
    when_of,
)

if TYPE_CHECKING:
    from rich.console import RenderableType


# Drawings of figures -----------------------------------------------------------------------------


_SPLITS = {"fedavg-iid": "IID", "fedavg-shards": "shards"}


def accuracy_panel(
    title: str, curves: Sequence[CurveDocument], levels: Sequence[LevelDocument] = ()
) -> list[PanelDocument]:
    """Accuracies over rounds beside printed ones, as one panel; none without curves."""
    if not curves:
        return []
    return [
        PanelDocument(
            title=title, x="round", y="accuracy [%]", curves=list(curves), levels=list(levels)
        )
    ]


def accuracy_curves(
    name: str, runs: Sequence[NetPart], agents: Sequence[int]
) -> list[CurveDocument]:
    """Before consensus as a line, after it in dashes; one line where there is one belief."""
    if not runs:
        return []
    rounds, before = accuracy_course(runs, agents)
    curves = [CurveDocument.of(name, rounds, before)]
    if when_of(runs, "before") == "before":
        after = accuracy_course(runs, agents, "after")[1]
        words = f"{name}, after consensus" if name else "after consensus"
        curves.append(CurveDocument.of(words, rounds, after, dashed=True))
    return curves


def courses(kept: Kept, *, rows: Sequence[str]) -> list[PanelDocument]:
    """A panel a row: mean accuracy of all agents, or of its groups where it has one network."""
    panels = []
    for row in (ROWS[name] for name in rows):
        one = len(row.variants) == 1
        curves, levels = [], []
        for variant in row.variants:
            runs = kept.runs(Need(row.name, variant.name))
            for group, agents in row.groups if one else row.groups[:1]:
                name = group if one else variant.name
                curves += accuracy_curves(name, runs, agents)
                if group in variant.printed:
                    value = Printed.read(variant.printed[group]).value
                    levels.append(LevelDocument(name=f"{name}, printed", value=value))
        panels += accuracy_panel(row.title, curves, levels)
    return panels


def servers(kept: Kept, *, variant: str) -> list[PanelDocument]:
    """Federated averaging on both splits, with so many epochs a round."""
    curves, levels = [], []
    for row, split in _SPLITS.items():
        curves += accuracy_curves(split, kept.runs(Need(row, variant, AFTER)), (0,))
        value = float(ROWS[row].variant(variant).printed["server"])
        levels.append(LevelDocument(name=f"{split}, printed", value=value))
    return accuracy_panel(f"federated averaging, {variant}", curves, levels)


def apart(kept: Kept) -> list[PanelDocument]:
    """With and without a shared initialisation, the first seed."""
    panels = []
    for row in APART:
        curves = [
            curve
            for own, name in ((False, "shared"), (True, "own initialisations"))
            for curve in accuracy_curves(name, apart_of(kept, row, own=own)[:1], ())
        ]
        panels += accuracy_panel(f"{row}, mean of all agents", curves)
    return panels


def ends(kept: Kept) -> list[PanelDocument]:
    """Accuracy over the rounds of every run of Table 1."""
    curves = []
    for run in TABLE_1:
        own = kept.gae.named(run.name)
        if own:
            means = [[np.mean(nodes) for nodes in one.accuracies] for one in own]
            values, dashed = 100 * np.mean(means, axis=0), not run.name.startswith("GAE")
            curves.append(CurveDocument.of(run.name, own[0].rounds, values, dashed=dashed))
    return accuracy_panel("GAE and its baselines", curves)


def table(kept: Kept, *, row: str, agent: int) -> list[PanelDocument]:
    """A node's table of confusion."""
    runs = kept.runs(Need(row, key=CONFUSION))
    if not runs:
        return []
    return [
        PanelDocument(
            title=f"node {agent + 1}, before consensus", x="predicted class", y="true class",
            confusion=confusion(runs, agent).tolist(), classes=list(runs[0].classes),
            held=list(runs[0].network.labels[agent]),
        )
    ]  # fmt: skip


def sides(
    kept: Kept, *, row: str, weights: Sequence[str], labels: Sequence[int] | None = None
) -> list[PanelDocument]:
    """A panel a weight: confidence in ID and OOD labels at the centre and at the edges."""
    panels = []
    for a in weights:
        runs = kept.runs(Need(row, a, CONFIDENCES))
        curves = []
        for side, agents in SIDES.items() if runs else ():
            for kind in ("ID", "OOD"):
                own = labels_among(runs, agents, kind, labels or ())
                words = "" if labels is None else f" {', '.join(map(str, own))}"
                course = label_course(runs, agents, own)
                curves.append(
                    CurveDocument.of(f"{side}, {kind}{words}", *course, dashed=kind == "OOD")
                )
        if curves:
            title = f"{row}, {a}"
            panels.append(PanelDocument(title=title, x="round", y="confidence", curves=curves))
    return panels


def labels(kept: Kept, *, row: str, variant: str) -> list[PanelDocument]:
    """Each side's confidence in every label over the rounds; OOD in dashes."""
    runs = kept.runs(Need(row, variant, CONFIDENCES))
    panels = []
    for side, agents in SIDES.items() if runs else ():
        held = runs[0].network.labels[agents[0]]
        curves = [
            CurveDocument.of(
                word if word == str(label) else f"{label} {word}",
                *label_course(runs, agents, [label]),
                dashed=label not in held,
            )
            for label, word in enumerate(runs[0].classes)
        ]
        title = f"{row}, {variant}, {side}"
        panels.append(PanelDocument(title=title, x="round", y="confidence", curves=curves))
    return panels


def errors(kept: Kept, *, experiment: str, alone: bool = False) -> list[PanelDocument]:
    """Errors of lone learners, or of the network, beside the central node's."""
    curves = []
    for name in (*(lone(experiment) if alone else [COOPERATING]), CENTRAL):
        one = curve(experiment, name)
        along = [float(n) for n in one.rounds]
        predicted, dashes = f"{name}, predicted", True
        curves.append(CurveDocument.of(name, along, floats(one.measured)))
        curves.append(CurveDocument.of(predicted, along, floats(one.predicted), dashed=dashes))
    words = "without cooperation" if alone else "cooperating"
    return [
        PanelDocument(
            title=f"{find_experiment(experiment).title}, {words}",
            x="round", y="MSE less the noise", log_y=True, curves=curves,
        )
    ]  # fmt: skip


# Every figure of the sources ---------------------------------------------------------------------


RULES: Mapping[str, Callable[..., list[CheckDocument]]] = MappingProxyType(
    {
        one.__name__: one
        for one in (
            rules.measured, rules.printed, rules.right, rules.loses_apart, rules.table_1,
            rules.stays_high, rules.matches,
        )
    }
)  # fmt: skip
"""What holds something printed against the records as read in some way, by name."""

DRAWINGS: Mapping[str, Callable[..., list[PanelDocument]]] = MappingProxyType(
    {
        one.__name__: one
        for one in (
            courses, servers, apart, ends, table,
            sides, labels, errors,
        )
    }
)  # fmt: skip
"""What draws the panels of whatever is on record, by name."""

# What is missing of figures that are not of rows of nets.
_MISSING: Mapping[str, Callable[[Kept], list[MissingDocument]]] = {"gae-4": missing_of_gae}


@dataclass(frozen=True)
class SourceFigure:
    """One figure, or one statement that only an experiment can decide.

    Attributes
    ----------
    name
        By which it is redrawn, such as ``p2-5b``.
    source
        Such as ``P2 Fig. 5b``.
    shows
        What it shows, by its caption and the text; with all numbers that can be read.
    rules, draw
        Names of rules and of the drawing, with their arguments.
    needs
        The parts that it is drawn from, and what it needs of their records.
    readings, pairs
        Other ways to read the numbers, which are tried where something fails: a name of `READINGS`;
        labels of the edges and of the centre, of which one each may be meant.
    silent
        What the source does not say and what may therefore be the reason; a sentence.
    remark
        What else the verdict should say; a sentence.
    elsewhere
        What the other readings need that the figure as printed does not.
    """

    name: str
    source: str
    shows: str
    rules: tuple[Mapping[str, Any], ...]
    draw: Mapping[str, Any]
    needs: tuple[Need, ...] = ()
    readings: str = ""
    pairs: tuple[tuple[int, ...], ...] = ()
    silent: str = ""
    remark: str = ""
    elsewhere: tuple[Need, ...] = ()

    def judge(self, kept: Kept, reading: Reading) -> list[CheckDocument]:
        """Everything that is printed, held against the records as read in some way."""
        return [
            check
            for rule in self.rules
            for check in RULES[rule.get("rule", "measured")](kept, reading, **_arguments(rule))
        ]

    def redraw(self, kept: Kept) -> FigureDocument:
        """The figure from what is on record.

        Raises
        ------
        ValueError
            If a record is damaged; in one line.
        """
        checks = self.judge(kept, AS_PRINTED)
        missing = self._missing(kept, outcome(checks))
        marks = [run.code_mark for need in self.needs for run in kept.runs(need)]
        return FigureDocument(
            name=self.name,
            source=self.source,
            shows=self.shows,
            verdict=outcome(checks),
            sentence=self._sentence(kept, checks, missing),
            checks=checks,
            panels=DRAWINGS[self.draw["drawing"]](kept, **_arguments(self.draw)),
            missing=missing,
            marks=list(dict.fromkeys(marks)),
        )

    def _missing(self, kept: Kept, verdict: Outcome) -> list[MissingDocument]:
        if self.name in _MISSING:
            return _MISSING[self.name](kept)
        more = self.elsewhere if verdict == "not reproduced" else ()
        found = [kept.missing(need) for need in (*self.needs, *more)]
        return [one for one in found if one is not None]

    def _sentence(
        self, kept: Kept, checks: Sequence[CheckDocument], missing: Sequence[MissingDocument]
    ) -> str:
        """The verdict with its reason."""
        verdict = outcome(checks)
        if verdict == "reproduced":
            words = f"Reproduced: {_all(len(checks))}."
        elif verdict == "not reproduced":
            words = f"Not reproduced: {_failures(checks)}. {self._other_readings(kept)}".strip()
            words += f" Beyond that {_lacking(missing)}." if missing else ""
        elif missing:
            held = sum(check.holds is True for check in checks)
            known = f"{held} of {len(checks)} things printed hold so far; " if held else ""
            words = f"Undecidable here: {known}{_lacking(missing)}."
        else:
            words = "Undecidable here."
        silent = self.silent if verdict != "reproduced" and not missing else ""
        return " ".join(part for part in (words.strip(), silent, self.remark) if part)

    def _other_readings(self, kept: Kept) -> str:
        """Which other readings of the numbers make all hold: possible reasons, not found ones."""
        found = dict[str, list[tuple[Reading, Outcome]]]()
        for reading in pairs(self.readings, self.pairs) if self.readings else ():
            told = outcome(self.judge(kept, reading))
            found.setdefault(reading.words, []).append((reading, told))
        holding = []
        for words, ones in found.items():
            good = [reading for reading, verdict in ones if verdict == "reproduced"]
            if good:
                which = f", with {_of_pairs(good)} of {len(ones)} pairs" if good[0].labels else ""
                holding.append(f"{words}{which}")
        if holding:
            return f"All of it holds when read {'; or '.join(holding)}."
        tried = [w for w, ones in found.items() if all(v == "not reproduced" for _, v in ones)]
        if not tried:
            return ""
        return f"No other reading tried makes all of it hold ({'; '.join(tried)})."


def _of_pairs(readings: Sequence[Reading]) -> str:
    """Which pairs of labels, or how many if they are more than three."""
    pairs = [f"{a} and {b}" for a, b in (one.labels for one in readings if one.labels)]
    return ", ".join(pairs) if len(pairs) <= 3 else str(len(pairs))


def _lacking(missing: Sequence[MissingDocument]) -> str:
    """What is missing, how much of each experiment."""
    lacks = Counter((one.part.partition(":")[0], one.lacks) for one in missing)
    return ", ".join(
        f"{count} part{'s' * (count != 1)} of {row} {'lack' if count != 1 else 'lacks'} {what}"
        for (row, what), count in lacks.items()
    )


def _all(count: int) -> str:
    return "the one thing printed holds" if count == 1 else f"all {count} things printed hold"


def _failures(checks: Sequence[CheckDocument]) -> str:
    """What fails, each with its number."""
    failed = [check for check in checks if check.holds is False]
    told = "; ".join(
        f"{check.what} is {number(check.measured, 4)}, wanted {check.wanted}" for check in failed
    )
    return f"{len(failed)} of {len(checks)} things printed fail ({told})"


def _arguments(named: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in named.items() if key not in ("rule", "drawing")}


def _figure(table: Mapping[str, Any]) -> SourceFigure:
    silent = table.get("silent", "")
    words = papers.tables("figures")["silent"].get(silent, silent)
    return papers.built(SourceFigure, {**table, "silent": words})


FIGURES: Mapping[str, SourceFigure] = MappingProxyType(
    {one["name"]: _figure(one) for one in papers.tables("figures")["figures"]}
)
"""The figures by name, in the order of the sources."""


def chosen_figures(names: Sequence[str]) -> tuple[SourceFigure, ...]:
    """The figures of these names, all if none is named.

    Raises
    ------
    ValueError
        If there is none of that name; in one line.

    Examples
    --------
    >>> [figure.source for figure in chosen_figures(["p2-5b"])]
    ['P2 Fig. 5b']
    """
    if not names:
        return tuple(FIGURES.values())
    return tuple(FIGURES[choose("FIGURE", name, FIGURES)] for name in names)


# For people ---------------------------------------------------------------------------------------

_STYLES = {"reproduced": "green", "not reproduced": "red", "undecidable here": ""}


def figures_table(result: FiguresPrinted) -> list[RenderableType]:
    """One line a figure, then what has to be run for those that are undecidable."""
    from rich.text import Text

    from peerbayes.tables import names_table

    table = names_table("", "figure", "verdict", "what it shows, and why")
    table.columns[1].no_wrap = True
    for one in result.figures:
        words = Text(f"{one.source}: {one.shows}\n  {one.sentence}")
        table.add_row(one.name, Text(one.verdict, style=_STYLES[one.verdict]), words)
    counts = Counter(one.verdict for one in result.figures)
    told = [f"{counts[verdict]} {verdict}" for verdict in get_args(Outcome) if counts[verdict]]
    shown: list[RenderableType] = [table, Text(", ".join(told))]
    commands = dict.fromkeys(lack.command for one in result.figures for lack in one.missing)
    if commands:
        shown.append(Text("\n".join(("What is missing is made by", *commands))))
    return shown
