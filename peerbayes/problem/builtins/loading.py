"""Problems that go by name wherever a file is accepted.

A built-in is a family of variants (`peerbayes.problem.builtins.families`); a variant goes by its
own name too (``"p2-star a=0.1"``). Families are imported where a name is none of a file.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from peerbayes.messages import input_error, nearest
from peerbayes.problem import is_graph_file
from peerbayes.problem.files import STANDARD_INPUT

if TYPE_CHECKING:
    from peerbayes.problem.problems import (
        AnyProblem,
        ChangingProblem,
        FaultyProblem,
        Problem,
        RegressionProblem,
    )
    from theory.progress import Progress


# Names of the built-in problems, by their kind ---------------------------------------------------


FiniteName: TypeAlias = Literal[
    "two-coins", "p2-star", "p2-grid", "digits", "fashion-mnist", "label-partitions"
]
ChangingName: TypeAlias = Literal["rotating-star", "restless-ring"]
FaultyName: TypeAlias = Literal["liars-torus"]
RegressionName: TypeAlias = Literal["p1-regression", "p2-regression", "diabetes"]


# Problems that go by name wherever a file is accepted --------------------------------------------


def load_problem(
    name_or_path: str | Path, *, data: Path | None = None, progress: Progress | None = None
) -> AnyProblem:
    """The problem of a file, of a built-in (its default variant), or of a named variant.

    Parameters
    ----------
    name_or_path
        Names come first; a file of the same name is reached as ``./name``. A graph file gives a
        network alone.
    data
        Folder of the image files, for built-ins that need them.
    progress
        Called with (done, total) while classifiers are trained.

    Raises
    ------
    ValueError
        In one line, if there is no such problem, or something is wrong with its file or data.

    Examples
    --------
    >>> load_problem("p2-star").network.agents
    9
    """
    if not _ends_as_file(str(name_or_path)):
        from peerbayes.problem.builtins.families import BUILTINS

        family = BUILTINS.get(str(name_or_path))
        if family is not None:
            return family.build((family.default,), data=data, progress=progress)[0]
    found: AnyProblem = load_variants(name_or_path, data=data, progress=progress)[0]
    return found


@overload
def load_variants(
    name_or_path: FiniteName, *, data: Path | None = None, progress: Progress | None = None
) -> tuple[Problem, ...]: ...
@overload
def load_variants(
    name_or_path: ChangingName, *, data: Path | None = None, progress: Progress | None = None
) -> tuple[ChangingProblem, ...]: ...
@overload
def load_variants(
    name_or_path: FaultyName, *, data: Path | None = None, progress: Progress | None = None
) -> tuple[FaultyProblem, ...]: ...
@overload
def load_variants(
    name_or_path: RegressionName, *, data: Path | None = None, progress: Progress | None = None
) -> tuple[RegressionProblem, ...]: ...
@overload
def load_variants(
    name_or_path: str | Path, *, data: Path | None = None, progress: Progress | None = None
) -> tuple[Any, ...]: ...
def load_variants(
    name_or_path: str | Path, *, data: Path | None = None, progress: Progress | None = None
) -> tuple[AnyProblem, ...]:
    """All variants of a built-in; one problem for a file or the name of a variant.

    Parameters and errors as for `load_problem`.

    Examples
    --------
    >>> [problem.name for problem in load_variants("p2-grid")]
    ['p2-grid centre', 'p2-grid side', 'p2-grid corner']
    """
    if not isinstance(name_or_path, str | Path):
        raise input_error(
            "PROBLEM", (), "the name or the file of one", type(name_or_path).__name__,
            "see 'peerbayes list'; a problem itself needs no loading",
        )  # fmt: skip
    text = str(name_or_path)
    if not _ends_as_file(text):
        from peerbayes.problem.builtins.families import BUILTINS

        for family in BUILTINS.values():
            names = family.variants if text == family.name else (text,)
            if names[0] in family.variants:
                return family.build(names, data=data, progress=progress)
    if text and text[-1] in "/\\" and Path(text.rstrip("/\\")).is_file():
        got = "a file, with a slash behind its name"
        raise input_error(text, (), "a file's name", got, "leave out the slash")
    if isinstance(name_or_path, Path) or _looks_like_path(text):
        if is_graph_file(text):
            from peerbayes.problem.reading import read_network

            return (read_network(Path(text)),)
        from peerbayes.problem.reading import read_problem

        return (read_problem(text),)
    raise _unknown(text)


def names_a_problem(name: str) -> bool:
    """Whether this is a problem's file, a built-in, or one of its variants."""
    from peerbayes.problem.builtins.families import BUILTINS

    if name in BUILTINS or any(name in family.variants for family in BUILTINS.values()):
        return True
    return name.endswith((".toml", ".json")) or "/" in name or Path(name[:200]).is_file()


def _ends_as_file(text: str) -> bool:
    """Whether no built-in can have this name."""
    return text.lower().endswith((".toml", ".json")) or is_graph_file(text)


def _looks_like_path(text: str) -> bool:
    # Path("") is the current folder.
    if not text:
        return False
    if text == STANDARD_INPUT:
        return True
    # Not Path(text).suffix: "p2-star a=0.9" has the suffix ".9".
    if _ends_as_file(text) or "/" in text or "\\" in text:
        return True
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return True


def _unknown(text: str) -> ValueError:
    from peerbayes.problem.builtins.families import BUILTINS

    everything = [*BUILTINS, *(v for family in BUILTINS.values() for v in family.variants)]
    guess = nearest(text, BUILTINS) or next(iter(difflib.get_close_matches(text, everything)), None)
    remedy = f"did you mean {guess!r}?" if guess else "see 'peerbayes list'"
    return input_error(
        "PROBLEM", (), f"a file, or a built-in ({', '.join(BUILTINS)})", repr(text), remedy
    )
