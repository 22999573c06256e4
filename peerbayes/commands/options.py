"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer


def whole_number(minimum: int) -> Callable[[object], int]:
    """Reads an option, with the project's words if it cannot."""

    def parse(text: object) -> int:
        # int() alone would also take underscores and the digits of other scripts.
        plain = re.fullmatch("[+-]?[0-9]{1,30}", str(text))
        value = int(str(text)) if plain else minimum - 1
        if not minimum <= value <= _LARGEST:
            wanted = f"a whole number of at least {minimum}"
            raise typer.BadParameter(f"expected {wanted}, got {str(text)[:60]!r}")
        return value

    return parse


def _real(wanted: str, holds: Callable[[float], bool]) -> Callable[[object], float]:
    """Reads a decimal or a fraction, as problem files take them, if `holds` of its value."""

    def parse(text: object) -> float:
        # float() alone would also take underscores and the digits of other scripts.
        plain = re.fullmatch(r"[0-9]{1,30}/0*[1-9][0-9]{0,29}|[0-9.eE+-]+", str(text))
        above, _, below = str(text).partition("/")
        try:
            # Two whole numbers are divided with one rounding, as the fraction is.
            value = int(above) / int(below) if below else float(above)
        except (ValueError, ArithmeticError):
            plain = None
        if plain is None or not holds(value):
            raise typer.BadParameter(f"expected {wanted}, got {str(text)[:60]!r}")
        return value

    return parse


probability = _real("a number in (0, 1), such as 0.05 or 1/20", lambda x: 0 < x < 1)
share = _real("a number in [0, 1), such as 0.05 or 1/20", lambda x: 0 <= x < 1)
seconds = _real("a number of seconds from 0 to a day", lambda x: 0 <= x <= 86_400)
factor = _real("a number above 0 and below a million", lambda x: 0 < x < 1e6)


def choice(*words: str) -> Callable[[object], str]:
    """Reads one of some words."""

    def parse(text: object) -> str:
        if text not in words:
            wanted = f"one of {', '.join(words)}"
            raise typer.BadParameter(f"expected {wanted}, got {str(text)[:60]!r}")
        return str(text)

    return parse


def batch_sizes(text: object) -> int | tuple[int, ...]:
    """A whole number of at least 1, or several between commas."""
    sizes = tuple(whole_number(1)(part.strip()) for part in str(text).split(","))
    return sizes if len(sizes) > 1 else sizes[0]


def agent_numbers(option: str, text: str | None) -> tuple[int, ...]:
    """Whole numbers between commas; none if the option is left out."""
    from peerbayes.designs.request import agent_list

    return () if text is None else agent_list(option, text)


def distribution(option: str, text: str | None) -> str | tuple[float, ...] | None:
    """A word, or numbers between commas."""
    from peerbayes.designs.request import shares

    given: str | tuple[float, ...] | None = shares(option, text)
    return given


def folder(text: object) -> Path:
    # Path("") is the current folder, which nobody asks for by an empty name.
    if not str(text):
        raise typer.BadParameter("expected the name of a folder, got ''")
    return Path(str(text))


def file(text: object) -> Path:
    if not str(text):
        raise typer.BadParameter("expected the name of a file, got ''")
    return Path(str(text))


# Seeds and counts beyond this are typing errors: they would overflow 64 bits.
_LARGEST = 2**62
SHARED = "Options of every command"
LIMITS = "Limits"
NETS = "Experiments with neural nets"
ProblemArgument = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A TOML or JSON file, or a built-in problem.")
]
Json = Annotated[
    bool,
    typer.Option("--json", help="JSON on standard output alone.", rich_help_panel=SHARED),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        parser=whole_number(0),
        metavar="S",
        help="Seed of what is drawn at random, if anything is.",
        rich_help_panel=SHARED,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        parser=folder,
        metavar="DIR",
        help="Folder for records.",
        rich_help_panel=SHARED,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace a record of another problem, setting or run.",
        rich_help_panel=SHARED,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="No progress, no notices.", rich_help_panel=SHARED),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        parser=folder,
        metavar="DIR",
        help="Folder of the image files, for built-ins that need them.",
        rich_help_panel=SHARED,
    ),
]
Delta = Annotated[
    float,
    typer.Option(
        "--delta",
        parser=probability,
        metavar="D",
        help="Probability of error that sample sizes allow, in (0, 1).",
    ),
]
GivenDelta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        parser=probability,
        metavar="D",
        help="Probability of error that sample sizes allow, in (0, 1); 0.05 if left out.",
    ),
]
Batch = Annotated[
    Any,
    typer.Option(
        "--batch",
        parser=batch_sizes,
        metavar="B",
        help="Observations a round, in place of the problem's: a number, or one an agent: 4,4,1.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="NAME",
        help="Hypothesis to settle on; left out: what the network settles on now.",
    ),
]
DEFAULT_DELTA = 0.05
DEFAULT_OUT = Path("peerbayes-out")
