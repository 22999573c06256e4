"""`pb.formula`: closed forms of a family, of a matrix, or of a problem's network."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from theory.validation import as_integer, fail

if TYPE_CHECKING:
    from peerbayes.formulas.checked import FormulaResult, SheetResult


def formula(
    topology: str | Path,
    *,
    weights: str | None = None,
    seed: int = 0,
    samples: bool = False,
    **values: int | str | Fraction,
) -> FormulaResult | SheetResult:
    """Closed forms of v, eigenvalues, deviation, rate and sample sizes, checked before shown.

    Parameters
    ----------
    topology
        A family such as ``"star"``, ``"weights"``, a problem's file or name; or ``"risk"``, which
        bounds what learning within a divergence costs, on any network.
    weights
        For ``"weights"``: the matrix, such as ``"1-a a; b 1-b"``.
    seed
        Of the random parameter values at which the formulas are checked.
    samples
        Whether to add how many rounds are enough; `values` may then be of its letters too.
    values
        Exact values of parameters, by name or letter: whole numbers, fractions or text.

    Raises
    ------
    ValueError
        If the topology is unknown, a value is not exact or outside its domain, a parameter is
        foreign, or a number of agents is too large to print.

    Examples
    --------
    >>> star = formula("star", agents=9, edge_confidence="1/2")
    >>> star.as_json()["classes"][0]["stationary"]["expression"]
    '9/25'
    """
    from peerbayes.formulas.checked import formulas

    if not isinstance(topology, str | Path):
        raise fail(
            "topology",
            "the name of a family, or of a problem",
            type(topology).__name__,
            "use 'weights' for any matrix",
        )
    if not isinstance(weights, str | None):
        raise fail(
            "weights",
            "text such as '1-a a; b 1-b'",
            type(weights).__name__,
            "write the matrix as text",
        )
    seed = as_integer("seed", seed, minimum=0)
    texts = {name: str(value) for name, value in values.items()}
    return formulas(str(topology), texts, weights=weights, seed=seed, samples=samples)
