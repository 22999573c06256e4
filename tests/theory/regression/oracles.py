"""The learning rule as the papers write it, for one set of inputs and labels; slow and plain."""

from __future__ import annotations

import numpy as np

from theory import Network
from theory.network.structure import as_dense
from theory.regression import RegressionModel


def run(
    network: Network, model: RegressionModel, inputs: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means (N, d) and covariances (N, d, d) of all beliefs after every round has passed.

    `inputs` has shape (n, N, batch, d), `labels` (n, N, batch).
    """
    W = as_dense(network.weights)
    means = [np.array(m) for m in model.prior_means]
    covariances = [np.array(c) for c in model.prior_covariances]
    for x, y in zip(inputs, labels, strict=True):
        precisions, informations = [], []
        for i in range(model.agents):
            agent = model.agent(i)
            weight = agent.tempering / agent.claimed_noise_std**2
            prior = np.linalg.inv(covariances[i])
            precisions.append(prior + weight * x[i].T @ x[i])
            informations.append(prior @ means[i] + weight * x[i].T @ y[i])
        for i in range(model.agents):
            pooled = sum(w * P for w, P in zip(W[i], precisions, strict=True))
            covariances[i] = np.linalg.inv(pooled)
            means[i] = covariances[i] @ sum(w * h for w, h in zip(W[i], informations, strict=True))
    return np.array(means), np.array(covariances)
