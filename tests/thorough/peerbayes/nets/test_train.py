"""Trainings: what their notes warn of, side by side, with every schedule of rates."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from empirical.train.learners import LEARNERS
from peerbayes.records import read_record
from tests.peerbayes.nets import test_train as quick
from tests.peerbayes.nets.test_train import Gated, X, dropping, rated, set_in_part, torch, trained


def test_what_harms_is_in_the_notes() -> None:
    """A function that draws by another generator, a prior for each datum, a loss that rises."""
    rng = np.random.default_rng(0)
    noise = [(x, rng.integers(2, size=60)) for x in X]

    def build() -> torch.nn.Module:
        return set_in_part(lambda out: out.bias.data.fill_(0.1 * rng.normal()))()

    wide = {**rated(0.3), "prior_precision": 1e-4}
    found = trained(build, noise, rounds=60, validation=0.5, learner=wide)
    starts = ("first weights: others at each call", "prior_std: 10.54", "validation: −log p has")
    assert all(map(str.startswith, found.notes, starts))
    lost = {}
    for prior in ({}, {"prior_precision": 1e-4}):
        learner = {**rated(0.3), **prior}
        one = trained(lambda: Gated(2), noise, rounds=60, validation=0.5, learner=learner)
        lost[len(prior)] = one.metrics.validation.mean("nll") - np.log(2)
    assert lost[0] < lost[1] / 2  # the prior that is there unasked holds nets back from noise
    quiet = trained(lambda: Gated(2), noise, rounds=60, validation=0.5, patience=3)
    assert not any(note.startswith(starts) for note in quiet.notes)


def test_rates_and_products_are_those_asked_for(tmp_path: Path) -> None:
    """They are in the record, name the training, and reach the steps."""
    rates = []
    for how in ({}, {"schedule": "geometric", "decay": 0.5}, {"warm_up": 0.5}):
        folder = tmp_path / str(len(rates))
        one = trained(lambda: Gated(2), out=folder, products="bfloat16", seed=3, **how)
        body = read_record(*folder.glob("train-*.json")).body
        asked = {"schedule": "cosine", "decay": 1.0, "warm_up": 0.0, "products": "bfloat16", **how}
        assert {name: body["settings"][name] for name in asked} == asked
        rates.append((body["fingerprint"], one.mean))
    assert len({fingerprint for fingerprint, _ in rates}) == 3
    assert not any(torch.equal(rates[0][1], other) for _, other in rates[1:])
    noted = set()

    class Noting(Gated):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            noted.add((self.training, torch.is_autocast_enabled("cpu")))
            return super().forward(x)

    build = Noting(2)
    noted.clear()
    trained(build, products="bfloat16", rounds=1)
    assert {(True, True), (False, True)} <= noted  # training, and validation
    chosen = trained(lambda: Gated(2), out=tmp_path / "auto", rounds=1)
    assert chosen.settings["products"] in ("highest", "medium")
    body = read_record(*(tmp_path / "auto").glob("train-*.json")).body
    assert body["settings"]["products"] == chosen.settings["products"]


def test_runs_side_by_side_draw_what_they_draw_alone() -> None:
    seeds = range(3)
    alone = [trained(dropping, seed=seed) for seed in seeds]
    with ThreadPoolExecutor(len(seeds)) as pool:
        together = list(pool.map(lambda seed: trained(dropping, seed=seed), seeds))
    for one, other in zip(alone, together, strict=True):
        assert torch.equal(one.mean, other.mean)
        assert torch.equal(one.variance, other.variance)
    assert torch.get_num_threads() >= 1


@pytest.mark.parametrize("learner", sorted(set(LEARNERS) - {"averaging", "natural-gradient"}))
def test_every_learner_learns(learner: str, tmp_path: Path) -> None:
    quick.test_every_learner_learns(learner, tmp_path)
