"""A network whose weights are rationals, so that all that follows from them is exact.

`RationalNetwork` is to fractions what `theory.Network` is to doubles. Its weights come from
fractions, from a rule on a graph (every rule gives fractions), or from doubles, which are read as
the binary fractions they are; what a row of doubles lacks to one goes to its largest entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import flint
import numpy as np
from numpy.typing import ArrayLike

from theory.network import Network
from theory.network.graphs import links_of_edges, weight_denominators
from theory.network.labels import LABEL, as_names
from theory.network.structure import as_dense, check_aperiodic, check_irreducible
from theory.network.topologies import MOST_AGENTS, build_topology, refuse_foreign
from theory.numbers import as_fmpq, as_fraction, exact_distribution
from theory.numbers.rational import Exact
from theory.rational.deviation import RationalDeviation
from theory.rational.spectrum import Balance, RationalSpectrum, balance, flow, spectrum
from theory.showing import Value
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail

# The stationary distribution in rationals --------------------------------------------------------


def stationary_distribution(matrix: flint.fmpq_mat) -> tuple[Fraction, ...]:
    """The v of an irreducible rational W, exactly; length N, positive, sums to one."""
    return tuple(as_fraction(entry) for (entry,) in stationary_column(matrix).table())


def stationary_column(matrix: flint.fmpq_mat) -> flint.fmpq_mat:
    """The same v as a column of flint rationals, shape (N, 1)."""
    equations = stationary_equations(matrix)
    return equations.system.solve(equations.right)


@dataclass(frozen=True, eq=False)
class StationaryEquations:
    """A v = b, exactly: v = vW without its first equation, and Σ v = 1 in its place.

    Attributes
    ----------
    system
        A, shape (N, N), regular for every irreducible W.
    right
        b, shape (N, 1).
    """

    system: flint.fmpq_mat
    right: flint.fmpq_mat


def stationary_equations(matrix: flint.fmpq_mat) -> StationaryEquations:
    """The equations of a stochastic W, shape (N, N), for whatever arithmetic solves them."""
    agents = matrix.nrows()
    system = matrix.transpose()
    for i in range(agents):
        system[i, i] -= 1
        system[0, i] = 1
    right = flint.fmpq_mat(agents, 1)
    right[0, 0] = 1
    return StationaryEquations(system, right)


# A network whose weights are rationals, so that all that follows from them is exact --------------


MOST_RATIONAL_AGENTS = 1000
"""The largest network with exact weights: 10⁶ fractions fill a few hundred MB."""


@dataclass(frozen=True, eq=False)
class RationalNetwork(Value):
    """A row-stochastic, irreducible and aperiodic W of rationals.

    Parameters
    ----------
    matrix
        W as a `flint.fmpq_mat` of shape (N, N), or nested sequences of whole numbers, fractions,
        strings such as "1/3", or doubles (read exactly, see above).
    name
        What to call it.
    layout
        Positions for drawing, shape (N, 2), if there are natural ones.
    names
        What the agents are called, N distinct texts, if they have names.

    Raises
    ------
    ValueError
        If W is not square, negative somewhere, not row-stochastic, not irreducible, not aperiodic,
        or has more than 1000 agents.

    Examples
    --------
    >>> RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]]).stationary_distribution
    (Fraction(6, 7), Fraction(1, 7))
    """

    matrix: flint.fmpq_mat
    name: str = "network"
    layout: FloatArray | None = None
    names: tuple[str, ...] | None = field(default=None, metadata=LABEL)

    if TYPE_CHECKING:

        def __init__(
            self,
            matrix: Any,
            name: str = "network",
            layout: ArrayLike | None = None,
            names: Sequence[str] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        W = _as_matrix(self.matrix)
        object.__setattr__(self, "matrix", W)
        if W.nrows() != W.ncols() or W.nrows() == 0:
            raise fail(
                "weights",
                "a square matrix, one row and one column an agent",
                f"shape {(W.nrows(), W.ncols())}",
                "give each agent one row that weighs all agents",
            )
        _check_size(W.nrows())
        rows = W.table()
        for i, row in enumerate(rows):
            if min(row) < 0 or sum(row, flint.fmpq(0)) != 1:
                wrong = f"a sum of {sum(row, flint.fmpq(0))}" if min(row) >= 0 else f"{min(row)}"
                raise fail(
                    f"weights[{i}]",
                    "weights of at least 0 that sum to exactly 1",
                    wrong,
                    "mend the row",
                )
        pattern = np.array([[float(entry != 0) for entry in row] for row in rows])
        object.__setattr__(self, "names", as_names(self.names, agents=self.agents))
        check_irreducible(pattern, self.names)
        check_aperiodic(pattern, self.names)

    @classmethod
    def from_rows(
        cls, rows: Sequence[Sequence[Exact | float | str]], *, name: str = "network"
    ) -> RationalNetwork:
        """The network of the rows of W: whole numbers, fractions, strings or doubles.

        Raises
        ------
        ValueError
            As for the class.
        """
        return cls(_matrix_of_rows(rows), name=name)

    @classmethod
    @typed
    def from_network(cls, network: Network) -> RationalNetwork:
        """The doubles of a network, read as the binary fractions they are.

        Raises
        ------
        ValueError
            If the network has more than 1000 agents.
        """
        _check_size(network.agents)
        rows = as_dense(network.weights).tolist()
        return cls(_matrix_of_rows(rows), network.name, network.layout, network.names)

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike,
        *,
        agents: int,
        rule: str = "uniform",
        directed: bool = False,
        name: str = "network",
    ) -> RationalNetwork:
        """The network on an edge list, weighted by a rule, as `Network.from_edges`, but exact.

        Raises
        ------
        ValueError
            As there, or if there are more than 1000 agents.
        """
        count = as_integer("agents", agents, minimum=1, maximum=MOST_AGENTS)
        _check_size(count)
        links = links_of_edges(edges, agents=count, directed=directed)
        return cls(_matrix_of_rule(links, agents=count, rule=rule), name=name)

    @classmethod
    def from_topology(
        cls,
        topology: str,
        *,
        rule: str = "uniform",
        edge_confidence: Exact | float | str | None = None,
        **parameters: Any,
    ) -> RationalNetwork:
        """The network on a named graph, as `Network.from_topology`, but exact.

        Raises
        ------
        ValueError
            As there, or if there are more than 1000 agents.

        Examples
        --------
        >>> star = RationalNetwork.from_topology("star", agents=9, edge_confidence="1/2")
        >>> star.stationary_distribution[0]
        Fraction(9, 25)
        """
        graph = build_topology(topology, **parameters)
        agents = graph.agents
        _check_size(agents)
        if edge_confidence is None:
            matrix = _matrix_of_rule(graph.links, agents=agents, rule=rule)
        else:
            refuse_foreign("edge_confidence", topology, known=topology == "star")
            a = as_fraction(edge_confidence)
            if not 0 < a < 1 or rule != "uniform":
                raise fail(
                    "edge_confidence",
                    "a number in (0, 1), without a rule",
                    f"{a} with rule {rule!r}",
                    "choose one in (0, 1)",
                )
            rows = [[Fraction(0)] * agents for _ in range(agents)]
            rows[0] = [Fraction(1, agents)] * agents
            for i in range(1, agents):
                rows[i][0], rows[i][i] = a, 1 - a
            matrix = _matrix_of_rows(rows)
        return cls(matrix, name=topology, layout=graph.layout)

    def _title(self) -> str:
        return f"RationalNetwork {self.name!r}, {self.agents} agents"

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return int(self.matrix.nrows())

    @property
    def period(self) -> int:
        """1: other periods are refused."""
        return 1

    def weight(self, listener: int, speaker: int) -> Fraction:
        """W_ij, exactly."""
        return as_fraction(self.matrix[listener, speaker])

    @cached_property
    def rows(self) -> tuple[tuple[Fraction, ...], ...]:
        """W row by row, exactly."""
        return tuple(tuple(as_fraction(entry) for entry in row) for row in self.matrix.table())

    @cached_property
    def stationary_distribution(self) -> tuple[Fraction, ...]:
        """The v with v = vW and Σ v = 1, exactly; length N, positive."""
        return stationary_distribution(self.matrix)

    @cached_property
    def is_balanced(self) -> bool:
        """Whether the columns of W sum to one too, so that v is uniform: decided."""
        ones = flint.fmpq_mat([[1] * self.agents])
        return bool(ones * self.matrix == ones)

    @cached_property
    def balance(self) -> Balance:
        """Whether W is reversible, with a closed walk that is out of balance if not: decided."""
        return balance(self.matrix)

    @property
    def is_reversible(self) -> bool:
        """Whether v_i W_ij = v_j W_ji for all pairs: decided."""
        return self.balance.is_reversible

    @cached_property
    def flow(self) -> flint.fmpq_mat:
        """F_ij = v_i W_ij, exactly; its rows and its columns sum to v."""
        return flow(self.matrix, self.stationary_distribution)

    @cached_property
    def spectrum(self) -> RationalSpectrum:
        """All eigenvalues, exactly.

        Raises
        ------
        ValueError
            If this is expected to take more than a minute.
        """
        estimates = None
        if self.is_reversible and self.agents > 2:
            estimates = _real_eigenvalues([[float(x) for x in row] for row in self.rows])
        return spectrum(self.matrix, estimates=estimates)

    @cached_property
    def deviation(self) -> RationalDeviation:
        """Σ_{k≥1} (W^k − 1vᵀ) exactly, and D_i exactly where that is possible, else enclosed."""
        return RationalDeviation(self.matrix, self.stationary_distribution)

    def as_network(self) -> Network:
        """The nearest doubles, as a `Network`."""
        rows = [[float(entry) for entry in row] for row in self.rows]
        return Network(np.array(rows), self.name, self.layout, self.names)


def _real_eigenvalues(rows: list[list[float]]) -> list[float]:
    """Floating-point eigenvalues of a reversible W, in increasing order."""
    weights = np.array(rows)
    return [float(x) for x in np.linalg.eigvalsh(np.sqrt(weights * weights.T))]


def _check_size(agents: int) -> None:
    if agents > MOST_RATIONAL_AGENTS:
        raise fail(
            "weights",
            f"at most {MOST_RATIONAL_AGENTS} agents for exact weights",
            f"{agents}",
            "use a smaller network, or floating-point numbers",
        )


def _as_matrix(values: Any) -> flint.fmpq_mat:
    # A copy: flint's matrices can be written to.
    return flint.fmpq_mat(values) if isinstance(values, flint.fmpq_mat) else _matrix_of_rows(values)


def _matrix_of_rows(rows: Sequence[Sequence[Exact | float | str]]) -> flint.fmpq_mat:
    try:
        table = [list(row) for row in rows]
    except TypeError:
        table = []
    if not table or any(len(row) != len(table) for row in table):
        raise fail(
            "weights",
            "a square matrix, one row and one column an agent",
            f"rows of lengths {sorted({len(row) for row in table})}",
            "give each agent one row that weighs all agents",
        )
    exact = [exact_distribution(row, argument=f"weights[{i}]") for i, row in enumerate(table)]
    return flint.fmpq_mat([[as_fmpq(entry) for entry in row] for row in exact])


def _matrix_of_rule(links: IntArray, *, agents: int, rule: str) -> flint.fmpq_mat:
    parts = weight_denominators(links, agents=agents, rule=rule)
    matrix = flint.fmpq_mat(agents, agents)
    own = [flint.fmpq(1)] * agents
    for i, j, d in zip(
        parts.listener.tolist(), parts.speaker.tolist(), parts.denominator.tolist(), strict=True
    ):
        matrix[i, j] = flint.fmpq(1, d)
        own[i] -= flint.fmpq(1, d)
    for i in range(agents):
        matrix[i, i] = own[i]
    return matrix
