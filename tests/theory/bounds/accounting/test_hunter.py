"""Hunter's bound on a union of events, with its parts exact and with its parts certified.

The parts are probabilities of two events, here summed over every history. With these the bound is
the best of all trees, which loses nothing where events are nested, and is never below the truth.
"""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest

from tests.models import FAIR, coin
from tests.theory.bounds.accounting.test_pairs import ROUNDING, histories
from theory import FiniteModel, Network, account
from theory.bounds.accounting.curves import ErrorCurve
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.joint import Event
from theory.bounds.accounting.unions import PairUnion, _tree

EVEN, NEAR, APART = (np.full((3, 3), (1 - x) / 3) + x * np.eye(3) for x in (0.01, 0.1, 0.4))
NETWORKS = pytest.mark.parametrize("weights", [EVEN, NEAR, APART], ids=["even", "near", "apart"])


def alike(*claims: list[float], prior: Sequence[float] | None = None) -> FiniteModel:
    """Three agents, all of whom see what the first law says, and hypotheses that claim these."""
    names = [f"h{m}" for m in range(len(claims))]
    agent = coin(*claims, truth=claims[0])
    return FiniteModel.from_agents(names, [agent], counts=[3], priors=[prior])


MODELS = {
    # Events of which each contains the next; two that overlap; pairs of nested ones.
    "nested": alike(FAIR, [0.7, 0.3], [0.76, 0.24], [0.82, 0.18]),
    "crossed": alike([0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.25, 0.3, 0.45]),
    "two sides": alike(FAIR, [0.7, 0.3], [0.76, 0.24], [0.28, 0.72], [0.22, 0.78]),
    # Levels of the events' common sums are not near zero.
    "uneven": alike(FAIR, [0.8, 0.2], [0.86, 0.14], [0.16, 0.84], prior=[0.2, 0.4, 0.3, 0.1]),
}


class Exact:
    """The probabilities of events of a network and model after some rounds, from all histories."""

    def __init__(self, weights: np.ndarray, model: FiniteModel, rounds: int) -> None:
        self.network, self.model, self.rounds = Network(weights), model, rounds
        self.logs, self.mass = histories(self.network, model, rounds)
        # All agents are alike and W is symmetric: L_θ is the sum with weights of 1/3, of all but
        # priors.
        means = histories(Network(np.full((3, 3), 1 / 3)), model, rounds)[0][:, 0]
        self.means = means - (model.log_priors[0, :1] - model.log_priors[0, 1:])
        # No event is decided by rounding.
        self.error = float(self.mass[(self.logs <= 1e-12).any(axis=(1, 2))].sum())
        events = EventSet(self.network, model)
        self.union = PairUnion(ErrorCurve(events, rounds, rounds), rounds, rounds, rounds, 1e6)

    def holds(self, event: Event) -> np.ndarray:
        """In which histories an event happens."""
        if event.level is None:
            return np.asarray(self.logs[:, event.agents[0], event.wrong] <= 1e-12)
        return np.asarray(self.means[:, event.wrong] <= event.level + 1e-12)

    def pair(self, events: tuple[Event, Event], signs: tuple[int, int]) -> np.ndarray:
        """Log P of two events, or of the opposites of those of sign 1."""
        one, two = (self.holds(e) == (s < 0) for e, s in zip(events, signs, strict=True))
        with np.errstate(divide="ignore"):
            return np.log([self.mass[one & two].sum()])

    def upper(self, monkeypatch: pytest.MonkeyPatch) -> float:
        """Hunter's bound with all its parts from here."""
        references = iter([one.event for one in self.union._references])
        with monkeypatch.context() as patch:
            patch.setattr(
                PairUnion, "_pair", lambda _, events, signs=(-1, -1): self.pair(events, signs)
            )
            # One reference after the other, each of which is looked at alone first.
            patch.setattr(
                PairUnion, "_single", lambda *_: self.pair(2 * (next(references),), (-1, -1))
            )
            return float(np.exp(self.union.upper()[0]))

    def best_tree(self) -> float:
        """Σ P(B) less the overlaps along the best tree, and what agents err beside their B."""
        events = [one.event for one in self.union._references]
        tree, total = nx.Graph(), 0.0
        for a, event in enumerate(events):
            total += float(self.mass[self.holds(event)].sum())
            for agent in range(3):
                beside = self.holds(Event(event.wrong, (agent,))) & ~self.holds(event)
                total += float(self.mass[beside].sum())
            for b in range(a):
                both = self.holds(event) & self.holds(events[b])
                tree.add_edge(a, b, weight=float(self.mass[both].sum()))
        return total - nx.maximum_spanning_tree(tree).size(weight="weight")


@pytest.mark.parametrize("rounds", [2, 3])
@pytest.mark.parametrize("name", MODELS)
@NETWORKS
def test_exact_parts_bound_a_union_by_the_best_tree(
    weights: np.ndarray, name: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = Exact(weights, MODELS[name], rounds)
    assert len(exact.union._references) == len(exact.model.hypotheses) - 1
    upper = exact.upper(monkeypatch)
    assert upper >= exact.error - ROUNDING
    assert upper <= min(exact.best_tree(), 1.0) + ROUNDING
    # A chain of events, or two: nothing is lost.
    if weights is EVEN and name in {"nested", "crossed"}:
        assert upper == pytest.approx(exact.error, rel=1e-10)


def test_the_tree_has_the_largest_overlaps() -> None:
    """Against the best of all trees: valid is any, and only the best is tight."""
    rng = np.random.default_rng(0)
    for count in (2, 3, 6, 9):
        both = rng.random((count, count))
        both = np.triu(both, 1) + np.triu(both, 1).T
        parents, overlaps = _tree(both)
        tree = nx.Graph([(s, parents[s]) for s in range(1, count)])
        assert nx.is_tree(tree)
        assert overlaps[1:] == [both[s, parents[s]] for s in range(1, count)]
        best = nx.maximum_spanning_tree(nx.from_numpy_array(both)).size(weight="weight")
        assert sum(overlaps) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("rounds", [2, 3])
@pytest.mark.parametrize("name", MODELS)
@NETWORKS
def test_certified_ends_enclose_the_probability_of_an_error(
    weights: np.ndarray, name: str, rounds: int
) -> None:
    exact = Exact(weights, MODELS[name], rounds)
    found = account(exact.network, exact.model).probability(rounds, pairs=True)
    ends = (found.lower[0], np.exp(exact.union.lower()[0]))
    tops = (found.upper[0], np.exp(exact.union.upper()[0]))
    assert max(ends) - ROUNDING <= exact.error <= min(tops) + ROUNDING
