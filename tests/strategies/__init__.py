"""Hypothesis strategies: small inputs of every nasty kind, all in one place."""

from tests.strategies.basic import distributions, seeds
from tests.strategies.changing import CHANGES, changing_networks
from tests.strategies.faults import behaviours
from tests.strategies.large import LARGE, large_networks
from tests.strategies.models import (
    Problem,
    finite_agents,
    finite_models,
    gaussian_agents,
    mixed_models,
    problems,
    rational_models,
)
from tests.strategies.networks import (
    DIFFERENT,
    GENERATED,
    KINDS,
    connected_edges,
    networks,
    rational_networks,
)
from tests.strategies.regression import (
    CONDITIONS,
    changed,
    gaussian_beliefs,
    noisy_beliefs,
    regression_agents,
    regression_models,
    stiff_beliefs,
)

__all__ = [
    "CHANGES",
    "CONDITIONS",
    "DIFFERENT",
    "GENERATED",
    "KINDS",
    "LARGE",
    "Problem",
    "behaviours",
    "changed",
    "changing_networks",
    "connected_edges",
    "distributions",
    "finite_agents",
    "finite_models",
    "gaussian_agents",
    "gaussian_beliefs",
    "large_networks",
    "mixed_models",
    "networks",
    "noisy_beliefs",
    "problems",
    "rational_models",
    "rational_networks",
    "regression_agents",
    "regression_models",
    "seeds",
    "stiff_beliefs",
]
