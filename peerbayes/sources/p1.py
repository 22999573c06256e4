"""The figures of P1: two regressions, accuracies and tables of confusion of two nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from peerbayes.experiments.net_rows import ROWS
from peerbayes.sources.documents import (
    CheckDocument,
    LevelDocument,
    PanelDocument,
    above,
    accuracy_check,
    undecided,
)
from peerbayes.sources.figure import Judge, SourceFigure
from peerbayes.sources.kept import (
    AS_PRINTED,
    BATCHWISE,
    OF_TWO_NODES,
    Kept,
    Need,
    Reading,
    accuracies,
    accuracy_curves,
    accuracy_panel,
    confusion,
    share_right,
    taken_for,
)

_NODES = (("node 1", (0,)), ("node 2", (1,)))
_SILENT = "P1 prints neither rounds nor batches nor learning rates; ours are choices."
_CONFUSION = "tables of confusion before consensus"
_CENTRAL = Need("fmnist-central", key="accuracies after consensus")
_SHIRTS = (0, 2, 3, 4, 6)
# "High accuracy" of a label: not more than so many points below one node with all data.
_HIGH = 10.0


def _together(name: str, reading: Reading = AS_PRINTED) -> Need:
    return Need(name, role=reading.role)


def _accuracy_judge(name: str, *extra: Callable[[Kept, Reading], CheckDocument]) -> Judge:
    """Both nodes' printed accuracies, and what else the text says."""

    def judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
        runs = kept.runs(_together(name, reading))
        printed = ROWS[name].variants[0].printed
        checks = [
            accuracy_check(
                f"accuracy of {node} [%]", printed[node], accuracies(runs, agents, reading)
            )
            for node, agents in _NODES
        ]
        return checks + [one(kept, reading) for one in extra]

    return judge


def _first_is_better(kept: Kept, reading: Reading) -> CheckDocument:
    """Node 1 above node 2, which P1 explains by the tables of confusion."""
    runs = kept.runs(_together("fmnist-2-balanced-a", reading))
    first, second = (accuracies(runs, agents, reading) for _, agents in _NODES)
    gap = float(np.mean(first) - np.mean(second)) if runs else None
    return above(
        "accuracy of node 1 less that of node 2 [points]", "16: 83 less 67", gap, 0.0,
        "the sign: P1 explains why node 2 is poorer",
    )  # fmt: skip


def _pulled_up(kept: Kept, reading: Reading) -> CheckDocument:
    """Node 2 above what two labels of ten can give."""
    runs = kept.runs(_together("fmnist-2-unbalanced", reading))
    values = accuracies(runs, (1,), reading)
    mean = float(np.mean(values)) if values else None
    return above(
        "accuracy of node 2, which holds two labels of ten [%]",
        "a single expert can pull up the accuracy of other nodes", mean, 30.0,
        "alone it has 20 at most; ten points more cannot be chance",
    )  # fmt: skip


def _accuracy_draw(name: str) -> Callable[[Kept], list[PanelDocument]]:
    def draw(kept: Kept) -> list[PanelDocument]:
        runs = kept.runs(_together(name))
        curves = [
            curve
            for node, agents in _NODES
            for curve in accuracy_curves(node, runs, agents)
        ]  # fmt: skip
        printed = ROWS[name].variants[0].printed
        panel = accuracy_panel(ROWS[name].title, curves)
        levels = [
            LevelDocument(name=f"{node}, printed", value=float(printed[node])) for node, _ in _NODES
        ]
        return [panel.model_copy(update={"levels": levels})] if curves else []

    return draw


# Tables of confusion ------------------------------------------------------------------------------


def _confused(name: str, reading: Reading = AS_PRINTED) -> Need:
    return Need(name, key=_CONFUSION, role=reading.role)


def _table_draw(name: str, agent: int) -> Callable[[Kept], list[PanelDocument]]:
    def draw(kept: Kept) -> list[PanelDocument]:
        runs = kept.runs(_confused(name))
        if not runs:
            return []
        return [
            PanelDocument(
                title=f"node {agent + 1}, before consensus",
                x="predicted class",
                y="true class",
                confusion=confusion(runs, agent).tolist(),
                classes=list(runs[0].classes),
                held=list(runs[0].network.labels[agent]),
            )
        ]

    return draw


def _taken(
    name: str, agent: int, true: Sequence[int], guesses: Sequence[int], printed: str
) -> Callable[[Kept, Reading], list[CheckDocument]]:
    """The share of some labels that is taken for others, as a line."""
    labels = ", ".join(map(str, true))
    others = " or ".join((", ".join(map(str, guesses[:-1])), str(guesses[-1])))
    what = f"{labels} taken for {others.removeprefix(' or ')} at node {agent + 1} [%]"

    def check(kept: Kept, reading: Reading) -> list[CheckDocument]:
        runs = kept.runs(_confused(name, reading))
        share = taken_for(confusion(runs, agent, reading), true, guesses) if runs else None
        reason = "“misclassifies”, “often”: more than one image in two"
        return [above(what, printed, share, 50.0, reason)]

    return check


def _right(
    name: str, agent: int, labels: Sequence[int], words: str, printed: str
) -> Callable[[Kept, Reading], list[CheckDocument]]:
    """The label that is recognised worst beside one node with all data."""

    def check(kept: Kept, reading: Reading) -> list[CheckDocument]:
        runs, central = kept.runs(_confused(name, reading)), kept.runs(_CENTRAL)
        what = f"share right less the central node’s, {words}, node {agent + 1} [points]"
        if not runs or not central:
            return [undecided(f"least {what}", printed)]
        own = share_right(confusion(runs, agent, reading), labels)
        best = share_right(confusion(central, 0, AS_PRINTED), labels)
        gaps = [a - b for a, b in zip(own, best, strict=True)]
        worst = labels[int(np.argmin(gaps))]
        reason = f"“high accuracy”: at most {_HIGH:g} points below one node with all data"
        return [above(f"least {what}, of label {worst}", printed, min(gaps), -_HIGH, reason)]

    return check


def _all_of(*judges: Judge) -> Judge:
    return lambda kept, reading: [check for judge in judges for check in judge(kept, reading)]


def _table(
    letter: str, name: str, agent: int, shows: str, judge: Judge, remark: str = ""
) -> SourceFigure:
    return SourceFigure(
        f"p1-4{letter}",
        f"P1 Fig. 4{letter}",
        shows,
        (_confused(name), _CENTRAL),
        judge,
        _table_draw(name, agent),
        tuple(one for one in OF_TWO_NODES if not one.best),
        _SILENT,
        remark,
        elsewhere=tuple(_confused(name, one) for one in BATCHWISE),
    )


_A, _B = "fmnist-2-balanced-a", "fmnist-2-balanced-b"

FIGURES: tuple[SourceFigure, ...] = (
    SourceFigure(
        "p1-2",
        "P1 Fig. 2",
        "Accuracy of two nodes over the rounds, labels 0–7 and 8, 9: 85.8 and 85.2.",
        (_together("fmnist-2-unbalanced"),),
        _accuracy_judge("fmnist-2-unbalanced", _pulled_up),
        _accuracy_draw("fmnist-2-unbalanced"),
        OF_TWO_NODES,
        _SILENT,
        elsewhere=tuple(_together("fmnist-2-unbalanced", one) for one in BATCHWISE),
    ),
    SourceFigure(
        "p1-3a",
        "P1 Fig. 3a",
        "Accuracy of two nodes over the rounds, labels 0–4 and 5–9: 83 and 67.",
        (_together(_A),),
        _accuracy_judge(_A, _first_is_better),
        _accuracy_draw(_A),
        OF_TWO_NODES,
        _SILENT,
        elsewhere=tuple(_together(_A, one) for one in BATCHWISE),
    ),
    SourceFigure(
        "p1-3b",
        "P1 Fig. 3b",
        "Accuracy of two nodes, labels 0, 2, 3, 4, 6 and the others: 85.78 and 85.86.",
        (_together(_B),),
        _accuracy_judge(_B),
        _accuracy_draw(_B),
        OF_TWO_NODES,
        _SILENT,
        elsewhere=tuple(_together(_B, one) for one in BATCHWISE),
    ),
    _table(
        "a", _A, 0,
        "Confusion at node 1, labels 0–4: 6 is taken for 0, 2, 3 and 4, all else is right.",
        _all_of(
            _taken(_A, 0, (6,), (0, 2, 3, 4), "it misclassifies class 6 as {0, 2, 3, 4}"),
            _right(_A, 0, (0, 1, 2, 3, 4, 5, 7, 8, 9), "all labels but 6",
                   "other classes get classified correctly with high accuracy"),
        ),
    ),
    _table(
        "b", _A, 1,
        "Confusion at node 2, labels 5–9: 0, 2, 3 and 4 are often taken for 6.",
        _taken(_A, 1, (0, 2, 3, 4), (6,), "these classes often get misclassified as class 6"),
    ),
    _table(
        "c", _B, 0,
        "Confusion at node 1, labels 0, 2, 3, 4, 6: these are right.",
        _right(_B, 0, _SHIRTS, "labels 0, 2, 3, 4, 6", "it obtains high accuracy in those classes"),
    ),
    _table(
        "d", _B, 1,
        "Confusion at node 2, the other labels: 0, 2, 3, 4, 6 are right as well.",
        _right(_B, 1, _SHIRTS, "labels 0, 2, 3, 4, 6", "it no longer misclassifies the classes"),
    ),
)  # fmt: skip
