"""When two problems are equal: the same name and title, network and model, whoever wrote them.

What a network and its drawing are called does not count, nor in which order a model lists its kinds
of agents, nor whether there is a file: a problem that was saved equals what is loaded again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from theory import FiniteModel
from theory.changing.kinds import AnyNetwork
from theory.network.structure import Weights
from theory.regression import RegressionModel
from theory.values import Value

_LABELS = {"name", "layout"}


class Posed(Value):
    """Base of problems, which are equal by what they pose."""

    def _parts(self) -> tuple[object, ...]:
        own: Any = self
        return (own.name, own.title, *network_parts(own.network), *self._posed())

    def _posed(self) -> tuple[object, ...]:
        """What counts beside the network."""
        raise NotImplementedError


def network_parts(network: AnyNetwork) -> tuple[object, ...]:
    """What a network is but for what it is called: its kind and everything that moves beliefs."""
    own = {key: getattr(network, key) for key in network.__dataclass_fields__ if key not in _LABELS}
    base = own.pop("network", None)
    if "weights" in own:
        own["weights"] = _entries(own["weights"])
    if "phases" in own:
        own["phases"] = [(_entries(p.weights), p.active) for p in own["phases"]]
    return (type(network).__name__, *own.values(), *(() if base is None else network_parts(base)))


def _entries(weights: Weights) -> tuple[object, ...]:
    """The positive entries of a matrix, however it is stored."""
    table = sparse.csr_array(weights, copy=True)
    table.eliminate_zeros()
    table.sort_indices()
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data


def finite_parts(model: FiniteModel) -> tuple[object, ...]:
    """A finite model, agent by agent."""
    kinds = [model.kinds[kind] for kind in model.assignment]
    return model.hypotheses, kinds, model.log_priors[model.assignment]


def regression_parts(model: RegressionModel) -> tuple[object, ...]:
    """A regression, agent by agent."""
    kinds = [model.kinds[kind] for kind in model.assignment]
    rest = (model.prior_covariance, model.prior_mean, model.test_second_moment)
    return model.theta, kinds, *rest
