"""What the notes of a training warn of."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.peerbayes.nets.test_train import Gated, X, set_in_part, torch, trained


def test_what_harms_is_in_the_notes() -> None:
    """A function that draws by another generator, a prior for each datum, a loss that rises."""
    rng = np.random.default_rng(0)
    noise = [(x, rng.integers(2, size=60)) for x in X]

    def build() -> torch.nn.Module:
        return set_in_part(lambda out: out.bias.data.fill_(0.1 * rng.normal()))()

    wide = {"prior_precision": 1e-4, "rate": 0.3}
    found = trained(build, noise, rounds=60, validation=0.5, settings=wide)
    starts = ("first weights: others at each call", "prior_std: 10.54", "validation: −log p has")
    assert all(map(str.startswith, found.notes, starts))
    lost = {}
    for prior in ({}, {"prior_precision": 1e-4}):
        settings = {"rate": 0.3, **prior}
        one = trained(lambda: Gated(2), noise, rounds=60, validation=0.5, settings=settings)
        lost[len(prior)] = one.metrics.validation.mean("nll") - np.log(2)
    assert lost[0] < lost[1] / 2  # the prior that is there unasked holds nets back from noise
    quiet = trained(lambda: Gated(2), noise, rounds=60, validation=0.5, patience=3)
    assert not any(note.startswith(starts) for note in quiet.notes)
