"""Results as tables for people, laid out by :mod:`peerbayes.layout`.

Each function takes the JSON object of a command, so that tables and ``--json`` cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

# More agents than this are summed up by smallest and largest.
_MOST_LISTED = 12


def number(value: float | None) -> str:
    """A number for people, or a dash for null."""
    return "-" if value is None else f"{value:.4g}"


def rounds(value: int | None) -> str:
    """A number of rounds, or a dash for null."""
    return "-" if value is None else f"{value:,}".replace(",", " ")


def interval(ends: Sequence[int] | None) -> str:
    """Both ends of an interval of rounds, or a dash for null."""
    return "-" if ends is None else f"{rounds(ends[0])} to {rounds(ends[1])}"


def spread(values: Sequence[float | None]) -> str:
    """All of a few values, or the range of many."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    if len(values) <= _MOST_LISTED:
        return " ".join(number(value) for value in values)
    return f"{number(min(known))} to {number(max(known))}"


def agent_names(numbers: Sequence[int | str]) -> str:
    """Agents by their numbers, so that agent 0 is not taken for none; the first of many.

    >>> agent_names([0]), agent_names([0, 3]), agent_names([])
    ('agent 0', 'agents 0, 3', 'none')
    """
    if not numbers:
        return "none"
    shown = ", ".join(map(str, numbers[:_MOST_LISTED]))
    more = ", …" * (len(numbers) > _MOST_LISTED)
    return f"agent{'s' * (len(numbers) > 1)} {shown}{more}"


def figures_table(title: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are figures."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(
            column, justify="right" if index else "left", overflow="fold", no_wrap=bool(index)
        )
    return table


def facts_table(title: str, facts: Mapping[str, str]) -> Table:
    """Names and what is to be said of them, line by line."""
    table = Table(title=title, title_justify="left", box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(Text(name), Text(fact))
    return table


def notes_text(notes: Sequence[str]) -> Text:
    """Notes, a line each."""
    return Text("\n".join(f"note: {note}" for note in notes))


def analysis_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The tables of `analyse`."""
    network, learning, samples = result["network"], result["learning"], result["samples"]
    facts = {
        "agents": str(network["agents"]),
        "stationary distribution v": spread(network["stationary_distribution"]),
        "subdominant modulus": number(network["slem"]),
        "second eigenvalue": number(network["second_eigenvalue"]),
        "deviation D_i (rounds)": spread(network["deviation"]),
        "reversible": "yes" if network["reversible"] else "no",
    }
    names = learning["optimal_hypotheses"] or learning["compromise"]
    kind = "optimal hypotheses" if learning["optimal_hypotheses"] else "network compromise"
    facts |= {
        kind: ", ".join(names),
        "learning rate K": f"{number(learning['rate'])} nats a round"
        + _bound_by(learning["binding_hypothesis"]),
        "error exponent E": f"{number(learning['error_exponent'])} nats a round"
        + _bound_by(learning["binding_for_exponent"]),
    }
    facts |= indistinguishable(learning)
    rates = sorted(learning["rates"].items(), key=lambda item: item[1])
    exponents = learning["exponents"]
    parts: list[RenderableType] = [facts_table(result["problem"], facts), Text()]
    if rates:
        rows = [(name, number(rate), number(exponents.get(name))) for name, rate in rates]
        parts.append(rejection_table(rows))
    return [*parts, ladder_table(samples, rounds), notes_text(result["notes"])]


def indistinguishable(learning: Mapping[str, Any]) -> dict[str, str]:
    """A fact about hypotheses that no agent tells apart, if there are any."""
    pairs = [" and ".join(pair) for pair in learning["ambiguous_pairs"]]
    return {"nobody can tell apart": "; ".join(pairs)} if pairs else {}


def rejection_table(rows: Sequence[tuple[str, str, str]]) -> Table:
    """Each wrong hypothesis with its rate and its exponent."""
    table = figures_table("Rejection of hypotheses, nats a round", "hypothesis", "rate", "exponent")
    for name, rate, exponent in rows:
        table.add_row(Text(name), rate, exponent)
    return table


def ladder_table(samples: Mapping[str, Any], write: Callable[[Any], str]) -> Table:
    """The ladder of sample sizes, each rung in the words of `write`."""
    title = f"Rounds for an error of at most {samples['delta']:g}"
    table = figures_table(title, "statement", "rounds")
    for name, meaning in (
        ("printed", "printed in the paper, not a theorem"),
        ("repaired", "repaired (Hoeffding)"),
        ("chernoff", "Chernoff"),
    ):
        table.add_row(meaning, write(samples[name]))
    table.add_row("certified, both ends", interval(samples["certified"]))
    return table


def _bound_by(name: str | None) -> str:
    return "" if name is None else f", bound by: {name}"


def simulation_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The tables of `simulate`."""
    chance = result["error_probability"]
    facts = {
        "rounds, replicates, seed": f"{result['rounds']}, {result['replicates']}, {result['seed']}",
        "reference": ", ".join(result["reference"]),
        "some agent is wrong": f"{number(chance['estimate'])}, with "
        f"{100 * chance['confidence']:g} % confidence {number(chance['lower'])} to "
        f"{number(chance['upper'])}",
    }
    if result["record"]:
        facts["record"] = result["record"]
    table = figures_table(
        "Measured rates of rejection over agents, nats a round",
        "hypothesis",
        "mean",
        "lowest",
        "highest",
        "standard error",
    )
    for name, rate in result["rates"].items():
        mean, errors = rate["mean"], [e for e in rate["standard_error"] if e is not None]
        table.add_row(
            Text(name),
            number(sum(mean) / len(mean)),
            number(min(mean)),
            number(max(mean)),
            number(max(errors, default=None)),
        )
    return [facts_table(result["problem"], facts), Text(), table, notes_text(result["notes"])]


def limit_sign(statement: Mapping[str, Any]) -> str:
    """What stands before a prediction that is a limit; older records have upper ones alone."""
    if statement["kind"] != "bound":
        return ""
    return "≥ " if statement.get("side") == "lower" else "≤ "


def verdict(statement: Mapping[str, Any]) -> str:
    """The verdict on one statement, in a word."""
    if statement["holds"] is None:
        return "not run"
    if statement["holds"]:
        return "holds"
    return "BROKEN" if statement["is_theorem"] else "fails*"


def verification_parts(
    statements: Sequence[Mapping[str, Any]], *, every: bool
) -> list[RenderableType]:
    """The tables of `verify`: `every` statement, or a line a problem and what does not hold."""
    parts: list[RenderableType] = []
    groups = [(name, list(group)) for name, group in groupby(statements, lambda s: s["problem"])]
    if every:
        parts += [_statement_table(name, group) for name, group in groups]
    else:
        table = figures_table(
            "Theory beside simulation", "problem", "statements", "hold", "broken", "not run"
        )
        for name, group in groups:
            table.add_row(
                Text(name),
                str(len(group)),
                *(
                    str(sum(verdict(statement) == word for statement in group))
                    for word in ("holds", "BROKEN", "not run")
                ),
            )
        parts.append(table)
        failing = [statement for statement in statements if statement["holds"] is False]
        if failing:
            parts.append(_statement_table("What does not hold", failing, with_problem=True))
    if any(verdict(statement) == "fails*" for statement in statements):
        parts.append(Text("* not a theorem: published as one, or an allowance in place of a bound"))
    return parts


def sweep_parts(sweeps: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """For each sweep: what it settles on, the slowest rejection, and E, as a moves."""
    parts: list[RenderableType] = []
    for sweep in sweeps:
        table = figures_table(
            sweep["name"], "a", "v₁", "settles on", "K pred.", "measured", "st. error", "E"
        )
        for a, weight, settled, slowest, exponent in zip(
            sweep["edge_confidence"],
            sweep["centre_weight"],
            sweep["settled"],
            sweep["slowest"],
            sweep["exponent"],
            strict=True,
        ):
            rate = slowest or {"predicted": None, "measured": None, "standard_error": None}
            table.add_row(
                f"{a:g}",
                f"{weight:.4f}",
                Text(" or ".join(settled)),
                number(rate["predicted"]),
                number(rate["measured"]),
                number(rate["standard_error"]),
                number(exponent),
            )
        parts.append(table)
    return parts


def claims_parts(claims: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """The table of `verify --claims`: verdict, statement and source, one witness in a line."""
    table = Table(
        title="Published statements on trial",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("verdict", no_wrap=True)
    table.add_column("statement, source and witness", overflow="fold")
    short = {"holds under an added condition": "holds if …", "undecided from the text": "undecided"}
    for claim in claims:
        words = short.get(claim["verdict"], claim["verdict"])
        if not claim["confirmed"]:
            words = "NOT CONFIRMED"
        lines = [f"{claim['statement']} ({claim['source']})", f"  {claim['witness']}"]
        if claim["condition"]:
            lines.append(f"  right if {claim['condition']}")
        style = "" if claim["confirmed"] else "bold red"
        table.add_row(Text(words, style=style), Text("\n".join(lines)))
    published = [claim for claim in claims if claim["published"]]
    counts = ", ".join(
        f"{sum(c['verdict'] == verdict for c in published)} {words}"
        for verdict, words in (
            ("holds", "hold"),
            ("holds under an added condition", "hold under an added condition"),
            ("fails", "fail as printed"),
            ("undecided from the text", "undecided from the text"),
        )
    )
    cases = rounds(sum(claim["cases"] for claim in claims))
    unconfirmed = sum(not claim["confirmed"] for claim in claims)
    state = f"{unconfirmed} verdicts NOT CONFIRMED" if unconfirmed else "every verdict confirmed"
    summary = f"of {len(published)} published statements {counts}; {cases} cases tried, {state}"
    return [table, Text(summary)]


def _statement_table(
    title: str, statements: Sequence[Mapping[str, Any]], *, with_problem: bool = False
) -> Table:
    table = figures_table(title, "statement", "predicted", "measured", "st. error", "verdict")
    for statement in statements:
        words = statement["statement"]
        if with_problem:
            words = f"{statement['problem']}: {words}"
        table.add_row(
            Text(words),
            limit_sign(statement) + number(statement["predicted"]),
            number(statement["measured"]),
            number(statement["standard_error"]),
            Text(verdict(statement), style="bold red" if statement["holds"] is False else ""),
        )
    return table


def list_parts(problems: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """The table of `list`."""
    table = Table(
        title="Built-in problems", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("name", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    table.add_column("variants", justify="right")
    for problem in problems:
        table.add_row(problem["name"], problem["title"], str(len(problem["variants"])))
    hint = Text("Variants go by name too (see 'peerbayes list --json').")
    return [table, hint]
