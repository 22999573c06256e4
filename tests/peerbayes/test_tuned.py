"""`tuned`: the search that all methods get, what is trained and counted, and the command."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

pytest.importorskip("torch")

import torch

from empirical.data import Images
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.comparing import (
    Length,
    SplitImages,
    Trained,
    judged,
    train_alone,
    train_network,
    train_server,
)
from empirical.train.learners import learner_of
from peerbayes.experiments import campaign
from peerbayes.experiments.campaign import Campaign, campaign_parts, run_campaign
from peerbayes.experiments.campaign_plan import CampaignDocument, TaskDocument, planned, selected
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.short_records import read_row
from peerbayes.experiments.tuned import (
    TunedExperiment,
    contenders,
    difference,
    method_results,
    tuned_lines,
)
from peerbayes.experiments.tuned_search import (
    METHODS,
    SEARCH,
    Method,
    Settings,
    Trial,
    TunedPart,
    TunedTraining,
)
from peerbayes.records import read_record
from tests.peerbayes.commands import Capture, Patch, complaint, json_of
from tests.peerbayes.tiny_nets import make_tiny
from theory.network import Network

Loss = Callable[[Settings], float]


# The search -------------------------------------------------------------------------------------


def searched(method: Method, loss: Loss) -> list[Trial]:
    found: list[Trial] = []
    for _ in range(SEARCH.trials):
        settings = SEARCH.settings(method, found)
        found.append(Trial(settings, loss(settings)))
    return found


def bowl(**centre: float) -> Loss:
    """Squared distance in logarithms from a setting."""
    return lambda settings: sum(
        math.log(float(settings[name]) / value) ** 2 for name, value in centre.items()
    )


def test_every_method_gets_as_many_settings_that_its_learner_takes() -> None:
    for method in METHODS.values():
        assert len(method.grid) == SEARCH.first == 8
        found = searched(method, lambda settings: 1.0)
        tried = [json.dumps(dict(one.settings)) for one in found]
        assert len(set(tried)) == SEARCH.trials == 12
        for one in found:
            own = {name: value for name, value in one.settings.items() if name != "mixture"}
            if method.learner:
                learner_of(method.learner, **own)


def test_an_optimum_beyond_the_grid_is_followed_there() -> None:
    found = searched(METHODS["averaging"], bowl(rate=1.7))
    assert [one.settings["rate"] for one in found[8:11]] == [0.8, 1.6, 3.2]
    choice = SEARCH.chosen(METHODS["averaging"], found)
    assert (choice.settings, choice.edges) == ({"rate": 1.6}, ())
    # Downwards likewise; four trials do not reach a far optimum, and the choice says so.
    found = searched(METHODS["averaging"], bowl(rate=1e-6))
    assert [one.settings["rate"] for one in found[8:]] == [0.0015, 0.00075, 0.000375, 0.000188]
    assert SEARCH.chosen(METHODS["averaging"], found).edges == ("rate",)


def test_a_setting_stops_at_its_limit() -> None:
    sites = METHODS["sites"]
    short = replace(sites, limits={"standing": 0.7})
    found = searched(short, bowl(standing=5.0, rate=0.3, trust=3.0))
    assert max(float(one.settings["standing"]) for one in found) == 0.7
    assert SEARCH.chosen(short, found).settings["standing"] == 0.7
    assert "standing" not in SEARCH.chosen(short, found).edges


def test_an_optimum_within_the_grid_is_closed_in_on() -> None:
    centre = 0.035
    found = searched(METHODS["central"], bowl(rate=centre))
    # Halfway in logarithms between .025 and its neighbours, the wider gap (.05 : .025) first.
    assert found[8].settings["rate"] == pytest.approx(math.sqrt(0.012 * 0.025), rel=5e-3)
    assert found[9].settings["rate"] == pytest.approx(math.sqrt(0.025 * 0.05), rel=5e-3)
    best = SEARCH.chosen(METHODS["central"], found)
    assert best.loss == min(one.loss for one in found) < min(one.loss for one in found[:8])
    assert not best.edges


@given(
    name=st.sampled_from(sorted(METHODS)),
    weights=st.lists(st.floats(-2, 2), min_size=3, max_size=3),
    seed=st.integers(0, 99),
)
def test_a_new_trial_is_one_step_from_the_best(name: str, weights: list[float], seed: int) -> None:
    method = METHODS[name]
    noise = np.random.default_rng(seed)

    def loss(settings: Settings) -> float:
        numbers = [value for value in settings.values() if not isinstance(value, str)]
        tilt = sum(w * math.log(v) for w, v in zip(weights, numbers, strict=False))
        return math.inf if noise.random() < 0.2 else tilt + noise.random()

    found: list[Trial] = []
    for _ in range(SEARCH.trials):
        settings = SEARCH.settings(method, found)
        assert settings not in [one.settings for one in found]
        if len(found) >= SEARCH.first:
            best = min(found, key=lambda one: one.loss).settings
            (axis,) = [key for key in best if best[key] != settings[key]]
            line = [
                one.settings[axis]
                for one in found
                if all(one.settings[key] == best[key] for key in best if key != axis)
            ]
            inside = min(line) < settings[axis] < max(line)
            # Inside only where the best has neighbours on every side that is open.
            for other in method.axes if inside else ():
                beside = [
                    one.settings[other]
                    for one in found
                    if all(one.settings[key] == best[key] for key in best if key != other)
                ]
                assert best[other] > min(beside)
                assert best[other] < max(beside) or best[other] == method.limits.get(other)
            assert float(settings[axis]) <= method.limits.get(axis, math.inf)
        found.append(Trial(settings, loss(settings)))


def test_what_broke_down_is_never_chosen() -> None:
    method = METHODS["averaging"]
    found = searched(method, lambda s: math.inf if float(s["rate"]) > 0.01 else -float(s["rate"]))
    assert float(SEARCH.chosen(method, found).settings["rate"]) <= 0.01
    broken = searched(method, lambda settings: math.inf)
    with pytest.raises(ValueError, match="search of averaging: expected a trial that ended"):
        SEARCH.chosen(method, broken)
    with pytest.raises(ValueError, match="expected 12 trials, got 11; run its parts first"):
        SEARCH.chosen(method, broken[:-1])


# Training ---------------------------------------------------------------------------------------

NET = perceptron(4, 5, outputs=3)
PAIR = Network(np.full((2, 2), 0.5))


def marked_images(count: int, first: int) -> Images:
    """Images of four pixels that spell their number."""
    numbers = np.arange(first, first + count)
    pixels = np.stack([numbers // 64 % 64, numbers % 64, 0 * numbers, 0 * numbers + 9], axis=1)
    return Images(pixels.reshape(-1, 2, 2), numbers % 3, "marked", ("a", "b", "c"), 64)


def halves(labels: Any) -> list[Any]:
    return [np.arange(len(labels))[k::2] for k in range(2)]


def test_nobody_learns_from_what_is_held_out() -> None:
    data = SplitImages(marked_images(120, 0), marked_images(30, 500), None)
    shares = data.shares(halves)
    held = {tuple(row) for row in data.validation[0].tolist()}
    learnt = {tuple(row) for rows in shares.indices for row in shares.inputs[rows].tolist()}
    assert (len(held), len(learnt)) == (20, 100)
    assert not held & learnt
    # Labels stay with their images.
    everything = marked_images(120, 0)
    by_image = dict(zip(map(bytes, everything.pixels), everything.labels, strict=True))
    inputs, labels = data.validation
    for image, label in zip(inputs.numpy() * 64, labels.tolist(), strict=True):
        assert by_image[bytes(image.round().astype(np.uint8))] == label


def random_shares(seed: int, sizes: tuple[int, ...]) -> Shares:
    generator = torch.Generator().manual_seed(seed)
    count = sum(sizes)
    inputs = torch.rand(count, 4, generator=generator)
    labels = torch.randint(0, 3, (count,), generator=generator)
    rows = torch.arange(count).split(list(sizes))
    return Shares(inputs, labels, tuple(rows))


def test_a_server_is_averaging_on_the_complete_graph() -> None:
    # With all examples in every batch only the arithmetic's order differs: float32 rounding of a
    # dozen steps of rate .5, far below 1e-5.
    shares, length = random_shares(0, (20, 20)), Length(3, 4, 20)
    by_server = train_server(NET, shares, PAIR, length, rate=0.5, seed=3)
    plain = learner_of("averaging", rate=0.5, momentum=0.0, weighting="agents")
    by_network = train_network(NET, shares, PAIR, plain, length, seed=3)
    for _, mean, variance in by_network.beliefs:
        assert variance is None
        torch.testing.assert_close(mean, by_server.beliefs[0][1], rtol=0, atol=1e-5)
    assert by_server.local_steps == by_network.local_steps == 2 * 3 * 4
    # Four bytes a weight: to the server and back; to the one neighbour.
    assert by_server.bytes_sent == 2 * 2 * 3 * 4 * NET.parameters
    assert by_network.bytes_sent == 2 * 3 * 4 * NET.parameters


def test_beliefs_send_eight_bytes_a_weight_and_sites_twelve() -> None:
    shares, length = random_shares(1, (20, 30)), Length(2, 2, 5)
    for name, vectors in (("backprop", 2), ("natural-gradient", 2), ("sites", 3)):
        trained = train_network(NET, shares, PAIR, learner_of(name), length, seed=0)
        assert trained.bytes_sent == 2 * 2 * 4 * vectors * NET.parameters


def test_an_ensemble_mixes_predictions() -> None:
    shares, length = random_shares(2, (20, 40)), Length(4, 5, 5)
    how = learner_of("averaging", rate=0.2)
    mixed = {
        mixture: train_alone(NET, shares, PAIR, how, length, mixture=mixture, seed=0)
        for mixture in ("agents", "data")
    }
    assert mixed["agents"].mixture is not None
    assert mixed["data"].mixture is not None
    assert mixed["agents"].mixture.tolist() == [0.5, 0.5]
    assert mixed["data"].mixture == pytest.approx([1 / 3, 2 / 3])
    assert mixed["data"].bytes_sent == 2 * 4 * NET.parameters  # once each
    examples = random_shares(5, (50,))
    test = examples.inputs, examples.labels
    beliefs = mixed["data"].beliefs
    assert not torch.equal(beliefs[0][1], beliefs[1][1])
    # The mixture by hand, from the two nets' weights.
    probabilities = [by_hand(mean, test[0]) for _, mean, _ in beliefs]
    p = (probabilities[0] + 2 * probabilities[1]) / 3
    found = judged(NET, mixed["data"], test, others=None, seed=0)
    right = p.argmax(dim=1) == test[1]
    assert found["accuracy"] == pytest.approx([right.double().mean().item()])
    nll = -p[torch.arange(50), test[1]].log().mean().item()
    assert found["nll"] == pytest.approx([nll], rel=1e-5)  # float32 against float64
    # A mixture of one net is that net: two ways to judge agree.
    others = random_shares(6, (40,)).inputs
    alone = Trained(beliefs[:1], 0, 0, 0.0, np.ones(1))
    plain = Trained(beliefs[:1], 0, 0, 0.0)
    one, other = (judged(NET, some, test, others=others, seed=0) for some in (alone, plain))
    assert list(one) == list(other)
    for measure, values in one.items():
        assert values == pytest.approx(other[measure], abs=1e-6)


def by_hand(weights: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Probabilities of a net of 4, 5 and 3 units: each layer's weights, then its biases."""
    w = weights.double()
    hidden = torch.relu(inputs.double() @ w[:20].reshape(4, 5) + w[20:25])
    return torch.softmax(hidden @ w[25:40].reshape(5, 3) + w[40:], dim=1)


# Lines ------------------------------------------------------------------------------------------


def training(method: str, seed: int, accuracy: list[float], **others: Any) -> dict[str, Any]:
    document = TunedTraining(
        method=method, purpose="seed", number=seed,
        course={"local_steps": 50, "batch": 50, "rounds": 40}, settings={"rate": 0.1},
        edges=["rate"], validation_loss=others.pop("loss", 0.5), agents=2, sizes=[1, 1],
        labels=[[0], [1]], bytes_sent=8_000_000, local_steps=4000, seconds=1.0, seed=seed,
        measures={"accuracy": accuracy, "nll": [0.5, 0.7]}, mark="", versions={}, data={},
        **{"behaviour": f"mark of {method}", **others},
    )  # fmt: skip
    return document.as_json()


def test_lines_have_means_and_errors_over_seeds() -> None:
    values = [[0.80, 0.90], [0.82, 0.90], [0.87, 0.91]]
    parts = {str(k): training("sites", k, value) for k, value in enumerate(values)}
    (line,) = tuned_lines(parts)
    means = [50 * sum(value) for value in values]
    assert line.measured == pytest.approx(statistics.mean(means))
    assert line.standard_error == pytest.approx(statistics.stdev(means) / math.sqrt(3))
    for words in ("rate 0.1 (at the edge)", "NLL 0.600 ± 0.000", "4 MB an agent", "2000 steps"):
        assert words in line.remark
    parts["3"] = training("sites", 3, [], failed="training: …") | {"measures": {}}
    (line,) = tuned_lines(parts)
    assert line.remark.endswith("3 of 4 runs ended")
    assert line.measured == pytest.approx(statistics.mean(means))


def test_kinds_are_compared_by_validation_data_and_in_pairs() -> None:
    shown = {
        # Better on test data, worse on validation data: not the one that is compared.
        "natural-gradient": (0.9, [[0.99, 0.99], [0.99, 0.99]]),
        "sites": (0.4, [[0.80, 0.82], [0.90, 0.92]]),
        "averaging": (0.5, [[0.70, 0.70], [0.84, 0.84]]),
        "central": (0.1, [[0.99, 0.99], [0.99, 0.99]]),
    }
    parts = {
        f"{name} {seed}": training(name, seed, values[seed], loss=loss)
        for name, (loss, values) in shown.items()
        for seed in range(2)
    }
    pair = contenders(method_results(parts))
    assert pair is not None
    assert [one.method.name for one in pair] == ["sites", "averaging"]
    gap = difference(*pair, "accuracy")
    assert gap is not None
    assert gap.mean == pytest.approx((11 + 7) / 2)
    assert gap.error == pytest.approx(2.0)
    last = [line for line in tuned_lines(parts) if "less" in line.what]
    assert last[0].what == "accuracy [%], sites less averaging, 50 steps a round"
    assert last[0].measured == pytest.approx(9.0)
    margin = gap.error * 12.706  # Student's t with one degree of freedom
    assert last[0].remark.endswith(f"not beyond a 95 % margin of {margin:.3g}")
    first = {name: part for name, part in parts.items() if name.endswith("0")}
    (alone, *_) = [line for line in tuned_lines(first) if "less" in line.what]
    assert alone.remark.endswith("one seed has no margin")


# The command ------------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch: Patch) -> None:
    make_tiny(monkeypatch.setattr)


@pytest.mark.usefixtures("tiny")
def test_a_run_searches_then_tests_and_goes_on(tmp_path: Path, capsys: Capture) -> None:
    words = ["run", "fmnist-2-iid", "--recipe", "tuned", "--quick", "--out", str(tmp_path)]
    part = ["--part", "2-steps-averaging", "--json", "--quiet"]
    printed = json_of(capsys, [*words, *part])
    assert printed["experiment"] == "fmnist-2-iid-tuned-quick"
    assert len(printed["parts"]) == 2 * (3 + 1)
    assert [line["what"].split(", ")[1] for line in printed["lines"]] == [
        "averaging", "averaging-adam",
    ]  # fmt: skip
    assert "AUROC of other data" in printed["lines"][0]["remark"]
    assert "all methods tuned alike" in Path(printed["report"]).read_text(encoding="utf-8")
    content = read_record(Path(printed["record"])).body["content"]
    for method in ("averaging", "averaging-adam"):
        trials = [content[f"2-steps-{method}-search-{k}"] for k in (1, 2, 3)]
        assert [one["settings"] for one in trials[:2]] == list(map(dict, METHODS[method].grid[:2]))
        losses = [statistics.mean(one["measures"]["nll"]) for one in trials]
        best = losses.index(min(losses))
        test = content[f"2-steps-{method}-seed-0"]
        assert test["settings"] == trials[best]["settings"]
        assert test["validation_loss"] == pytest.approx(losses[best])
        assert all("other_data_auroc" not in one["measures"] for one in trials)
    # Nothing is run twice; a lost trial is run again to the last bit, and no more.
    folder = tmp_path / "fmnist-2-iid-tuned-quick.parts"
    lost = folder / "2-steps-averaging-search-3.json"
    before = read_record(lost).body["content"]
    lost.unlink()
    again = json_of(capsys, [*words, *part, "--resume"])
    assert len(again["reused"]) == len(printed["parts"]) - 1
    after = read_record(lost).body["content"]
    assert {**after, "seconds": 0} == {**before, "seconds": 0}


@pytest.mark.usefixtures("tiny")
def test_what_is_refused(tmp_path: Path, capsys: Capture) -> None:
    out = ("--out", str(tmp_path))
    words = ("run", "fmnist-2-iid", "--recipe", "tuned", "--quick", *out)
    text = complaint(capsys, *words, "--part", "sites-seed")
    assert "expected the trial 2-steps-sites-search-1 on record" in text
    assert "--part sites-search" in text
    assert "--part: expected words of names such as" in complaint(capsys, *words, "--part", "qq")
    for row in ("fedavg-iid", "fmnist-central"):
        # The tiny experiments are found by name alone.
        with pytest.raises(ValueError, match="--recipe: expected tuned for a row with a network"):
            TunedExperiment(ROWS[row])


@pytest.mark.usefixtures("tiny")
def test_a_trial_does_not_see_the_test_images(monkeypatch: Patch) -> None:
    from peerbayes.experiments import tuned

    data = tuned.split_images("", None, "", False)
    experiment = TunedExperiment(ROWS["fmnist-2-iid"], is_quick=True)

    def measures() -> Any:
        name = "2-steps-fedavg-search-1"
        return experiment.run_part(name, seed=0, replicates=1, progress=None).measures

    before = measures()
    monkeypatch.setattr(data, "test", (data.test[0].flip(1), data.test[1].flip(0)))
    monkeypatch.setattr(data, "others", None)
    assert measures() == before
    held = data._labels[data._held_out]  # but it does see those held out
    data._labels[data._held_out] = held.flip(0)
    assert measures() != before


# A campaign -------------------------------------------------------------------------------------


def test_the_plan_of_a_campaign_has_every_comparison() -> None:
    tasks = [task for task in planned() if isinstance(task.part, TunedPart)]
    names = [task.name for task in tasks]
    assert len(names) == len(set(names))
    rows = {name for name, row in ROWS.items() if row.averaging and row.baselines}
    assert {task.row for task in tasks} == rows
    sampled = [task for task in tasks if "backprop-sampled" in task.name]
    of_pairs = {name for name in rows if name.startswith("fmnist-2-")}
    assert {task.row for task in sampled} == {*of_pairs, "star-fmnist-2"}
    assert len(sampled) == 5 * 15
    assert (len(tasks) - len(sampled)) % 120 == 0
    for place, task in enumerate(tasks):
        assert task.needs is None or names.index(task.needs) < place
    by_name = {task.name: task for task in tasks}
    assert by_name["star-mnist-1-tuned: 50-steps-sites-seed-2"].steps == 9 * 50 * 40
    assert by_name["timevarying-25-tuned: 10-steps-sites-search-1"].steps == 6 * 10 * 120


# Says when a part began and ended, and keeps nothing.
WORKER = """
import json, sys, time
order = json.loads(sys.argv[1])
def tell(word):
    with open(order["out"] + "/log", "a") as file:
        file.write(word + " " + order["task"] + "\\n")
tell("begin"); time.sleep(0.02); tell("end")
print(json.dumps({"kept": "nowhere"}))
"""


@pytest.mark.usefixtures("tiny")
def test_parts_wait_for_the_trials_that_they_follow_from(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(campaign, "WORKER", (sys.executable, "-c", WORKER))
    home = Campaign(tmp_path / "out", tmp_path / "short")
    tasks = selected("fmnist-2-iid-tuned: 2-steps-*averaging*")
    assert len(tasks) == 2 * 15
    done = run_campaign(home, tasks, workers=3).finished
    assert sorted(done) == sorted(task.name for task in tasks)
    log = (home.out / "log").read_text().splitlines()
    for task in tasks:
        if task.needs is not None:
            assert log.index(f"end {task.needs}") < log.index(f"begin {task.name}")
    # Two methods go on side by side.
    assert [line.split()[0] for line in log[:4]].count("begin") >= 2


def test_parts_that_stand_alike_have_one_line() -> None:
    parts = [
        TaskDocument(
            row=row, part=part, state=state, share=0.0, seconds=60.0, behaviour="", remark=""
        )
        for row, part, state in (
            ("star-mnist-2", "paper seed 0", "missing"), ("star-mnist-2", "best seed 0", "missing"),
            ("star-mnist-2-tuned", "a-search-1", "done"),
            ("star-mnist-2-tuned", "a-search-2", "missing"),
            ("star-mnist-2-tuned", "a-search-3", "missing"),
        )
    ]  # fmt: skip
    document = CampaignDocument(
        version="", behaviour="0" * 12, out="", records="", hours_left=1.0, finished=[], damage=[],
        parts=parts,
    )  # fmt: skip
    table = campaign_parts(document)[0]
    assert isinstance(table, Table)
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    assert cells[0] == [
        "star-mnist-2: paper seed 0", "star-mnist-2: best seed 0",
        "star-mnist-2-tuned: a-search-1",
        "star-mnist-2-tuned: a-search-2 … a-search-3 (2 parts)",
    ]  # fmt: skip
    assert cells[2][-1] == "about 2 min"


@pytest.mark.usefixtures("tiny")
def test_a_campaign_goes_on_from_short_records_alone(tmp_path: Path) -> None:
    home = Campaign(tmp_path / "out", tmp_path / "short")

    def run(place: Campaign, name: str) -> dict[str, Any]:
        order = {"task": name, "out": str(place.out), "records": str(place.records)}
        campaign.run_order({**order, "device": "cpu", "data": None})
        row, _, part = name.partition(": ")
        return dict(read_row(place.records, row).parts[part].content)

    names = [
        task.name for task in selected("fmnist-2-iid-tuned: 2-steps-central-*")
        if not task.name.endswith(("seed-1", "seed-2"))
    ]  # fmt: skip
    found = {name: run(home, name) for name in names}
    # A short record has every digit: later trials follow from it.
    for name, content in found.items():
        file = home.out / "fmnist-2-iid-tuned.parts" / f"{name.partition(': ')[2]}.json"
        assert read_record(file).body["content"] == content
    # Elsewhere the full records are not there; the choice and its test are the same.
    other = Campaign(tmp_path / "elsewhere", tmp_path / "short")
    (last,) = [name for name in names if name.endswith("seed-0")]
    again = run(other, last)
    assert {**again, "seconds": 0} == {**found[last], "seconds": 0}
    states = home.states(selected("fmnist-2-iid-tuned: 2-steps-central-*"))
    assert [one.state for one in states] == ["done"] * 13 + ["missing"] * 2
