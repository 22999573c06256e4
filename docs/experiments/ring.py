"""Tables of the page on GAE's ring, from the short records in the folder ``gae``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from peerbayes.experiments.gae_documents import GaeContent, GaeRunPart
from peerbayes.experiments.gae_lines import gae_lines
from peerbayes.experiments.gae_rows import RUNS
from peerbayes.sources.kept import Kept

FOUND: GaeContent = Kept(Path(__file__).parent).gae


def lines() -> str:
    """Every line of the parts on record: printed beside measured."""
    text = ["| | printed | measured | ± s.e. | |", "|---|---:|---:|---:|---|"]
    for line in gae_lines(FOUND):
        error = "" if line.standard_error is None else f"{line.standard_error:.4g}"
        cells = [line.what, line.printed, f"{line.measured:.6g}", error, line.remark]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def courses(*rounds: int) -> str:
    """Accuracies after some rounds: the mean over nodes and seeds, and the worst node's."""
    text = ["| run | " + " | ".join(f"round {n}" for n in rounds) + " | worst node at the end |"]
    text.append("|---|" + "---:|" * (len(rounds) + 1))
    for run in RUNS:
        own = FOUND.named(run.name)
        if own:
            means = [_mean(own, n) for n in rounds]
            worst = min(min(one.accuracies[-1]) for one in own)
            text.append(f"| {run.name} | " + " | ".join(means) + f" | {worst:.4f} |")
    return "\n".join(text)


def _mean(runs: Sequence[GaeRunPart], number: int) -> str:
    own = [one.accuracies[one.rounds.index(number)] for one in runs if number in one.rounds]
    return f"{np.mean(own):.4f}" if own else ""
