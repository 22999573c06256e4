"""The curves of the FedAvg slides, and those of GAE."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from peerbayes.experiments.gae_rows import AUTOENCODER, TABLE_1
from peerbayes.experiments.net_rows import ROWS
from peerbayes.sources.documents import (
    CheckDocument,
    CurveDocument,
    LevelDocument,
    MissingDocument,
    PanelDocument,
    accuracy_check,
)
from peerbayes.sources.figure import Judge, SourceFigure
from peerbayes.sources.kept import (
    Kept,
    Need,
    Reading,
    accuracies,
    accuracy_curves,
    accuracy_panel,
)

_SPLITS = (("fedavg-iid", "IID"), ("fedavg-shards", "shards"))
_KEY = "accuracies after consensus"
_BEST = (Reading("best recorded round", when="after", best=True),)


def _slides_judge(epochs: str) -> Judge:
    def judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
        return [
            accuracy_check(
                f"accuracy [%], {split}, {epochs}",
                ROWS[row].variant(epochs).printed["server"],
                accuracies(kept.runs(Need(row, epochs, _KEY)), (0,), reading),
            )
            for row, split in _SPLITS
        ]

    return judge


def _slides_draw(epochs: str) -> Callable[[Kept], list[PanelDocument]]:
    def draw(kept: Kept) -> list[PanelDocument]:
        curves, levels = [], []
        for row, split in _SPLITS:
            curves += accuracy_curves(split, kept.runs(Need(row, epochs, _KEY)), (0,))
            printed = float(ROWS[row].variant(epochs).printed["server"])
            levels.append(LevelDocument(name=f"{split}, printed", value=printed))
        panel = accuracy_panel(f"federated averaging, {epochs}", curves)
        return [panel.model_copy(update={"levels": levels})] if curves else []

    return draw


def _slides(name: str, place: str, epochs: str, shows: str) -> SourceFigure:
    return SourceFigure(
        name,
        f"FedAvg slides, Fig. 4 ({place})",
        shows,
        tuple(Need(row, epochs, _KEY) for row, _ in _SPLITS),
        _slides_judge(epochs),
        _slides_draw(epochs),
        _BEST,
        "The slides do not say how many rounds they ran.",
    )


# GAE ----------------------------------------------------------------------------------------------


def _gae_judge(kept: Kept, reading: Reading) -> list[CheckDocument]:
    """Table 1, whose accuracies are the ends of the curves."""
    checks = []
    for run in TABLE_1:
        values = [100 * one.accuracy for one in kept.gae.named(run.name)]
        percent = re.sub(r"^\.(..)(..)$", r"\1.\2", run.printed)
        checks.append(accuracy_check(f"accuracy [%], {run.name}", percent, values))
    return checks


def _gae_draw(kept: Kept) -> list[PanelDocument]:
    curves = []
    for run in TABLE_1:
        own = kept.gae.named(run.name)
        if own:
            along = [float(n) for n in own[0].rounds]
            means = [[np.mean(nodes) for nodes in one.accuracies] for one in own]
            values = 100 * np.mean(means, axis=0)
            name, dashed = run.name, not run.name.startswith("GAE")
            curves.append(CurveDocument.of(name, along, values, dashed=dashed))
    return [accuracy_panel("GAE and its baselines", curves)] if curves else []


def _gae_missing(kept: Kept) -> list[MissingDocument]:
    found = []
    for run in TABLE_1:
        if not kept.gae.named(run.name):
            command = f'peerbayes run gae --part "{run.name} seed 0"'
            if run.needs_autoencoder and AUTOENCODER not in kept.gae.autoencoders:
                command = f"peerbayes run gae --part {AUTOENCODER}, then {command}"
            found.append(
                MissingDocument(part=f"gae: {run.name} seed 0", lacks="the record", command=command)
            )
    return found


FIGURES: tuple[SourceFigure, ...] = (
    _slides(
        "slides-4a", "up", "E=1",
        "Learning curves of federated averaging with one local epoch: 97.72 (IID), 95.82 (shards).",
    ),
    _slides(
        "slides-4b", "down", "E=5",
        "The same with five local epochs: 97.97 (IID), 95.31 (shards).",
    ),
    SourceFigure(
        "gae-4", "GAE Fig. 4",
        "Accuracy over 300 rounds: central, and rings of 4 and 16 with pruned or autoencoded"
        " weights. The ends of the curves are Table 1.",
        (), _gae_judge, _gae_draw, missing=_gae_missing,
    ),
)  # fmt: skip
