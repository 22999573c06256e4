"""What beliefs say about labelled images: predictions made, scored and forgotten agent by agent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from empirical.nets.likelihood import mean_probabilities, sampled_probabilities
from empirical.nets.metrics import ImageScores, as_tensor, image_scores, stacked
from empirical.nets.posterior import Posterior
from theory.validation import as_integer, fail


def score(
    posterior: Posterior,
    inputs: Tensor,
    labels: Tensor | ArrayLike,
    *,
    draws: int,
    seed: int,
    agents: Sequence[int] | None = None,
    images: ArrayLike | None = None,
) -> ImageScores:
    r"""The scores of agents' predictions, by the posterior's samples or its mean.

    Parameters
    ----------
    posterior
        The beliefs of N agents.
    inputs, labels
        Shapes (n, \*input_shape) and (n,).
    draws
        Posterior samples to average; 0 to predict by the mean weights.
    seed
        Of the samples; each agent's depend on this and its number alone.
    agents, images
        Which agents and which of the n images to use, by number; left out: all.

    Raises
    ------
    ValueError
        If something does not fit, or a belief or a prediction is not finite.
    """
    draws, seed = as_integer("draws", draws, minimum=0), as_integer("seed", seed, minimum=0)
    _check_belief(posterior)
    truth = as_tensor(labels).long().cpu()
    if truth.shape != inputs.shape[:1]:
        raise fail(
            "labels",
            f"shape ({inputs.shape[0]},)",
            f"shape {tuple(truth.shape)}",
            "give one label per image",
        )
    if images is not None:
        places = _chosen_images(images, truth.shape[0])
        inputs, truth = inputs[places.to(inputs.device)], truth[places]
    each = []
    for agent in chosen_agents(agents, posterior.agents):
        belief = posterior.of([agent])
        if draws:
            # An agent's samples are its own, whichever others are measured.
            own = int(np.random.SeedSequence((seed, agent)).generate_state(1)[0])
            predicted = sampled_probabilities(belief, inputs, draws=draws, seed=own)
        else:
            predicted = mean_probabilities(belief, inputs)
        each.append(image_scores(predicted, truth))
    return stacked(each)


def _check_belief(posterior: Posterior) -> None:
    damaged = posterior.damaged()
    if damaged is not None:
        raise fail(
            "posterior",
            "finite means, and finite variances above 0",
            f"others at agent {damaged}",
            "measure the last good round",
        )


def chosen_agents(agents: Sequence[int] | None, known: int) -> tuple[int, ...]:
    """Those named, checked; all if none is."""
    if agents is None:
        return tuple(range(known))
    if not len(agents):
        raise fail("agents", "at least one agent", "none", "name one, or leave the argument out")
    return tuple(as_integer("agents", agent, minimum=0, maximum=known - 1) for agent in agents)


def _chosen_images(images: ArrayLike, known: int) -> Tensor:
    places = np.array(images, dtype=np.int64)
    if places.ndim != 1 or places.size == 0 or places.min() < 0 or places.max() >= known:
        raise fail(
            "images",
            f"at least one position from 0 to {known - 1}",
            f"shape {places.shape}"
            + (f" with {places.min()} to {places.max()}" if places.size else ""),
            "name test images by their positions",
        )
    return torch.from_numpy(places)
