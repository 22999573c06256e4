"""Which share an agent is to run: one in a file, or of a problem that is made, in a file, or named.

A problem is read only if it has to be (`peerbayes.live.preparing`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peerbayes.live.members import Share
from theory.validation import fail

_SUFFIX = ".share"


def own_share(
    problem: str,
    agent: str | None,
    data: Path | None,
    *,
    seed: int | None = None,
    recipe: str | None = None,
) -> Share:
    """The share in a file of that kind, or an agent's share of a problem.

    Options are those of `every_share`.

    Raises
    ------
    ValueError
        If there is no such problem, file or agent.
    """
    if problem.endswith(_SUFFIX):
        share = Share.read(problem)
        if agent is not None and agent != share.agent:
            raise fail("--agent", repr(share.agent), repr(agent), "leave it out")
        return share
    if agent is None:
        raise fail("--agent", "an agent's name or number", "none", "name one")
    shares = every_share(problem, data, seed=seed, recipe=recipe)
    return shares[shares[0].members.number(agent)]


def every_share(
    problem: Any,
    data: Path | None = None,
    *,
    seed: int | None = None,
    recipe: str | None = None,
) -> tuple[Share, ...]:
    """All agents' shares of a problem: one that is made, a file's, or one that goes by name.

    Parameters
    ----------
    problem
        May also be the name of an experiment with nets, or a net file.
    seed, recipe
        Of nets (:func:`peerbayes.live.preparing.net_shares`).

    Raises
    ------
    ValueError
        If there is no such problem, it has no live network, or a recipe is named for one without.
    """
    from peerbayes.live.preparing import net_shares, shares_of
    from peerbayes.problem.builtins.loading import load_problem

    if isinstance(problem, str | Path) and is_net(str(problem)):
        return net_shares(str(problem), seed=seed, recipe=recipe, data=data)
    if recipe is not None:
        raise fail("--recipe", "an experiment with nets", repr(recipe), "leave it out")
    found = load_problem(problem, data=data) if isinstance(problem, str | Path) else problem
    return shares_of(found)


def is_net(problem: str) -> bool:
    """Whether this names an experiment with nets, or a net file, and not a problem.

    Examples
    --------
    >>> is_net("star-mnist-1"), is_net("two-coins")
    (True, False)
    """
    from peerbayes.problem.files import read_document

    path = Path(problem)
    if path.suffix.lower() in (".toml", ".json") and path.is_file():
        document = read_document(path)
        return "training" in document and "net" in document
    from peerbayes.experiments.net_rows import ROWS  # costs an agent with a file 6 MB

    return problem in ROWS
