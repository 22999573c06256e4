"""Problem files with another network: a file's tables as they are, `[network]` made of weights.

Doubles are written with as many digits as bring them back, fractions as text. Weights of many
agents are written link by link. `[network.changes]` stays where it acts on given weights; gossip,
clocks, walks and rotations, whose weights follow from what happens, are written phase by phase.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from peerbayes.problem.changes_section import PhaseSection, SequenceNetwork
from peerbayes.problem.network_section import LinksNetwork, WeightsNetwork
from peerbayes.problem.specification import FileSpecification
from peerbayes.records import check_folder, write_whole
from theory import Network
from theory.changing import ChangingNetwork, MarkovNetwork, PeriodicNetwork
from theory.network.structure import Weights, as_dense
from theory.validation import fail

S = TypeVar("S", bound=FileSpecification)
Rows = Sequence[Sequence[Fraction]]

MOST_ROWS = 100
"""Weights of more agents are written link by link."""
_SUFFIXES = (".toml", ".json")
# Doubles of fractions with such a denominator are written as these.
_SIMPLE = 999


def check_writable(path: Path, *, given: str | Path | None = None) -> None:
    """See that a problem file can be written, before anything takes long.

    Parameters
    ----------
    given
        The file that the problem was read from, which is not written over; None if there is none.

    Raises
    ------
    ValueError
        If the name does not end in .toml or .json, the folder does not exist, or it is the file
        of the problem.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise fail("write", "a name that ends in .toml or .json", str(path)[:80], "rename it")
    if path.is_dir() or not path.parent.is_dir():
        got = f"{path}, {'a folder' if path.is_dir() else 'in a folder that does not exist'}"
        raise fail("write", "a file in an existing folder", got, "name another place")
    check_folder(path.parent)
    if given is not None and path.exists() and Path(given).exists() and path.samefile(given):
        raise fail("write", "another file than the problem's own", str(path), "choose another name")


def write_problem(path: Path, specification: FileSpecification) -> Path:
    """Write a problem file, TOML or JSON by its suffix; it replaces what was there, or nothing.

    Raises
    ------
    ValueError
        If it cannot be written.
    """
    check_writable(path)
    document = _without_nulls(specification.document())
    if path.suffix.lower() == ".json":
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        import tomli_w

        text = _narrowed(tomli_w.dumps(document), document)
    write_whole(path, text)
    return path


def with_weights(specification: S, network: Network, *, rows: Rows | None = None) -> S:
    """The file with this network in place of its own.

    Parameters
    ----------
    rows
        The same weights as fractions, where they are known; rows of fractions that the file has
        already, in the same place, are kept by themselves.
    """
    changes = getattr(specification.network, "changes", None)
    known = rows if rows is not None else _given_rows(specification, network.agents)
    section = _section(network.weights, known, exact=rows is not None, changes=changes)
    return specification.model_copy(update={"network": section})


def with_changing_weights(specification: S, network: ChangingNetwork) -> S:
    """The file with the weights of this network that changes in place of its own."""
    section = specification.network
    if not isinstance(network, PeriodicNetwork | MarkovNetwork):
        return with_weights(specification, network.network)
    phases = tuple(
        PhaseSection(
            weights=_table(as_dense(phase.weights)),
            active=None
            if phase.observes.all()
            else tuple(int(j) for j in np.flatnonzero(phase.observes)),
        )
        for phase in network.phases
    )
    if isinstance(section, SequenceNetwork):
        new = section.model_copy(update={"sequence": phases})
    elif isinstance(network, MarkovNetwork):
        law: dict[str, Any] = {"transition": _table(network.transition)}
        if network.is_independent:
            law = {"probabilities": _table(network.transition[:1])[0]}
        new = SequenceNetwork(sequence=phases, **law)
    else:
        new = SequenceNetwork(sequence=phases)
    return specification.model_copy(update={"network": new})


def _section(
    weights: Weights, known: Rows | None, *, exact: bool, changes: Any
) -> WeightsNetwork | LinksNetwork:
    agents = weights.shape[0]
    options: dict[str, Any] = {} if changes is None else {"changes": changes}
    if agents <= MOST_ROWS:
        table: list[list[Any]] = [list(row) for row in _table(as_dense(weights))]
        for i, row in enumerate(known or ()):
            # Fractions of a row that was not moved: the same numbers but for rounding.
            if exact or all(
                (share == 0) == (w == 0) and abs(float(share) - w) <= 4 * np.spacing(w)
                for share, w in zip(row, table[i], strict=True)
            ):
                table[i] = list(row)
        table = [_simple(row) or row if isinstance(row[0], float) else row for row in table]
        return WeightsNetwork(weights=tuple(map(tuple, table)), **options)
    if known is not None and exact:
        links = [
            (i, j, share) for i, row in enumerate(known) for j, share in enumerate(row) if share
        ]
    else:
        entries = sparse.coo_array(sparse.csr_array(weights))
        listener, speaker = (axis.tolist() for axis in entries.coords)
        links = list(zip(listener, speaker, entries.data.tolist(), strict=True))
    return LinksNetwork(links=tuple(links), agents=agents, **options)


def _given_rows(specification: FileSpecification, agents: int) -> Rows | None:
    """The rows of the file's own network, if they are fractions."""
    section = specification.network
    if isinstance(section, SequenceNetwork) or agents > MOST_ROWS:
        return None
    own = section.model_dump(exclude={"changes", "probability", "radius"})
    if any(isinstance(value, float) for value in _numbers(own)):
        return None
    rational = section.build_rational(specification.name)
    if rational.agents != agents:
        return None
    return [[Fraction(share) for share in row] for row in rational.rows]


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        yield value
        return
    for entry in value:
        yield from _numbers(entry)


def _table(weights: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in np.asarray(weights, dtype=np.float64).tolist())


def _simple(row: Sequence[float]) -> list[Fraction] | None:
    """The row as fractions of small denominators, if their doubles are the row's; else None."""
    shares = [Fraction(w).limit_denominator(_SIMPLE) for w in row]
    same = sum(shares) == 1 and all(float(s) == w for s, w in zip(shares, row, strict=True))
    return shares if same else None


def _narrowed(text: str, document: dict[str, Any]) -> str:
    """TOML with lists of numbers and names on one line each, where that says the same."""
    flat = re.sub(
        r"\[\n\s+([^\[\]{}#]*?),?\n\s*\]",
        lambda found: "[" + re.sub(r",\n\s+", ", ", found[1]) + "]",
        text,
    )
    try:
        return flat if tomllib.loads(flat) == document else text
    except tomllib.TOMLDecodeError:
        return text


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value
