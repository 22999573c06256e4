"""`peerbayes formula`: options in, words out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from peerbayes.commands.options import DEFAULT_OUT, Data, Json, Out, Quiet, Seed
from peerbayes.commands.output import (
    CHECK_FAILED,
    DONE,
    print_json,
    print_lines,
    print_tables,
    show,
)


def _parameter(name: str, meaning: str) -> Any:
    """An option of `formula`: text, so that exact values stay exact."""
    return typer.Option(f"--{name}", metavar="X", help=meaning, rich_help_panel="Parameters")


def formula(
    topology: Annotated[
        str,
        typer.Argument(
            metavar="[TOPOLOGY]",
            help="A family, 'weights', a problem, 'risk'; 'list', or nothing, says what there is.",
        ),
    ] = "list",
    agents: Annotated[str | None, _parameter("agents", "Number of agents.")] = None,
    rows: Annotated[str | None, _parameter("rows", "Grid, torus: number of rows.")] = None,
    columns: Annotated[str | None, _parameter("columns", "Grid, torus: of columns.")] = None,
    dimension: Annotated[str | None, _parameter("dimension", "Hypercube: of digits.")] = None,
    edge_confidence: Annotated[
        str | None, _parameter("edge-confidence", "Star: weight of every edge on the centre.")
    ] = None,
    centre_confidence: Annotated[
        str | None, _parameter("centre-confidence", "Star, hub: weight of the centre on itself.")
    ] = None,
    self_confidence: Annotated[
        str | None, _parameter("self-confidence", "Weight of every agent on itself.")
    ] = None,
    hub_weight: Annotated[
        str | None, _parameter("hub-weight", "Hub and ring: weight of the ring on the hub.")
    ] = None,
    neighbour_weight: Annotated[
        str | None, _parameter("neighbour-weight", "Path, grid, ring: weight on a neighbour.")
    ] = None,
    a: Annotated[str | None, _parameter("a", "Two agents: weight of the first.")] = None,
    b: Annotated[str | None, _parameter("b", "Two agents: weight of the second.")] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="LETTER=VALUE", help="Any parameter, by letter or name."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="W", help="The matrix, such as '1-a a; b 1-b'."),
    ] = None,
    samples: Annotated[
        bool,
        typer.Option(
            "--samples", help="Also how many rounds are enough; --set takes its letters too."
        ),
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX on standard output.")] = False,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Closed forms of v, eigenvalues, deviation, rate, sample sizes and risk.

    N stays symbolic where symmetry allows.

    Values are exact: 1/2 or 0.5. Exit code 1 if a formula and exact arithmetic disagree.
    """
    from peerbayes.formulas.checked import families, formulas, read_settings

    named = {
        "agents": agents,
        "rows": rows,
        "columns": columns,
        "dimension": dimension,
        "edge_confidence": edge_confidence,
        "centre_confidence": centre_confidence,
        "self_confidence": self_confidence,
        "hub_weight": hub_weight,
        "neighbour_weight": neighbour_weight,
        "a": a,
        "b": b,
    }
    values = read_settings(named, given or [])
    if topology == "list":
        listing = families(values, weights=weights)
        if json:
            return print_json(listing.as_json())
        from peerbayes.formulas.text import family_parts

        return print_tables(family_parts(listing.families))
    result = formulas(topology, values, weights=weights, seed=seed, samples=samples)
    code = DONE if result.passed else CHECK_FAILED
    if latex and not json:
        from peerbayes.formulas.text import latex_text

        return print_lines(latex_text(result.document()), code)
    return show(result, json=json, code=code)
