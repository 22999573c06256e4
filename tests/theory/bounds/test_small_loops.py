"""Small problems are bounded without numba, to the same digits as with it."""

from __future__ import annotations

import numpy as np
import pytest

from theory import FiniteAgent, FiniteModel, Network, account
from theory.bounds.accounting import inversion, inversion_tilts


def _problem(seed: int, agents: int, outcomes: int, hypotheses: int) -> tuple[Network, FiniteModel]:
    rng = np.random.default_rng(seed)
    kinds = []
    for size in (outcomes, outcomes + 1):
        tables = rng.dirichlet(np.ones(size), size=hypotheses)
        kinds.append(FiniteAgent.from_tables(truth=[tables[0]], likelihood=tables[:, None]))
    counts = [agents - agents // 2, agents // 2]
    names = [str(h) for h in range(hypotheses)]
    model = FiniteModel.from_agents(names, kinds, counts=counts)
    return Network(rng.dirichlet(np.ones(agents), size=agents)), model


@pytest.mark.parametrize(
    ("agents", "outcomes", "hypotheses"), [(2, 2, 2), (3, 3, 3), (2, 7, 2), (5, 2, 2)], ids=str
)
def test_digits_are_those_of_the_compiled_loops(
    agents: int, outcomes: int, hypotheses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near rounds, and rounds so late that factors repeat and frequencies are negligible."""
    rounds = [1, 2, 5, 17, 40, 120, 1000]
    found = []
    for small in (True, False):
        for module in (inversion, inversion_tilts):
            monkeypatch.setattr(module, "suit", lambda laws, work, small=small: small)
        errors = account(*_problem(agents, agents, outcomes, hypotheses)).probability(rounds)
        found.append([errors.log_lower, errors.log_upper])
    np.testing.assert_array_equal(*found)
    assert np.isfinite(found[0]).any()
