"""The papers' label partitions with a finite set of hypotheses.

Agents hold images of some labels only. What an agent sees of an image is its look, and a hypothesis
says how likely each label is for each look. Images of all agents together are those of one learner
whose labels have the frequencies c_y = Σ_j v_j P_j(y) (docs: mathematics/label-partitions); so the
best reader of looks, and the network's compromise, is the first of these:

=====================  ====================================================================
hypothesis             ℓ(y | x)
=====================  ====================================================================
``calibrated``         c_y q(x | y) / Σ c q: what such a learner comes to believe
``even``               q(x | y) / Σ q: all labels equally frequent (left out where c is so)
``a and b alike``      as calibrated, with the two labels' odds the same for every look
``a before b``         as calibrated, with the odds of a against b 8 times as high
=====================  ====================================================================

The last two are there for the six pairs of labels whose looks are the most alike. An agent that
holds a and has never seen b prefers ``a before b`` and is outvoted: that is a dispute
(`theory.learnability.learnability`). All numbers are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.problem.builtins.label_forecast import EVEN, TILT, Pair, alike_pairs, label_reader
from peerbayes.problem.builtins.label_partitions import (
    LABELS,
    LOOKS,
    PARTITIONS,
    LabelPartition,
    Looks,
    label_weights,
)

if TYPE_CHECKING:
    from peerbayes.problem.finite import Problem
    from theory.progress import Progress

Reader = list[list[Fraction]]

# How many pairs of labels have hypotheses.
_PAIRS = 6


@dataclass(frozen=True)
class LabelBuiltin:
    """One problem file a partition, written when it is asked for."""

    name: str
    title: str
    default: str
    needs_data: bool = False

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants' names, in order."""
        return tuple(f"{self.name} {partition}" for partition in PARTITIONS)

    def build(
        self, names: tuple[str, ...], *, data: Path | None, progress: Progress | None
    ) -> tuple[Problem, ...]:
        """The problems of some of the variants."""
        from peerbayes.problem.finite import Problem
        from peerbayes.problem.problems import of_kind
        from peerbayes.problem.reading import problem_from_document

        problems = []
        for name in names:
            partition = PARTITIONS[name.removeprefix(f"{self.name} ")]
            problem = problem_from_document(
                label_document(partition, name=name),
                source=name,
                family=self.name,
                parameters={"partition": partition.name},
            )
            problems.append(of_kind(problem, Problem, name))
        return tuple(problems)


@cache
def _named_pairs(dataset: str) -> tuple[Pair, ...]:
    return alike_pairs(dataset)[:_PAIRS]


def label_document(partition: LabelPartition, *, name: str) -> dict[str, Any]:
    """The problem file of a partition: exact numbers as strings."""
    looks, weights = LOOKS[partition.dataset], label_weights(partition)
    calibrated = label_reader(looks, weights)
    readers = {"calibrated": calibrated}
    if len(set(weights)) > 1:
        readers["even"] = label_reader(looks, EVEN)
    words = LABELS[partition.dataset]
    for a, b in _named_pairs(partition.dataset):
        share = weights[a] / (weights[a] + weights[b])
        readers[f"{words[a]} and {words[b]} alike"] = _split(calibrated, a, b, share=share)
        for first, second in ((a, b), (b, a)):
            before = f"{words[first]} before {words[second]}"
            readers[before] = _split(calibrated, first, second)
    tables = [[[str(entry) for entry in row] for row in table] for table in readers.values()]
    return {
        "name": name,
        "title": f"who holds which labels: {partition.name} of the papers, by the looks of images",
        "network": dict(partition.network),
        "model": {
            "hypotheses": list(readers),
            "agents": [
                {"count": count, **_holder(looks, held), "likelihood": tables}
                for count, held in partition.holders
            ],
        },
    }


def _split(reader: Reader, a: int, b: int, *, share: Fraction | None = None) -> Reader:
    """The reader with what a and b have together for a look divided anew.

    a gets `share` of it, the same for every look; or if None, odds of a against b `TILT` times as
    high as before.
    """
    rows = []
    for row in reader:
        both, new = row[a] + row[b], list(row)
        if both:
            tilted = TILT * row[a] / (TILT * row[a] + row[b])
            new[a] = both * (tilted if share is None else share)
            new[b] = both - new[a]
        rows.append(new)
    return rows


def _holder(looks: Looks, held: tuple[int, ...]) -> dict[str, Any]:
    """P(x) and f(y | x) of an agent that holds these labels, all equally often."""
    inputs, truth = [], []
    for x in range(10):
        counts = [looks[y][x] if y in held else 0 for y in range(10)]
        total = sum(counts)
        inputs.append(str(Fraction(total, 1000 * len(held))))
        # Of looks that it never meets any label may be said to be true.
        row = [Fraction(k, total) if total else Fraction(1, 10) for k in counts]
        truth.append([str(entry) for entry in row])
    return {"inputs": inputs, "truth": truth}
