"""Problems with another network; a file keeps its tables, and `[network]` is made of weights.

Doubles are written with as many digits as bring them back, fractions as text. Weights of many
agents are written link by link. `[network.changes]` stays where it acts on given weights; gossip,
clocks, walks and rotations, whose weights follow from what happens, are written phase by phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from peerbayes.problem.changes_section import PhaseSection, SequenceNetwork
from peerbayes.problem.faulty import FaultyProblem
from peerbayes.problem.finite import Problem
from peerbayes.problem.messages_section import MessagesSection, messages_table
from peerbayes.problem.network_section import LinksNetwork, WeightsNetwork
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.specification import FileSpecification
from theory import Network
from theory.changing import ChangingNetwork, MarkovNetwork, PeriodicNetwork
from theory.messages import Quantiser
from theory.network.structure import Weights, as_dense
from theory.scientific import sparse

S = TypeVar("S", bound=FileSpecification)
Rows = Sequence[Sequence[Fraction]]

MOST_ROWS = 100
"""Weights of more agents are written link by link."""
# Doubles of fractions with such a denominator are written as these.
_SIMPLE = 999


def with_network(
    problem: AnyProblem,
    network: Any,
    *,
    rows: Rows | None = None,
    messages: Quantiser | None = None,
) -> AnyProblem:
    """The problem with another network of the same kind, in its file too if it has one.

    Parameters
    ----------
    rows
        The weights as fractions, where they are known.
    messages
        What agents send from now on; None for what they send already.
    """
    if isinstance(problem, FaultyProblem):
        inner = with_network(problem.problem, network, rows=rows)
        assert isinstance(inner, Problem)
        return replace(problem, problem=inner)
    network = _named(network, problem.network.names)
    given, file = problem.specification, None
    if given is not None:
        if isinstance(network, Network):
            file = with_weights(given, network, rows=rows)
        else:
            file = with_changing_weights(given, network)
    changes: dict[str, Any] = {"network": network}
    if messages is not None:
        changes["messages"] = messages
        if file is not None:
            section = MessagesSection.model_validate(messages_table(messages))
            file = file.model_copy(update={"messages": section})
    changes["specification"] = file
    return replace(problem, **changes)


def _named(network: Any, names: tuple[str, ...] | None) -> Any:
    """The network with these names of its agents, if it has none."""
    if names is None or network.names is not None:
        return network
    if isinstance(network, Network | PeriodicNetwork | MarkovNetwork):
        return replace(network, names=names)
    return replace(network, network=replace(network.network, names=names))


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
    section = weights_section(
        network.weights,
        known,
        exact=rows is not None,
        changes=changes,
        names=specification.network.names,
        positions=getattr(specification.network, "positions", None),
    )
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
        if network.initial is not None:
            law["initial"] = tuple(network.initial.tolist())
        if network.event_rate is not None:
            law["event_rate"] = network.event_rate
        if len(law) == 1 and network.is_independent:
            law = {"probabilities": _table(network.transition[:1])[0]}
        new = SequenceNetwork(sequence=phases, names=section.names, **law)
    else:
        new = SequenceNetwork(sequence=phases, names=section.names)
    return specification.model_copy(update={"network": new})


def weights_section(
    weights: Weights,
    known: Rows | None = None,
    *,
    exact: bool = False,
    changes: Any = None,
    names: tuple[str, ...] | None = None,
    positions: Any = None,
) -> WeightsNetwork | LinksNetwork:
    """The table [network] of given weights; rows of simple fractions are written as such.

    Parameters
    ----------
    known, exact
        Rows of fractions to prefer: all of them if they are `exact`, else those that are near.
    changes
        The table [network.changes]; None if nothing changes.
    names, positions
        Of the agents, if they have any.
    """
    agents = weights.shape[0]
    options: dict[str, Any] = {} if changes is None else {"changes": changes}
    if names is not None:
        options["names"] = names
    if positions is not None:
        options["positions"] = positions
    if agents <= MOST_ROWS:
        table: list[list[Any]] = [list(row) for row in _table(as_dense(weights))]
        for i, given in enumerate(known or ()):
            # Fractions of a row that was not moved: the same numbers but for rounding.
            if exact or all(
                (share == 0) == (w == 0) and abs(float(share) - w) <= 4 * np.spacing(w)
                for share, w in zip(given, table[i], strict=True)
            ):
                table[i] = list(given)
        table = [_simple(row) or row if isinstance(row[0], float) else row for row in table]
        return WeightsNetwork(weights=tuple(map(tuple, table)), **options)
    if known is not None and exact:
        links = [
            (i, j, share) for i, row in enumerate(known) for j, share in enumerate(row) if share
        ]
    else:
        entries = sparse.coo_array(sparse.csr_array(weights))
        listener, speaker = (axis.tolist() for axis in entries.coords)
        values: list[Any] = entries.data.tolist()
        links = list(zip(listener, speaker, values, strict=True))
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
