"""Tiny runs that are interrupted, or train the autoencoder of 12.7 million weights."""

# ruff: noqa: F811 - the fixture `tiny` is a parameter too

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.data import Images
from peerbayes.experiments import gae_runs
from peerbayes.experiments.experiment import Job, RunRecord
from peerbayes.experiments.gae import GaeExperiment
from peerbayes.experiments.gae_rows import AUTOENCODER, TRIALS, GaeContent, GaePart
from peerbayes.experiments.run import run_experiment
from peerbayes.experiments.setting import Setting, parts_folder
from peerbayes.experiments.short_records import read_row, write_short
from peerbayes.records import read_record
from peerbayes.report.experiments import gae_view
from tests.peerbayes.commands import Patch
from tests.peerbayes.test_gae import (
    gone_on_with,
    tiny,  # noqa: F401
)


def test_an_autoencoder_stopped_in_its_second_training_keeps_the_first(
    tiny: GaeExperiment, monkeypatch: Patch
) -> None:
    """Of the first nothing is trained again; of the second, no epoch that was over."""
    notices: list[str] = []
    tiny = replace(tiny, setting=replace(tiny.setting, notice=notices.append))
    last = 2 + 2 + 2  # trajectories, epochs of the first training, epochs of the second
    steps, whole, resumed = gone_on_with(tiny, AUTOENCODER, last, monkeypatch)
    assert steps == [2, last]
    assert not notices
    assert resumed == whole


def test_a_tiny_run_its_record_and_its_page(tiny: GaeExperiment, tmp_path: Path) -> None:
    only = (
        AUTOENCODER, "GAE unbalanced 4 seed 0", "pruned balanced 4 seed 0", "central seed 0",
        "coded unbalanced 4 seed 0",
    )  # fmt: skip
    found = run_experiment(tiny, only=only, out=tmp_path)
    assert not found.failed
    run = RunRecord.model_validate(read_record(found.record_path).body)
    autoencoder, coded, pruned, central = (
        GaeContent.of(run.content).autoencoders[AUTOENCODER],
        *(
            GaeContent.of(run.content).named(name)[0]
            for name in ("GAE unbalanced 4", "pruned balanced 4", "central")
        ),
    )
    assert autoencoder.weights == 12_744_718
    assert [one.split for one in autoencoder.fits] == ["random", "trajectories"]
    assert coded.autoencoder == autoencoder.sha256
    assert coded.traffic is not None
    assert coded.traffic.message_bits == coded.traffic.printed_bits == 1_017_632
    assert coded.traffic.messages == 4 * 3
    assert coded.images == 4 * 8 * 2
    assert pruned.traffic is not None
    assert pruned.traffic.message_bits == 2_600_000
    assert central.traffic is None
    assert len(central.mean_losses) == 3
    titles = {shown.title for shown in gae_view(run, key="k").pictures}
    assert titles == {
        "Test accuracy over the rounds (Fig. 4 of the paper)",
        "Test accuracy over bits, unbalanced 4 nodes",
        "What the autoencoder is given, and what it gives back",
    }
    (ours,) = GaeContent.of(run.content).named("coded unbalanced 4")
    assert ours.traffic is not None
    assert ours.traffic.sent_bits is not None
    assert ours.traffic.sent_bits[-1] == pytest.approx(ours.traffic.message_bits * 4 * 3)
    assert ours.traffic.message_bits < 350_000
    # Short records have the same lines, and a second run reads all parts back.
    write_short(tmp_path, tiny, only[1], found.parts[only[1]])
    short = read_row(tmp_path, tiny.name).parts[only[1]]
    assert short.seconds == pytest.approx(coded.seconds, rel=1e-3)
    again = run_experiment(tiny, only=only, out=tmp_path, resume=True)
    assert set(again.reused) == set(only), again.discarded
    # A damaged autoencoder is not taken for whole.
    path = parts_folder(tmp_path, "gae quick") / gae_runs.file_of(GaePart(None))
    path.write_bytes(path.read_bytes()[:-4] + b"1234")
    assert tiny.damage(AUTOENCODER, found.parts[AUTOENCODER], path.parent) is not None


@pytest.mark.parametrize("name", ["pruned balanced 4 seed 0", "coded unbalanced 4 seed 0"])
def test_an_interrupted_run_ends_the_same(
    tiny: GaeExperiment, monkeypatch: Patch, name: str
) -> None:
    rounds, whole, resumed = gone_on_with(tiny, name, 2, monkeypatch)
    assert rounds == [3]
    assert resumed == whole


def test_a_trial_looks_at_training_images_that_nobody_holds(
    tiny: GaeExperiment, monkeypatch: Patch
) -> None:
    def load(name: str, *, split: str, **_: Any) -> Images:
        assert (name, split) == ("mnist", "train")
        return images

    # Every image has a pixel of its own.
    pixels = np.zeros((80, 28, 28), np.uint8)
    pixels[np.arange(80), 0, 0] = np.arange(80)
    images = Images(pixels, np.arange(80) % 10, "mnist", tuple("0123456789"))
    monkeypatch.setattr(gae_runs, "load_images", load)
    monkeypatch.setattr(gae_runs, "TRIAL_IMAGES", 40)
    monkeypatch.setattr(gae_runs, "TRIAL_TEST", 20)
    learnt, held = gae_runs.images_of_trial(tiny.setting)
    own, others = ({*one.pixels[:, 0, 0].tolist()} for one in (learnt, held))
    assert (len(own), len(others), own & others) == (40, 20, set())
    assert all(np.bincount(one.labels).tolist() == [len(one) // 10] * 10 for one in (learnt, held))
    (run,) = [one for one in TRIALS if one.name == "trial differences"]
    recipe = replace(run.recipe, nodes=4, rounds=4, every=2, closing=3)
    part = GaePart(replace(run, recipe=recipe))
    found = gae_runs.run_gae(part, Job(seed=0), is_quick=False, setting=Setting())
    assert found.test_images == 20
    assert found.images == 4 * 8
    assert [one.exchanges for one in found.closing] == [0, 1, 2]
    assert found.traffic is not None
    assert found.traffic.messages == 4 * 5
    total = found.traffic.message_bits * found.traffic.messages
    sent = [*(one.sent_bits for one in found.closing), total]
    assert 0 < sent[0] < sent[1] < sent[2] < sent[3]
    # Before the last round, of two exchanges one is over.
    assert found.traffic.sent_bits is not None
    assert found.traffic.sent_bits[found.rounds.index(3)] < sent[0]
