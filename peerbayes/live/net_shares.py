"""From an experiment's row or a net file to its agents' shares; torch is not needed for that.

A share names what is trained and on which data; an agent's process reads the data itself, and
keeps its own part of them (:mod:`peerbayes.live.net_training`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peerbayes.experiments.net_rows import RECIPE_NAMES, ROWS, Part, Row, part_values
from peerbayes.live.members import Members
from peerbayes.live.share import Share
from theory.network import Network
from theory.scientific import sparse
from theory.validation import as_integer, fail

DEFAULT_RECIPE = "best"
_SHORT = 16


def net_shares(
    problem: str, *, seed: int | None = None, recipe: str | None = None, data: Path | None = None
) -> tuple[Share, ...]:
    """Every agent's share of a training, in the network's order.

    Parameters
    ----------
    problem
        The name of a row, of which the main network is taken; or the path of a net file.
    seed
        Of all that is random, at least 0; left out: 0, or that of the file. The first part of
        ``peerbayes run`` with the same seed has the same numbers.
    recipe
        Of a row: a name of :mod:`peerbayes.experiments.net_rows`.
    data
        Folder of the files of MNIST and Fashion-MNIST; left out: the usual places.

    Raises
    ------
    ValueError
        If the network changes by itself, a server averages, or messages are written by a codec; or
        as :func:`~peerbayes.nets.reading.read_net_file`.
    """
    if seed is not None:
        as_integer("seed", seed, minimum=0)
    where = None if data is None else str(data.resolve())
    if problem in ROWS:
        return _of_row(ROWS[problem], seed or 0, recipe or DEFAULT_RECIPE, where)
    if recipe is not None:
        raise fail("recipe", "one of an experiment's row", repr(recipe), "leave it out")
    return _of_file(Path(problem), seed, data, where)


def _of_row(row: Row, seed: int, recipe: str, data: str | None) -> tuple[Share, ...]:
    if recipe not in RECIPE_NAMES:
        raise fail("recipe", ", ".join(RECIPE_NAMES), repr(recipe), "choose one of them")
    variant = row.variant(row.main)
    if row.is_federated or "rotating_star" in variant.network:
        wanted, remedy = "a row with a fixed network", "take a star or a grid"
        raise fail(row.name, wanted, "a network that changes by a plan", remedy)
    from empirical.data import CHECKSUMS
    from peerbayes.experiments.net_run import network_of

    network = network_of(variant.network)
    assert isinstance(network, Network)
    values = part_values(row, Part(recipe, "cooperating", row.main, 0), is_quick=False)
    what = {
        "row": row.name,
        "variant": row.main,
        "recipe": recipe,
        "seed": seed,
        "values": values,
        "hidden": list(row.hidden),
        "dealing": variant.dealing,
        "images": dict(CHECKSUMS[row.dataset]),
    }
    content = {"form": "row", "data": data, "rounds": values["rounds_run"], **what}
    return _shares(row.name, network, what, content, names=network.names)


def _of_file(
    path: Path, seed: int | None, data: Path | None, where: str | None
) -> tuple[Share, ...]:
    from peerbayes.nets.reading import read_net_file

    problem = read_net_file(path, directory=data, seed=seed)
    if not isinstance(problem.network, Network):
        wanted = "a fixed network: links between processes fail by themselves"
        remedy = "leave network.changes out"
        raise fail(f"{path}: network", wanted, type(problem.network).__name__, remedy)
    if problem.specification.messages is not None:
        wanted, got = "weights as they are, in float32", problem.specification.messages.codec
        raise fail(f"{path}: messages", wanted, repr(got), "leave [messages] out")
    what = {"document": problem.specification.document(), "sources": list(problem.data.sources)}
    content = {
        "form": "file",
        "path": str(path.resolve()),
        "data": where,
        "seed": problem.training.seed,
        "rounds": problem.training.rounds,
    }
    return _shares(problem.name, problem.network, what, content, names=problem.data.names)


def _shares(
    name: str,
    network: Network,
    what: Mapping[str, Any],
    content: Mapping[str, Any],
    *,
    names: tuple[str, ...] | None,
) -> tuple[Share, ...]:
    """Shares that differ in the agent's name alone; `what` is all that numbers depend on."""
    rows = _rows(network)
    weights = [{str(j): weight for j, weight in row.items()} for row in rows]
    text = json.dumps([what, weights], sort_keys=True, default=list)
    members = Members(
        network=hashlib.sha256(text.encode()).hexdigest()[:_SHORT],
        epoch=0,
        names=names or tuple(str(k) for k in range(network.agents)),
        rows=rows,
    )
    return tuple(Share(name, one, "net", members, content=dict(content)) for one in members.names)


def _rows(network: Network) -> tuple[dict[int, float], ...]:
    matrix = sparse.csr_array(network.weights)
    found = []
    for i in range(network.agents):
        some = slice(matrix.indptr[i], matrix.indptr[i + 1])
        pairs = zip(matrix.indices[some].tolist(), matrix.data[some].tolist(), strict=True)
        found.append({j: w for j, w in sorted(pairs) if w > 0})
    return tuple(found)
