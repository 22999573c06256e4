"""`gae`: its parts, what it concludes of numbers made up for the purpose, and a tiny real run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from empirical.data import Images
from empirical.gae.fitting import FitPlan, SnapshotPlan, fit, held_out_curves
from empirical.gae.recipe import Recipe
from peerbayes.experiments import gae_rows, gae_runs
from peerbayes.experiments.campaign_plan import planned
from peerbayes.experiments.experiment import Line, RunRecord
from peerbayes.experiments.gae import GAE, GaeExperiment, gae_lines
from peerbayes.experiments.gae_rows import (
    AUTOENCODER,
    FEW,
    RUNS,
    TABLE_1,
    TRIALS,
    GaeContent,
    GaePart,
    looks,
    recipe_of,
)
from peerbayes.experiments.run import run_experiment
from peerbayes.experiments.setting import Setting, parts_folder
from peerbayes.records import read_record
from peerbayes.report.experiments import gae_view
from tests.peerbayes.commands import Patch

# Table 1, typed once more from the paper.
PRINTED = {
    "central": ".9904",
    "pruned balanced 4": ".9893", "pruned balanced 16": ".9780",
    "GAE balanced 4": ".9861", "GAE balanced 16": ".9747",
    "pruned unbalanced 4": ".9562", "pruned unbalanced 16": ".9661",
    "GAE unbalanced 4": ".9260", "GAE unbalanced 16": ".9320",
}  # fmt: skip


def a_run(name: str, seed: int, accuracy: float, *, bits: int = 1_017_632) -> dict[str, Any]:
    """A part's document; two nodes whose mean is `accuracy`."""
    run = next(one for one in (*RUNS, *TRIALS) if one.name == name)
    is_sent = run.recipe.exchange != "none"
    traffic = {"message_bits": bits, "printed_bits": 1_017_632, "beside_bits": 32, "messages": 9}
    return {
        "run": name, "seed": seed, "printed": run.printed, "recipe": run.recipe.as_json(),
        "images": 43_360, "test_images": 10_000, "digits": [[0]], "missing_digits": [],
        "rounds": [1, 300], "accuracies": [[0.1, 0.1], [accuracy - 0.01, accuracy + 0.01]],
        "mean_losses": [1.0] * 300, "traffic": traffic if is_sent else None, "autoencoder": None,
        "behaviour": "b", "versions": {}, "data": {}, "seconds": 1.0,
    }  # fmt: skip


def concluded(*parts: dict[str, Any]) -> dict[str, Line]:
    content = {f"{part['run']} seed {part['seed']}": part for part in parts}
    return {line.what: line for line in gae_lines(GaeContent.of(content))}


# Parts ------------------------------------------------------------------------------------------


def test_the_nine_runs_are_those_of_table_1() -> None:
    assert {run.name: run.printed for run in TABLE_1} == PRINTED
    for run in TABLE_1:
        recipe = run.recipe
        assert (recipe.rounds, recipe.mixing, recipe.kept, recipe.exact, recipe.latent) == (
            300, 0.5, 50_000, 250, 50,
        )  # fmt: skip
    assert not any(run.printed for run in RUNS if run not in TABLE_1)
    assert len({run.name for run in RUNS}) == len(RUNS)


def test_controls_differ_in_one_thing() -> None:
    by_name = {run.name: run.recipe for run in RUNS}
    plain = by_name["GAE unbalanced 16"]
    for words, change in {
        "GAE unbalanced 16 masked": {"merge": "masked"},
        "GAE unbalanced 16 no dropout": {"dropout": 0.0},
        "GAE unbalanced 16 random neighbour": {"neighbour": "random"},
        "GAE unbalanced-all 16": {"split": "unbalanced-all"},
        "alone unbalanced 16": {"exchange": "none"},
        "full unbalanced 16": {"exchange": "full"},
        "spline unbalanced 16": {"exchange": "spline"},
    }.items():
        assert by_name[words] == replace(plain, **change)  # type: ignore[arg-type]
    coded, fine = (by_name[f"coded unbalanced 16{word}"].codec for word in ("", " fine"))
    assert coded is not None
    assert {**coded, "step": 0.02} == fine != coded


def test_trials_are_short_and_of_what_is_run_at_length() -> None:
    assert len({run.name for run in (*RUNS, *TRIALS)}) == len(RUNS) + len(TRIALS)
    by_name = {run.name: run.recipe for run in (*RUNS, *TRIALS)}
    short = {"rounds": 60, "batch": 512, "closing": 0}
    for tried, whole in {
        "full": "full unbalanced 16",
        "pruned": "pruned unbalanced 16",
        "differences": "differences unbalanced 16",
        "coded fine": "coded unbalanced 16 fine",
    }.items():
        recipe = replace(by_name[f"trial {tried}"], closing=0)
        assert recipe == replace(by_name[whole], **short)  # type: ignore[arg-type]
    # Messages of wavelets grow shorter, so that as many bits as differences are a larger share.
    short_codec = by_name["trial wavelet 0.04"].codec
    assert short_codec is not None
    assert {**short_codec, "share": 0.05} == by_name["wavelet unbalanced 16 closing"].codec
    for run in TRIALS:
        assert (run.recipe.nodes, run.recipe.split) == (16, "unbalanced")
        assert GAE.part_settings(f"{run.name} seed 0")["images"] == [15_000, 4_000]


def test_seeds_and_words_choose_parts() -> None:
    assert GAE.parts[0] == AUTOENCODER
    assert len(GAE.parts) == 2 + 5 * (len(RUNS) + len(TRIALS))
    assert GAE.parts_with("GAE balanced 4 seed") == tuple(
        f"GAE balanced 4 seed {k}" for k in range(5)
    )
    # A whole name is that part alone.
    assert GAE.parts_with(AUTOENCODER) == (AUTOENCODER,)
    assert GAE.parts_with("central", seeds=1) == ("central seed 0",)
    with pytest.raises(ValueError, match="--part: expected words of names such as autoencoder"):
        GAE.parts_with("pigeon")
    quick = replace(GAE, is_quick=True, seeds=1)
    assert {f"{run.name} seed 0" for run in TABLE_1} < set(quick.parts)
    # Runs of a seed are paired.
    assert {GAE.stream(name) for name in GAE.parts if name.endswith("seed 3")} == {3}


def test_what_a_part_depends_on() -> None:
    pruned, coded = (GAE.part_settings(f"{way} balanced 4 seed 0") for way in ("pruned", "GAE"))
    assert "autoencoder" not in pruned
    assert coded["autoencoder"]["snapshots"]["trajectories"] == 110
    assert coded["autoencoder"] == GAE.part_settings(AUTOENCODER)["autoencoder"]
    few = GAE.part_settings(f"GAE balanced 4 {FEW} seed 0")
    assert few["autoencoder"]["snapshots"]["trajectories"] == 11
    assert few["autoencoder"]["fit"]["epochs"] == 10 * coded["autoencoder"]["fit"]["epochs"]
    assert few["recipe"] == coded["recipe"]
    assert few["autoencoder"] == GAE.part_settings(f"{AUTOENCODER} {FEW}")["autoencoder"]
    quick = replace(GAE, is_quick=True)
    assert not any(FEW in name for name in quick.parts)
    assert quick.part_settings("central seed 0") != GAE.part_settings("central seed 0")


def test_a_record_says_that_a_gpu_multiplied_in_bfloat16() -> None:
    for part in (GaePart(TABLE_1[3]), GaePart(None)):
        here, there = (recipe_of(part, is_quick=False, device=one) for one in ("cpu", "cuda"))
        assert "products" not in here.as_json()
        assert there.as_json() == {**here.as_json(), "products": "bfloat16"}


def test_autoencoders_have_files_of_their_own() -> None:
    def used(name: str) -> str:
        return gae_runs.file_of(GAE.part(name))

    assert used(AUTOENCODER) == used("GAE balanced 4 seed 0") == "autoencoder.safetensors"
    few = used(f"{AUTOENCODER} {FEW}")
    assert few == used(f"GAE balanced 4 {FEW} seed 3") == "autoencoder-few-snapshots.safetensors"


def test_looks_end_with_the_last_round() -> None:
    for rounds in (1, 2, 5, 300):
        found = looks(rounds)
        assert found[-1] == rounds
        assert list(found) == sorted(set(found))
    assert len(looks(300)) < 25


def test_the_campaign_runs_the_autoencoder_before_who_needs_it() -> None:
    tasks = [task for task in planned() if task.row == "gae"]
    names = [task.name for task in tasks]
    assert len(set(names)) == len(names)
    assert {task.part.name for task in tasks} == set(GAE.parts)
    for place, task in enumerate(tasks):
        if task.needs is not None:
            assert "GAE" in task.name
            assert (FEW in task.name) == (FEW in task.needs)
            assert names.index(task.needs) < place
        assert task.seconds > 60
    assert sum(task.needs is not None for task in tasks) == 5 * 15


# Lines ------------------------------------------------------------------------------------------


def test_means_and_errors_are_over_seeds() -> None:
    lines = concluded(*(a_run("GAE unbalanced 4", s, 0.9 + 0.01 * s) for s in range(3)))
    line = lines["accuracy after the exchange, GAE unbalanced 4"]
    assert line.printed == ".9260"
    assert line.measured == pytest.approx(0.91)
    assert line.standard_error == pytest.approx(0.01 / np.sqrt(3))
    assert line.holds is None


def test_gaps_are_paired_by_seed() -> None:
    parts = [a_run("GAE unbalanced 16", s, 0.9 + 0.02 * s) for s in range(3)]
    parts += [a_run("pruned unbalanced 16", s, 0.93 + 0.02 * s, bits=2_600_000) for s in (0, 1)]
    line = concluded(*parts)["points of accuracy that GAE unbalanced 16 loses to pruned"]
    assert line.printed.startswith(".9661 − .9320")
    assert line.measured == pytest.approx(3.0)
    assert line.standard_error == pytest.approx(0.0, abs=1e-12)


def test_a_changed_choice_is_held_against_the_run_without_it() -> None:
    parts = [a_run("pruned unbalanced 16", s, 0.9 + 0.02 * s) for s in range(2)]
    parts += [a_run("pruned unbalanced 16 masked", s, 0.8 + 0.03 * s) for s in range(2)]
    parts += [a_run("GAE unbalanced 16 masked", 0, 0.7)]  # its own other half is not there
    lines = concluded(*parts)
    gap = lines["points of accuracy that pruned unbalanced 16 masked loses to pruned unbalanced 16"]
    assert gap.measured == pytest.approx(9.5)
    assert gap.standard_error == pytest.approx(0.5)
    other = lines["points of accuracy that GAE unbalanced 16 masked loses to pruned"]
    assert other.measured == pytest.approx(10.0)
    assert not any("GAE unbalanced 16 masked loses to GAE" in what for what in lines)


def test_trials_are_told_apart_from_runs() -> None:
    """They are judged by other images: no gap to a run, no bits beside eqs 4 to 6."""
    parts = [a_run("trial full", s, 0.9 + 0.02 * s, bits=300_000) for s in (0, 1)]
    for part in parts:
        look = {"exchanges": 0, "accuracies": [0.8, 0.84], "sent_bits": 10}
        part |= {"closing": [look], "recipe": {**part["recipe"], "rounds": 60}}
    (line,) = concluded(*parts).values()
    assert line.what == "accuracy on images that nobody holds, trial full"
    assert line.measured == pytest.approx(0.91)
    assert line.standard_error == pytest.approx(0.01)
    # Nine messages of two nodes in sixty rounds.
    assert "T = 60, 2 seeds, 43360 images; 22 kbit a round" in line.remark
    assert "0.8200 before its 16 closing exchanges" in line.remark


def test_codecs_are_held_against_what_they_replace() -> None:
    """Bits of messages that differ in size, and gaps by seed; negative where a codec is better."""
    parts = [a_run("coded unbalanced 4", s, 0.96, bits=260_000 + 10_000 * s) for s in range(3)]
    parts += [a_run("pruned unbalanced 4", s, 0.95, bits=2_600_000) for s in range(3)]
    parts += [a_run("differences balanced 16", 0, 0.97), a_run("full balanced 16", 0, 0.98)]
    parts += [a_run("differences balanced 16 closing", 0, 0.975)]
    lines = concluded(*parts)
    bits = lines["bits that a node sends in a round, coded unbalanced 4"]
    # `a_run` has two nodes, 300 rounds and nine messages.
    assert bits.measured == pytest.approx(270_000 * 9 / 600)
    assert bits.standard_error == pytest.approx(10_000 * 9 / 600 / np.sqrt(3))
    assert bits.remark == "1/642.0 of eq. 5, 1/4848 of eq. 4"
    gap = lines["points of accuracy that coded unbalanced 4 loses to pruned"]
    assert gap.measured == pytest.approx(-1.0)
    assert lines[
        "points of accuracy that differences balanced 16 loses to full"
    ].measured == pytest.approx(1.0)
    assert lines[
        "points of accuracy that differences balanced 16 closing loses to full"
    ].measured == pytest.approx(0.5)


def test_a_short_run_is_called_short() -> None:
    part = a_run("central", 0, 0.9)
    part["recipe"] |= {"rounds": 3}
    assert "short: the paper has T = 300" in concluded(part)[
        "accuracy after the exchange, central"
    ].remark  # fmt: skip


def test_other_bits_than_the_formulas_contradict() -> None:
    what = "bits of a message, GAE"
    assert concluded(a_run("GAE balanced 4", 0, 0.9))[what].holds is True
    assert concluded(a_run("GAE balanced 4", 0, 0.9, bits=1_017_664))[what].holds is False


# A tiny real run --------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch: Patch, tmp_path: Path) -> GaeExperiment:
    """Made-up images, three rounds, an autoencoder of six snapshots."""
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (80, 28, 28)).astype(np.uint8)
    images = Images(pixels, np.arange(80) % 10, "mnist", tuple("0123456789"))
    monkeypatch.setattr(gae_runs, "load_images", lambda *_, **__: images)
    monkeypatch.setattr(gae_runs, "QUICK_IMAGES", 80)
    monkeypatch.setattr(gae_runs, "QUICK_TEST", 20)
    monkeypatch.setattr("empirical.data.locate", lambda *_, **__: Path())
    plans = (
        SnapshotPlan(trajectories=2, epochs=3, batch=40),
        FitPlan(epochs=2, batch=2, held_out=0.5),
    )
    for module in (gae_rows, gae_runs):
        monkeypatch.setattr(module, "plans_of", lambda part, *, is_quick: plans)
    folder = parts_folder(tmp_path, "gae quick")
    return GaeExperiment(seeds=1, is_quick=True, setting=Setting(folder=folder, resume=True))


def test_a_tiny_run_without_autoencoder(tiny: GaeExperiment, tmp_path: Path) -> None:
    only = ("pruned balanced 4 seed 0", "central seed 0", "coded unbalanced 4 seed 0")
    found = run_experiment(tiny, only=only, out=tmp_path)
    assert not found.failed
    run = RunRecord.model_validate(read_record(found.record_path).body)
    found_runs = GaeContent.of(run.content)
    pruned, central, coded = (found_runs.named(name.removesuffix(" seed 0"))[0] for name in only)
    assert central.traffic is None
    assert len(central.mean_losses) == 3
    assert pruned.traffic is not None
    assert pruned.traffic.message_bits == 2_600_000
    assert pruned.traffic.messages == 4 * 3
    assert coded.traffic is not None
    assert coded.traffic.sent_bits is not None
    assert coded.traffic.sent_bits[-1] == pytest.approx(coded.traffic.message_bits * 4 * 3)
    assert coded.traffic.message_bits < 350_000
    assert "Test accuracy over bits, unbalanced 4 nodes" in {
        shown.title for shown in gae_view(run, key="k").pictures
    }
    again = run_experiment(tiny, only=only, out=tmp_path, resume=True)
    assert set(again.reused) == set(only), again.discarded


def gone_on_with(
    tiny: GaeExperiment, name: str, last: int, monkeypatch: Patch
) -> tuple[list[int], Any, Any]:
    """A part that is stopped after a step and taken up again.

    What its progress then says, and the documents of a whole run and of this one.
    """
    monkeypatch.setattr("exact.checkpoint.EVERY_SECONDS", 0.0)
    monkeypatch.setattr("exact.checkpoint.SHARE", 0)
    steps: list[int] = []

    def stop(done: int, total: int) -> None:
        if done == last:
            raise KeyboardInterrupt

    def run(progress: Any) -> dict[str, Any]:
        document = tiny.run_part(name, seed=11, replicates=1, progress=progress).as_json()
        return {**document, "seconds": 0}

    whole = run(None)
    tiny.settled(name)
    with pytest.raises(KeyboardInterrupt):
        run(stop)
    resumed = run(lambda done, total: steps.append(done))
    tiny.settled(name)
    assert not list((tiny.setting.folder or Path()).glob("*.unfinished.*"))
    return steps, whole, resumed


def test_an_interrupted_run_ends_the_same(tiny: GaeExperiment, monkeypatch: Patch) -> None:
    """Stopped after its second round, taken up from the state it left, codecs' memories in it."""
    rounds, whole, resumed = gone_on_with(tiny, "differences unbalanced 4 seed 0", 2, monkeypatch)
    assert rounds == [3]
    assert resumed == whole


def test_a_missing_autoencoder_is_named(tiny: GaeExperiment) -> None:
    with pytest.raises(ValueError, match='train it first: --part "autoencoder"'):
        tiny.run_part("GAE balanced 4 seed 0", seed=0, replicates=1, progress=None)


# The autoencoder's training ---------------------------------------------------------------------


def test_whole_trajectories_are_held_out() -> None:
    """Each curve is its trajectory's number throughout."""
    import torch

    curves = torch.arange(6.0)[:, None, None].expand(6, 4, 10).contiguous()
    recipe = Recipe(kept=10, exact=1, latent=2)
    plan = FitPlan(held_out=1 / 3, split="trajectories")
    held = held_out_curves(curves, plan, recipe)
    assert held.shape == (8, 8)
    assert np.unique(held.numpy(), return_counts=True)[1].tolist() == [4 * 8, 4 * 8]
    mixed = held_out_curves(curves, replace(plan, split="random"), recipe)
    assert len(np.unique(mixed.numpy())) > 2
    with pytest.raises(ValueError, match="trajectories: expected enough to hold"):
        held_out_curves(curves[:1], plan, recipe)


def test_training_learns_curves_of_one_family() -> None:
    """Curves s · c, s from 1 to 2: after training far nearer than their mean."""
    import torch

    random = np.random.default_rng(0)
    base = np.sort(random.normal(size=40).astype(np.float32))
    scales = random.uniform(1, 2, (8, 10, 1)).astype(np.float32)
    curves = torch.from_numpy(scales * base)
    recipe = Recipe(kept=40, exact=2, latent=5)
    found = fit(curves, FitPlan(epochs=60, batch=8, held_out=0.25, split="random"), recipe)
    assert found.validation[-1] < 0.1 * found.variance
    assert found.validation[-1] < found.validation[0]
    assert len(found.training) == 60
