"""Fewest samples: the W whose probability of error stays at most δ soonest.

n(δ) is the smallest n from which on P(some agent's arg max is wrong) stays at most δ. It depends on
v, through the error exponent and the factor before it, and on how soon W mixes. As a function of W
it has no structure that a solver could use: this is a search, from designs that are optimal in a
sense of their own, on a smooth stand-in, judged by the certified account. What is proved is that
the design found needs no more than so many rounds, and that no design at all needs fewer than so
many (:mod:`theory.design.samples.converse`; docs: mathematics/fewest-samples).
"""

from __future__ import annotations

from collections.abc import Callable

from theory.design.constraints import Constraints, DesignGraph
from theory.design.samples.converse import FewestSamples, SampleStart
from theory.design.samples.sample_search import SampleSearch
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.typed import typed
from theory.validation import as_integer, as_positive

Progress = Callable[[int, int], None]
__all__ = ["FewestSamples", "SampleStart", "fewest_samples"]


@typed
def fewest_samples(
    graph: DesignGraph | Network,
    model: FiniteModel,
    *,
    delta: float,
    target: int | str | None = None,
    constraints: Constraints | None = None,
    minimum_influence: float | None = None,
    seed: int = 0,
    effort: float = 1.0,
    progress: Progress | None = None,
) -> FewestSamples:
    """Search for the W on a graph that needs the fewest certified samples.

    Parameters
    ----------
    graph
        Who may listen to whom; of a network, its links, and its weights are one more start.
    model
        As many agents as the graph.
    delta
        δ in (0, 1).
    target
        The hypothesis to settle on; may be left out if one is best for every agent.
    constraints
        Limits on W. Where links fail, samples are those of E[W].
    minimum_influence
        v_min; 1/(10N) if left out.
    seed
        Decides the random restarts.
    effort
        Multiplies the number of descents, steps and networks certified.
    progress
        Called as progress(done, total), in networks looked at.

    Raises
    ------
    ValueError
        If an argument is out of range, graph and model have different numbers of agents, the target
        is none, constraints clash, or no start settles on the target with a sample size that can
        be bounded.

    Examples
    --------
    >>> from theory import FiniteModel, GaussianAgent
    >>> agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[2])
    >>> pair = DesignGraph.from_edges([[0, 1]], agents=2)
    >>> found = fewest_samples(pair, model, delta=0.05)
    >>> found.certificate.value, found.certificate.bound  # both average: Φ(−√(n/2)) ≤ .05
    (6.0, 6.0)
    """
    search = SampleSearch.of(graph, model, delta, target, constraints, minimum_influence)
    return search.run(
        graph if isinstance(graph, Network) else None,
        seed=as_integer("seed", seed, minimum=0),
        effort=as_positive("effort", effort),
        progress=progress,
    )
