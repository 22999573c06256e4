"""W as JSON has it, and as text that can be pasted into a problem file.

Every row sums to one as it is shown. Small networks are shown entry by entry; of larger ones whom
each agent hears, and of very large ones, and of many phases, the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from peerbayes.designs.shared import Agents, called
from peerbayes.documents import MOST_DENSE, Document, Numbers, numbers
from theory.network.structure import Weights, as_dense
from theory.scientific import sparse

# Fractions with such a denominator are shorter than decimals, and exact.
_SIMPLE = 999
_DIGITS = 6
_MOST_DIGITS = 15
# Doubles of a fraction differ from it by a unit or two in the last place.
_ROUNDING = 4 * 2.0**-52
# Of more agents it is listed whom they hear.
_MOST_COLUMNS = 12
MOST_PHASES = 6


class LinksDocument(Document):
    """W by its positive entries, those on oneself among them."""

    listener: Agents
    speaker: Agents
    weight: Numbers

    @classmethod
    def of(cls, weights: Weights) -> LinksDocument:
        """The positive entries of a matrix, row by row."""
        table = sparse.coo_array(sparse.csr_array(weights))
        row, column = table.coords
        return cls(listener=row.tolist(), speaker=column.tolist(), weight=numbers(table.data))


def weights_document(weights: Weights) -> list[list[float]] | LinksDocument:
    """W row by row; of more than 100 agents by its positive entries."""
    if weights.shape[0] > MOST_DENSE:
        return LinksDocument.of(weights)
    table: list[list[float]] = as_dense(weights).tolist()
    return table


def _rows_of(weights: list[list[float]] | LinksDocument) -> list[dict[int, float]]:
    """For each agent whom it hears, and with which weight."""
    if isinstance(weights, list):
        return [dict(enumerate(row)) for row in weights]
    rows: list[dict[int, float]] = [{} for _ in range(max(weights.listener, default=-1) + 1)]
    for i, j, weight in zip(weights.listener, weights.speaker, weights.weight, strict=True):
        rows[i][j] = float(weight or 0.0)
    return rows


class ShownWeights(NamedTuple):
    """W of one phase in words.

    Attributes
    ----------
    title
        Which W it is.
    columns
        Whose weights stand in a row; none: each row says whom an agent hears.
    rows
        The agents shown, with their cells.
    left
        How many agents are not shown.
    """

    title: str
    columns: list[str]
    rows: list[tuple[str, tuple[str, ...]]]
    left: int


def shown_weights(document: Any, *, most: int) -> Iterator[ShownWeights]:
    """W of a design, phase by phase, of so many agents at most."""
    phases = document.weights if hasattr(document, "influence") else [document.weights]
    for s, weights in enumerate(phases[:MOST_PHASES]):
        rows = _rows_of(weights)
        names = [called(document, j) for j in range(len(rows))]
        columns = names if len(rows) <= _MOST_COLUMNS else []
        shown = [row_text(row) for row in rows[:most]]
        cells = [
            tuple(row.get(j, "0") for j in range(len(rows)))
            if columns
            else (", ".join(f"{names[j]}: {weight}" for j, weight in row.items()),)
            for row in shown
        ]
        title = f"Weights W of phase {s}" if len(phases) > 1 else "Weights W"
        listed = list(zip(names, cells, strict=False))
        yield ShownWeights(title, columns, listed, len(rows) - len(shown))


def row_text(row: Mapping[int, float]) -> dict[int, str]:
    """The positive weights of one agent, by whom they are on, as numbers that sum to exactly one.

    Fractions where the weights are simple ones; else decimals of six digits, or as many as it takes
    that no weight reads as zero, the last digit of some moved so that the sum is one. Differ from
    the weights by at most one unit of the last digit shown.

    Examples
    --------
    >>> row_text({0: 1 / 3, 1: 2 / 3})
    {0: '1/3', 1: '2/3'}
    >>> row_text({0: 0.12345678, 1: 0.87654322})
    {0: '0.123457', 1: '0.876543'}
    """
    entries = {j: w for j, w in row.items() if w > 0}
    simple = {j: Fraction(w).limit_denominator(_SIMPLE) for j, w in entries.items()}
    if sum(simple.values()) == 1 and all(
        abs(float(simple[j]) - w) <= _ROUNDING * w for j, w in entries.items()
    ):
        return {j: str(share) for j, share in simple.items()}
    digits = _DIGITS
    while digits < _MOST_DIGITS and any(w * 10**digits < 1 for w in entries.values()):
        digits += 1
    unit = 10**digits
    whole = {j: int(w * unit) for j, w in entries.items()}
    # What rounding down leaves goes to the largest remainders, a unit each.
    left = unit - sum(whole.values())
    order = sorted(entries, key=lambda j: whole[j] - entries[j] * unit)
    for j in order[: max(left, 0)]:
        whole[j] += 1
    return {j: f"{count // unit}.{count % unit:0{digits}d}" for j, count in whole.items()}
