"""A network of agents and the weights they give to each other.

`Network` is the front door of this package: a weight matrix W that is checked once, and all that
follows from it alone. The stationary distribution says whose evidence counts, the deviation and
the eigenvalues next to 1 say how soon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from theory.network.labels import LABEL, as_layout, as_names, numbered_edges
from theory.network.mixing import Deviation, deviation
from theory.network.spectrum import Spectrum, spectrum
from theory.network.stationary import Stationary, detailed_balance, stationary
from theory.network.structure import (
    Weights,
    as_compact,
    as_dense,
    as_weights,
    check_aperiodic,
    check_irreducible,
    off_diagonal,
)
from theory.progress import Progress, part_of
from theory.showing import Value
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail, read_only

if TYPE_CHECKING:
    import networkx as nx

# Up to so many agents a network computes v to show it.
_SHOWN = 200
# Entries of a stack of powers, and powers: enough that their number no longer matters.
_STACK, _MOST_TOGETHER = 1 << 15, 32


@dataclass(frozen=True, eq=False)
class Network(Value):
    """A row-stochastic, irreducible and aperiodic weight matrix W.

    Parameters
    ----------
    weights
        W, shape (N, N): W_ij is the weight agent i gives to what agent j says. Array-like (its
        entries may be fractions in strings, such as "1/3") or any scipy sparse matrix; stored
        as a read-only float64 or CSR array. A pandas ``DataFrame`` gives its index as names; a
        networkx graph its nodes, positions and name, with the edge attribute "weight" as W, or
        weights by the rule "uniform" where edges have none (:meth:`from_graph` has the choice).
    name
        What to call it.
    layout
        Positions for drawing, shape (N, 2), if there are natural ones.
    names
        What the agents are called, N distinct texts, if they have names.
    normalise
        Whether each row is divided by its sum first.

    Raises
    ------
    ValueError
        If W is not square, finite, non-negative and row-stochastic, or not irreducible (the
        message names the classes), or not aperiodic (it names the period); if there is not one
        position, or one name of its own, for each agent; if index and columns of a table differ.

    Examples
    --------
    >>> network = Network([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> network.stationary_distribution.round(6).tolist()
    [0.857143, 0.142857]
    >>> round(network.slem, 12)
    0.3
    """

    weights: Weights
    name: str = "network"
    layout: FloatArray | None = None
    names: tuple[str, ...] | None = field(default=None, metadata=LABEL)
    normalise: InitVar[bool] = False

    if TYPE_CHECKING:

        def __init__(
            self,
            weights: Any,
            name: str = "network",
            layout: ArrayLike | None = None,
            names: Sequence[str] | None = None,
            normalise: bool = False,
        ) -> None: ...

    def __post_init__(self, normalise: bool) -> None:
        """Check W and keep a read-only copy."""
        given: Any = self.weights
        if not isinstance(given, np.ndarray | list | tuple):
            given = self._without_labels(given, normalise)
        called = self.names if isinstance(self.names, tuple | list) else None
        object.__setattr__(self, "weights", as_weights(given, called, normalise=normalise))
        object.__setattr__(self, "layout", as_layout(self.layout, agents=self.agents))
        object.__setattr__(self, "names", as_names(self.names, agents=self.agents))
        check_irreducible(self.weights, self.names)
        check_aperiodic(self.weights, self.names)

    def _without_labels(self, given: Any, normalise: bool) -> Any:
        """The weights of a graph or table alone; what it says of its agents is kept."""
        from theory.network.graphs import frame_names, graph_parts, is_frame, is_graph

        if is_graph(given):
            given, name, layout, names = graph_parts(given, normalise=normalise)
            object.__setattr__(self, "name", name if self.name == "network" else self.name)
            object.__setattr__(self, "layout", layout if self.layout is None else self.layout)
            object.__setattr__(self, "names", names if self.names is None else self.names)
        elif is_frame(given):
            names = frame_names(given)
            object.__setattr__(self, "names", names if self.names is None else self.names)
            given = given.to_numpy()
            given = given.tolist() if given.dtype == object else given
        return given

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike,
        *,
        agents: int | None = None,
        rule: str = "uniform",
        directed: bool = False,
        sparse: bool | None = None,
        name: str = "network",
        names: Sequence[str] | None = None,
    ) -> Network:
        """The network on an edge list, weighted by a rule.

        A directed edge [a, b] leads from a to b: b hears a, so that W_ba > 0. Edges from an
        agent to itself and repeated edges change nothing, since every rule gives each agent
        a weight on itself.

        Parameters
        ----------
        edges
            Shape (E, 2), agents numbered from 0 or by name.
        agents
            N; left out: as many as there are names.
        rule
            "uniform", "metropolis", "lazy-metropolis" or "max-degree"; directed graphs take
            "uniform" only.
        directed
            Whether edges lead one way.
        sparse
            Whether W is stored as a sparse array; by default above 2000 agents.
        name
            What to call it.
        names
            What the agents are called; left out, if edges go by name: as there, in their order.

        Raises
        ------
        ValueError
            If an edge names an unknown agent, the rule does not fit, or the graph is not
            (strongly) connected.

        Examples
        --------
        >>> Network.from_edges([["mast", "roof"], ["roof", "well"]]).names
        ('mast', 'roof', 'well')
        """
        from theory.network.graphs import links_of_edges, weights_on_links
        from theory.network.topologies import MOST_AGENTS

        pairs, names = numbered_edges(edges, None if names is None else tuple(names))
        if agents is None and names is not None:
            agents = len(names)
        count = as_integer("agents", agents, minimum=1, maximum=MOST_AGENTS)
        links = links_of_edges(pairs, agents=count, directed=directed)
        weights = weights_on_links(links, agents=count, rule=rule, sparse_result=sparse)
        return cls(weights, name=name, names=names)

    @classmethod
    def from_graph(
        cls,
        graph: nx.Graph[Any],
        *,
        rule: str | None = None,
        weight: str | None = None,
        sparse: bool | None = None,
    ) -> Network:
        """The network on a networkx graph; in a directed one an edge (a, b) says that b hears a.

        Nodes that are the whole numbers 0 to N − 1 are the agents of these numbers; others are
        numbered in the graph's order, and their texts are the agents' names. Positions come from
        the node attribute "pos", if all nodes have one in the plane.

        Parameters
        ----------
        rule
            As for `from_edges`, by default "uniform"; edge attributes, parallel edges and
            self-loops are ignored. With `weight` only "normalise": each row over its sum.
        weight
            The edge attribute that holds W_ba on the edge (a, b), both ways in an undirected
            graph, and W_aa on self-loops; parallel edges add up. Rows must sum to 1, unless
            `rule` is "normalise".
        sparse
            Whether W is stored as a sparse array; by default above 2000 agents.

        Raises
        ------
        ValueError
            As for `from_edges`; if an edge has no number as its weight, or rows do not sum to 1.
        """
        from theory.network.graphs import NodeOrder, layout_of_graph, weights_of_graph

        order = NodeOrder.of(graph)
        weights = weights_of_graph(graph, order, weight=weight, rule=rule, sparse_result=sparse)
        layout = layout_of_graph(graph, order)
        return cls(weights, str(graph.name or "network"), layout, order.names)

    def to_networkx(self) -> nx.DiGraph[Any]:
        """The directed graph of W: edges from speaker to listener, W_ij as attribute "weight".

        Nodes are the agents' names, or else their numbers, with their positions as "pos";
        `from_graph(graph, weight="weight")` makes an equal network of it.
        """
        from theory.network.graphs import to_graph

        return to_graph(self.weights, name=self.name, names=self.names, layout=self.layout)

    @classmethod
    def from_topology(
        cls,
        topology: str,
        *,
        agents: int | None = None,
        shape: Sequence[int] | None = None,
        rule: str = "uniform",
        edge_confidence: float | None = None,
        probability: float | None = None,
        radius: float | None = None,
        branching: int | None = None,
        dimension: int | None = None,
        seed: int | None = None,
        sparse: bool | None = None,
    ) -> Network:
        """The network on a named graph (the table is in `theory.network.topologies`).

        A star with `edge_confidence` a is P2's (sec. 1.4.1): the centre, agent 0, weighs all
        agents alike, and every other agent gives a to the centre and 1 − a to itself. Then
        v_0 = Na / (Na + N − 1), and the rule is not used.

        Raises
        ------
        ValueError
            If the topology is unknown, a parameter is missing, wrong or foreign to it, or a
            random graph is not connected.

        Examples
        --------
        >>> star = Network.from_topology("star", agents=9, edge_confidence=0.5)
        >>> round(float(star.stationary_distribution[0]), 12)
        0.36
        """
        from theory.network.graphs import star_weights, weights_on_links
        from theory.network.topologies import build_topology, refuse_foreign

        graph = build_topology(
            topology,
            agents=agents,
            shape=shape,
            probability=probability,
            radius=radius,
            branching=branching,
            dimension=dimension,
            seed=seed,
        )
        if edge_confidence is None:
            weights = weights_on_links(
                graph.links, agents=graph.agents, rule=rule, sparse_result=sparse
            )
        else:
            refuse_foreign("edge_confidence", topology, known=topology == "star")
            if rule != "uniform":
                raise fail(
                    "rule",
                    "none for a star with edge_confidence, which sets all weights",
                    repr(rule),
                    "leave out one of the two",
                )
            confidence = as_probability("edge_confidence", edge_confidence)
            weights = star_weights(
                graph.links, agents=graph.agents, edge_confidence=confidence, sparse_result=sparse
            )
        return cls(weights, name=topology, layout=graph.layout)

    def _title(self) -> str:
        return f"Network {self.name!r}, {self.agents} agents"

    def _facts(self) -> Iterator[tuple[str, object]]:
        if self.names is not None:
            yield "names", self.names
        yield "links", len(off_diagonal(self.weights).row)
        yield "weights", self.weights
        if self.agents <= _SHOWN or "stationary" in vars(self):
            yield "v", self.stationary_distribution

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return int(self.weights.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether W is stored as a sparse array."""
        return not isinstance(self.weights, np.ndarray)

    @cached_property
    def compact(self) -> Weights:
        """W as products with it are quickest: sparse where few of many entries are positive."""
        return as_compact(self.weights)

    @property
    def period(self) -> int:
        """1: other periods are refused."""
        return 1

    @cached_property
    def is_reversible(self) -> bool:
        """Whether v_i W_ij = v_j W_ji for all pairs, up to the rounding of the weights."""
        return self._balanced is not None

    def prepare(self, progress: Progress | None = None) -> None:
        """Find v and the eigenvalues, telling how far that is: for many agents it takes a while.

        Without it they are found when first asked for, to the same digits.

        Raises
        ------
        ValueError
            If v cannot be found: see `theory.network.stationary`.
        """
        known = vars(self)
        if "stationary" not in known:
            known["stationary"] = stationary(
                self.compact, self._closed_form, part_of(progress, 0, 2)
            )
        if "spectrum" not in known:
            known["spectrum"] = spectrum(
                self.compact,
                self.stationary_distribution,
                reversible=self.is_reversible,
                progress=part_of(progress, 1, 2),
            )
        if progress is not None:
            progress(1, 1)

    @cached_property
    def stationary(self) -> Stationary:
        """The stationary distribution with its method and residual; accurate componentwise."""
        return stationary(self.compact, self._closed_form)

    @property
    def stationary_distribution(self) -> FloatArray:
        """The v with v = vW, shape (N,), positive, sums to one; a floating-point estimate."""
        return self.stationary.values

    @property
    def slem(self) -> float:
        """The subdominant modulus, in [0, 1); 0.0 for one agent. A floating-point estimate.

        Not to be trusted where W is far from normal (see `theory.network.spectrum`); nan where
        `spectrum.note` says that it was not found.
        """
        return self.spectrum.slem

    @property
    def second_eigenvalue(self) -> float:
        """The largest real part among all eigenvalues but one 1; nan for one agent.

        A floating-point estimate, not to be trusted where W is far from normal; nan where
        `spectrum.note` says that it was not found.
        """
        return self.spectrum.second_eigenvalue

    @cached_property
    def deviation(self) -> Deviation:
        """Bounds on D_i = Σ_{k≥1} Σ_j |[W^k]_ij − v_j|, in rounds (docs: mathematics/mixing)."""
        return deviation(
            self.compact,
            self.stationary_distribution,
            reversible=self.spectrum if self.is_reversible else None,
        )

    @cached_property
    def edges(self) -> IntArray:
        """All (i, j) with i ≠ j and W_ij > 0, shape (E, 2), in row order."""
        links = off_diagonal(self.weights)
        edges: IntArray = np.column_stack([links.row, links.column])
        read_only(edges)
        return edges

    def powers(self) -> Iterator[FloatArray]:
        """W, W², W³, … without end, each a dense array of shape (N, N)."""
        power = as_dense(self.weights)
        while True:
            yield power
            power = np.asarray(power @ self.compact)

    def power_stacks(self) -> Iterator[FloatArray]:
        """The same, some powers at a time: arrays of shape (k, N, N), of 256 KiB or one power."""
        together = min(_MOST_TOGETHER, max(1, _STACK // self.agents**2))
        powers = self.powers()
        while True:
            yield np.array(list(islice(powers, together)))

    @cached_property
    def _balanced(self) -> FloatArray | None:
        return detailed_balance(self.compact)

    @property
    def _closed_form(self) -> FloatArray | None:
        """The v of a reversible W; where W is dense, elimination has more digits."""
        return None if isinstance(self.compact, np.ndarray) else self._balanced

    @cached_property
    def spectrum(self) -> Spectrum:
        """The subdominant modulus and the second eigenvalue, or why one was not found."""
        return spectrum(self.compact, self.stationary_distribution, reversible=self.is_reversible)


def require_fixed(network: object) -> Network:
    """The network, if it is one that does not change.

    Raises
    ------
    ValueError
        If it is of another kind.
    """
    if not isinstance(network, Network):
        raise fail(
            "network",
            "a Network, whose weights are the same in every round",
            type(network).__name__,
            "use learning_rate, error_exponent or sample_sizes, which take networks that change",
        )
    return network
