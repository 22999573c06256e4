"""Networks and certificates as JSON takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from peerbayes.kinds.finite.analyse import number
from theory import Network
from theory.design import Certificate
from theory.network.structure import as_dense

# Weights of more agents are listed link by link.
MOST_DENSE = 100


def weights_json(network: Network) -> Any:
    """W row by row; of many agents the positive entries alone."""
    if network.agents <= MOST_DENSE:
        return as_dense(network.weights).tolist()
    edges = network.edges
    return {
        "listener": edges[:, 0],
        "speaker": edges[:, 1],
        "weight": np.asarray(network.weights[edges[:, 0], edges[:, 1]]).ravel(),
    }


def record_body(problem: Any, *, seed: int, delta: float, result: Any, **more: Any) -> Any:
    """What a design leaves on disk: its JSON object, the problem's file, and what is drawn of it.

    A record does not say where it is, so that it can be moved, and runs be compared.
    """
    specification = problem.specification
    return {
        "title": problem.title,
        "specification": None if specification is None else specification.document(),
        "seed": seed,
        "delta": delta,
        "result": {key: value for key, value in result.items() if key != "record"},
        **more,
    }


def certificate_json(certificate: Certificate) -> dict[str, Any]:
    """Value, bound and gap, and of what kind they are."""
    return {
        "value": certificate.value,
        "bound": number(certificate.bound),
        "gap": number(certificate.gap),
        "sense": certificate.sense,
        "kind": certificate.kind,
    }


def graph_json(network: Network) -> dict[str, Any]:
    """A network as the report draws it."""
    edges = network.edges
    return {
        "edges": edges.tolist(),
        "weights": np.asarray(network.weights[edges[:, 0], edges[:, 1]]).ravel().tolist(),
        "positions": None if network.layout is None else network.layout.tolist(),
        "stationary_distribution": network.stationary_distribution.tolist(),
    }
