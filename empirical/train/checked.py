"""What ends a training: a loss or a message that is not finite any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from empirical.nets.training import TrainingFailed
from theory.validation import FloatArray


def checked(
    losses: Tensor,
    active: Sequence[int],
    messages: Mapping[str, Tensor],
    *,
    agents: Sequence[int],
    round: int,
) -> FloatArray:
    """The losses on the host: the one wait for the device in a round.

    Parameters
    ----------
    losses, messages
        Shape (n,), and vectors of shape (n, d).
    active
        Which of the rows trained.
    agents, round
        Whose rows these are, and the round, for error messages.

    Raises
    ------
    TrainingFailed
        If a loss or a message is not finite, or a precision not above 0; names agent and round.
    """

    def failed(what: str, got: object, k: int) -> TrainingFailed:
        wanted = what if what.startswith("precision") else f"finite {what}"
        return TrainingFailed(
            f"training: expected {wanted}, got {got} at agent {agents[k]} in round {round};"
            " lower the learning rate"
        )

    # Two reductions: torch.aminmax of rows takes ten times as long on a CPU as amin and amax.
    ends = [(values.amin(dim=1), values.amax(dim=1)) for values in messages.values()]
    table = torch.stack([losses] + [end.double() for pair in ends for end in pair]).cpu().numpy()
    loss, said = table[0], table[1:].T
    for k in active:
        if not np.isfinite(loss[k]):
            raise failed("losses", loss[k], k)
    for k, row in enumerate(said):
        if not np.isfinite(row).all():
            raise failed("messages", "NaN or infinity", k)
    if "precision" in messages:
        lowest = said[:, 2 * list(messages).index("precision")]
        if (lowest <= 0).any():
            raise failed("precisions above 0", lowest.min(), int(np.argmin(lowest)))
    return np.array(loss)
