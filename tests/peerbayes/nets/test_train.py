"""`pb.train`: what comes back, in the user's units, to take away, keep, draw and read again."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from peerbayes.experiments.run import is_first_process
from peerbayes.nets.documents import TrainRecord
from peerbayes.records import read_record
from peerbayes.settings.declared import declared_in
from peerbayes.settings.nets import Train
from tests.house.test_showing import FakePandas, check_html, check_text

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from empirical.messages.codecs import codec_from_words  # noqa: E402
from empirical.nets.architecture import perceptron  # noqa: E402
from empirical.train.learners import LEARNERS  # noqa: E402
from tests.peerbayes.commands import Patch  # noqa: E402

RING = pb.Network.from_topology("ring", agents=3)
RNG = np.random.default_rng(7)
X = RNG.normal(size=(3, 60, 4)) * [1, 10, 1, 1] + [0, 50, 0, 0]
SIGNS = [(x, (x[:, 0] + x[:, 2] > 0).astype(int)) for x in X]
NUMBERS = [(x, 500 + 20 * x[:, 0] + RNG.normal(size=60)) for x in X]


class Gated(torch.nn.Module):
    """A net that the written-out kernels do not know."""

    def __init__(self, outputs: int, inputs: int = 4) -> None:
        super().__init__()
        self.inside, self.gate = torch.nn.Linear(inputs, 6), torch.nn.Linear(inputs, 6)
        self.out = torch.nn.Linear(6, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.tanh(self.inside(x)) * torch.sigmoid(self.gate(x)))


def grouped(**options: Any) -> dict[str, Any]:
    """Settings by name, those of a group in it."""
    for declared in declared_in(Train):
        if declared.group is not None:
            own = {one.name for one in declared_in(declared.group)} & {*options}
            options[declared.name] = declared.group(**{name: options.pop(name) for name in own})
    return options


def rated(rate: float, learner: str = "natural-gradient") -> dict[str, Any]:
    return {"learner": learner, "rate": rate}


def trained(module: Any = None, data: Any = SIGNS, **options: Any) -> Any:
    settings = grouped(**{"rounds": 4, "local_steps": 4, "batch": 20, **options})
    module = torch.nn.Linear(4, 2) if module is None else module
    return pb.train(module, data, RING, **settings)


@pytest.fixture(scope="module")
def signs() -> Any:
    return trained(Gated(2), test=SIGNS[0], other=10 * X[0], learner=rated(0.1))


@pytest.fixture(scope="module")
def numbers() -> Any:
    return trained(lambda: Gated(1), NUMBERS, rounds=20, test=0.2)


def test_shapes_and_sums(signs: Any) -> None:
    x = X[0][:9]
    p = signs.predict(x)
    assert p.shape == (3, 9, 2)
    np.testing.assert_allclose(p.sum(axis=2), 1, atol=1e-6)
    drawn = signs.samples(x, 20)
    assert drawn.shape == (3, 20, 9, 2)
    # Predictions are the means of the very nets that `samples` shows.
    np.testing.assert_allclose(drawn.mean(axis=1), p, atol=1e-6)
    np.testing.assert_array_equal(signs.predict(x, agents=[2])[0], p[2])
    doubt = signs.uncertainty(x)
    assert doubt.unit == "nats"
    np.testing.assert_allclose(doubt.total, -(p * np.log(p)).sum(axis=2), atol=1e-6)
    np.testing.assert_allclose(doubt.aleatoric + doubt.epistemic, doubt.total, atol=1e-12)


def test_what_was_not_said_is_in_the_notes(signs: Any, numbers: Any) -> None:
    assert any("2 classes, for labels are whole numbers" in note for note in signs.notes)
    assert any("normal noise whose width is learned" in note for note in numbers.notes)


def test_numbers_come_back_in_their_units(numbers: Any) -> None:
    x, y = NUMBERS[1]
    centre, drawn = numbers.predict(x), numbers.samples(x, 20)
    assert np.corrcoef(centre[0, :, 0], y)[0, 1] > 0.8
    assert abs(centre.mean() - 500) < 20
    doubt = numbers.uncertainty(x)
    np.testing.assert_allclose(doubt.epistemic, drawn.var(axis=1), rtol=1e-4, atol=1e-6)
    test = numbers.metrics.test
    assert test.measures == ("rmse", "nll", "calibration_error")
    assert test["rmse"].max() < 20
    assert numbers.history.measures == test.measures


def test_an_estimator_scores_in_the_users_units(signs: Any, numbers: Any) -> None:
    """Accuracy and R² written out, of the very predictions; `evaluate` is the test at the end."""
    x, y = SIGNS[1]
    right = signs.predict(x).argmax(axis=2) == y
    np.testing.assert_allclose(signs.score(x, y), right.mean(axis=1), rtol=1e-12)
    again = signs.evaluate(*SIGNS[0], other=10 * X[0])
    assert again.measures == signs.metrics.test.measures
    np.testing.assert_array_equal(again.values, signs.metrics.test.values)
    np.testing.assert_array_equal(again.bins, signs.metrics.test.bins)
    x, y = NUMBERS[1]
    gap = numbers.predict(x, agents=["2", 0])[:, :, 0] - y
    wanted = 1 - (gap**2).mean(axis=1) / y.var()
    np.testing.assert_allclose(numbers.score(x, y, agents=["2", 0]), wanted, rtol=1e-9)
    found = numbers.evaluate(x, y, agents=["2", 0])
    np.testing.assert_allclose(found["rmse"], np.sqrt((gap**2).mean(axis=1)), rtol=1e-5)
    assert found["rmse"].shape == (2,)
    flat = numbers.score(x, np.full(60, 500.0))
    assert flat.tolist() == [0, 0, 0]
    assert signs.score(x[:1], [1]).tolist() == (signs.predict(x[:1]).argmax(2) == 1)[:, 0].tolist()


class FakeXarray(ModuleType):
    """Stands in for xarray: what an array was made of."""

    def DataArray(self, values: Any, **words: Any) -> dict[str, Any]:  # noqa: N802
        return {"values": values, **words}


def test_samples_with_names_on_their_axes(
    signs: Any, numbers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xarray", FakeXarray("xarray"))
    found = signs.to_xarray(X[0][:5], 3, agents=[2])
    assert found["dims"] == ("agent", "draw", "input", "output")
    assert found["coords"] == {"agent": ["2"], "output": ["0", "1"]}
    np.testing.assert_array_equal(found["values"], signs.samples(X[0][:5], 3, agents=[2]))
    assert numbers.to_xarray(X[0][:5])["coords"] == {"agent": ["0", "1", "2"]}
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ValueError, match=r"to_xarray: expected xarray, .* pip install xarray$"):
        signs.to_xarray(X[0][:5])


@pytest.mark.parametrize("agent", [1, "1"])
def test_weights_load_into_the_users_own_module(signs: Any, agent: int | str) -> None:
    module = Gated(2)
    module.load_state_dict(signs.state_dict(agent))
    x = torch.tensor(signs.inputs.apply(X[2]), dtype=torch.float32)
    own = module(x).softmax(dim=1).detach().numpy()
    np.testing.assert_allclose(own, signs.predict(X[2], draws=0)[1], atol=1e-6)


def test_learned_noise_is_no_part_of_the_module(numbers: Any) -> None:
    Gated(1).load_state_dict(numbers.state_dict(0))


def test_saved_and_read_again(signs: Any, numbers: Any, tmp_path: Path) -> None:
    for one, build in ((signs, lambda: Gated(2)), (numbers, lambda: Gated(1))):
        sha256 = one.save(tmp_path)
        again = pb.load_trained(tmp_path, module=build)
        np.testing.assert_array_equal(again.predict(X[0]), one.predict(X[0]))
        np.testing.assert_array_equal(again.history.validation, one.history.validation)
        assert again.metrics.test["nll"].tolist() == one.metrics.test["nll"].tolist()
        assert again.save(tmp_path) == sha256
        with pytest.raises(ValueError, match="module: expected the module that was trained, got"):
            pb.load_trained(tmp_path, module=torch.nn.Linear(4, len(one.predict(X[0])[0, 0])))
    layers = torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2)
    plain = trained(torch.nn.Sequential(*layers))
    plain.save(tmp_path)
    # Layers that the kernels know need no module.
    again = pb.load_trained(tmp_path)
    np.testing.assert_array_equal(again.predict(X[0]), plain.predict(X[0]))


def test_a_damaged_file_is_refused(signs: Any, tmp_path: Path) -> None:
    signs.save(tmp_path)
    with pytest.raises(ValueError, match=r"^module: expected the module that was .*, got none"):
        pb.load_trained(tmp_path)
    path = tmp_path / "trained.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="checksum"):
        pb.load_trained(tmp_path, module=Gated(2))


def test_it_shows_draws_and_tabulates(signs: Any) -> None:
    assert "accuracy" in check_text(signs)
    check_html(signs)
    axes = signs.plot()
    assert len(axes.lines) == 3
    assert axes.get_ylabel() == "validation accuracy"
    against = signs.plot(along="bytes")
    assert against.get_xlabel() == "MB sent"
    assert (against.lines[1].get_xdata() * 1e6).round().tolist() == (
        signs.history.bytes_sent.tolist()
    )
    assert (against.lines[1].get_ydata() == axes.lines[1].get_ydata()).all()
    with pytest.raises(ValueError, match=r"^along: expected 'rounds' or 'bytes', got 'time'"):
        signs.plot(along="time")


def test_the_history_as_a_table(signs: Any, monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", FakePandas("pandas"))
    table, history = signs.to_frame(), signs.history
    assert table["agent"][:4] == [0, 1, 2, 0]
    assert table["round"][:4] == [1, 1, 1, 2]
    assert table["loss"][4] == history.loss[1, 1]
    assert table["validation_nll"][5] == history.validation[1, 2, 1]


def test_other_data_need_test_data_and_are_told_apart(signs: Any) -> None:
    aurocs = signs.metrics.test["other_data_auroc"]
    assert aurocs.shape == (3,)
    assert ((aurocs >= 0) & (aurocs <= 1)).all()


def test_early_stopping_keeps_the_best(tmp_path: Path) -> None:
    # Rates so high that validation soon gets worse.
    one = trained(
        patience=2, every=1, rounds=60, learner=rated(30.0, "averaging"),
        out=tmp_path, name="early",
    )  # fmt: skip
    record = TrainRecord.model_validate(read_record(*tmp_path.glob("train-*.json")).body)
    nll = one.history.validation[:, :, 1]
    sizes = one.metrics.validation.examples
    mean = nll @ sizes / sizes.sum()
    best = int(np.argmin(mean))
    assert record.stopped_early
    assert record.rounds_run == record.round_kept + 2 < 60
    assert record.round_kept == one.history.rounds[best]
    np.testing.assert_allclose(one.metrics.validation["nll"], nll[best], rtol=1e-9)
    assert one.metrics.validation.draws == 0  # averaging keeps no width


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    one, two, other = (trained(lambda: torch.nn.Linear(4, 2), seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.mean, two.mean)
    assert not torch.equal(one.mean, other.mean)


def stack() -> torch.nn.Module:
    linear = torch.nn.Linear
    return torch.nn.Sequential(linear(4, 3), torch.nn.LayerNorm(3), torch.nn.Tanh(), linear(3, 2))


def loaded() -> torch.nn.Module:
    module = stack()
    module.load_state_dict(stack().state_dict())
    return module


def stepped() -> torch.nn.Module:
    """Read from a file after one step, so that torch has written to nothing since."""
    module = stack()
    torch.nn.functional.cross_entropy(module(torch.ones(1, 4)), torch.tensor([1])).backward()
    torch.optim.SGD(module.parameters(), 1e-3).step()
    return pickle.loads(pickle.dumps(module))  # type: ignore[no-any-return]


def set_in_part(change: Callable[[torch.nn.Linear], object]) -> Callable[[], torch.nn.Module]:
    def made() -> torch.nn.Module:
        module: Any = Gated(2)
        change(module.out)
        return module  # type: ignore[no-any-return]

    return made


class Scaled(Gated):
    """With a weight that no layer draws."""

    def __init__(self) -> None:
        super().__init__(2)
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x * self.scale)


@pytest.mark.parametrize(
    ("made", "kept_for"),
    [
        (lambda: torch.nn.Linear(4, 2), None),
        (stack, None),
        (lambda: Gated(2), None),
        (loaded, "'0.weight' was set, or copied"),
        (lambda: copy.deepcopy(stack()), "'0.weight' was set, or copied"),
        (stepped, "'1.weight' is not as reset_parameters draws it"),
        (set_in_part(lambda out: torch.nn.init.zeros_(out.bias)), "'out.bias' was set"),
        (set_in_part(lambda out: out.weight.data.normal_(0, 9)), "'out.weight' is not as reset"),
        (set_in_part(lambda out: out.requires_grad_(False)), "'out.weight' is not trained"),
        (Scaled, "Scaled has no reset_parameters that draws 'scale'"),
    ],
)
def test_a_module_that_nobody_set_is_drawn_by_the_seed(made: Any, kept_for: str | None) -> None:
    """Whatever torch's generator was at; weights of somebody's are kept, and a note says why."""
    modules = []
    for state in (1, 2):
        torch.manual_seed(state)
        modules.append(made())
    still = {"rounds": 1, "local_steps": 1, "learner": rated(1e-30, "averaging")}
    one, two = (trained(module, **still) for module in modules)
    (note,) = (note for note in one.notes if note.startswith("first weights"))
    if kept_for is None:
        assert "drawn by the seed" in note
        assert torch.equal(one.mean, two.mean)
        assert not torch.equal(one.mean, trained(modules[0], seed=1, **still).mean)
        one = trained(lambda: modules[0], **still)  # how they are kept all the same
    else:
        assert kept_for in note
    for name, tensor in modules[0].state_dict().items():
        torch.testing.assert_close(one.state_dict(0)[name], tensor, rtol=1e-6, atol=1e-20)


@pytest.mark.parametrize("how", [{"schedule": "geometric", "decay": 0.25}, {"warm_up": 0.5}])
def test_rates_are_those_asked_for(how: dict[str, Any], tmp_path: Path) -> None:
    """They are in the record, and reach the steps; tests/thorough has products too."""
    plain = trained(lambda: Gated(2))
    one = trained(lambda: Gated(2), out=tmp_path, **how)
    settings = read_record(*tmp_path.glob("train-*.json")).body["settings"]
    assert {name: settings[name] for name in how} == how
    assert not torch.equal(one.mean, plain.mean)


@pytest.mark.parametrize("learner", ["averaging", "natural-gradient"])
def test_every_learner_learns(learner: str, tmp_path: Path) -> None:
    found = trained(
        lambda: Gated(2), rounds=30, local_steps=10, learner=learner, test=SIGNS[0], out=tmp_path
    )
    test = found.metrics.test
    assert np.isfinite(test.values).all()
    assert (found.history.loss[-1] < found.history.loss[0]).all()
    assert test["nll"].max() < 0.9 * np.log(2)  # a coin's is log 2
    assert found.learner["learner"] == learner
    again = pb.load_trained(tmp_path / "train-training-s0.trained", module=lambda: Gated(2))
    assert again.learner == found.learner
    assert (test.draws == 0) == learner.startswith("averaging") == (found.variance is None)


def test_a_codec_by_name_by_words_and_as_it_is_are_the_same(tmp_path: Path) -> None:
    def build() -> torch.nn.Module:
        return torch.nn.Linear(4, 2)

    words = {"codec": "difference", "inner": "seeds"}
    given = ["difference+seeds", words, codec_from_words(words)]
    runs = [
        trained(build, codec=codec, rounds=3, out=tmp_path / str(k))
        for k, codec in enumerate(given)
    ]
    for run in runs:
        assert torch.equal(run.mean, runs[0].mean)
        assert run.settings["messages"] == runs[0].settings["messages"]
    assert not torch.equal(runs[0].mean, trained(build, rounds=3).mean)
    assert "messages" not in trained(rounds=1).settings
    kept = pb.load_trained(tmp_path / "0" / "train-training-s0.trained")
    assert kept.settings == runs[0].settings


class Words(torch.nn.Module):
    """Tokens in, two classes out."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.words(x).mean(dim=1))


def test_tokens(tmp_path: Path) -> None:
    texts = [RNG.integers(9, size=(50, 6)) for _ in range(3)]
    found = trained(Words, [(x, (x[:, 0] > 4).astype(int)) for x in texts], tokens=True)
    assert found.inputs is None
    assert found.predict(texts[0]).shape == (3, 50, 2)
    found.save(tmp_path)
    again = pb.load_trained(tmp_path, module=Words)
    np.testing.assert_array_equal(again.predict(texts[1]), found.predict(texts[1]))
    with pytest.raises(ValueError, match="x: expected whole numbers"):
        found.predict(texts[0] + 0.5)


def test_a_network_that_changes() -> None:
    found = pb.train(
        torch.nn.Linear(4, 2), SIGNS, pb.RandomLinks(RING, 0.7), rounds=4, local_steps=2
    )
    assert found.predict(X[0]).shape == (3, 60, 2)


def test_agents_may_count_for_what_they_hold() -> None:
    from theory.design import reweighted

    unlike = [(x[:rows], y[:rows]) for rows, (x, y) in zip((60, 30, 20), SIGNS, strict=True)]
    options = {"rounds": 4, "local_steps": 5, "batch": 10, "validation": 0.1, "seed": 1}

    def of(network: pb.Network, influence: str) -> Any:
        linear = perceptron(4, outputs=2)
        return pb.train(linear, unlike, network, **grouped(influence=influence, **options))

    found, own = of(RING, "data"), of(RING, "network")
    assert torch.equal(found.mean, of(reweighted(RING, [54, 27, 18]), "network").mean)
    assert not torch.equal(found.mean, own.mean)
    (note,) = set(found.notes) - set(own.notes)
    assert note.startswith("weights: by the data, agents' influence from 0.182 to 0.545; modulus")
    with pytest.raises(ValueError, match="influence: expected 'network' or 'data', got 'mine'"):
        of(RING, "mine")
    with pytest.raises(ValueError, match=r'influence: expected "network", .* that changes'):
        pb.train(
            perceptron(4, outputs=2), SIGNS, pb.RandomLinks(RING, 0.7), rounds=1, local_steps=1,
            method=pb.Method(influence="data"),
        )  # fmt: skip


class Centred(torch.nn.Module):
    """A net whose outputs depend on the batch's mean."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x - x.mean(0))


@pytest.mark.parametrize(
    ("called", "classes", "seen"),
    [
        ([0, 1], ("0", "1"), "whole numbers"),
        (["down", "up"], ("down", "up"), "texts"),
        (np.array(["down", "up"], dtype=object), ("down", "up"), "texts"),
        ([[0], [1]], ("0", "1"), "whole numbers"),
        (
            np.array([2**63 + 1, 2**64 - 1], dtype=np.uint64),
            ("9223372036854775809", "18446744073709551615"),
            "whole numbers",
        ),
    ],
)
def test_what_labels_and_inputs_are_is_seen(called: Any, classes: Any, seen: str) -> None:
    whole = [(np.round(20 * x).astype(int), np.array(called)[y]) for x, y in SIGNS]
    found = trained(torch.nn.Linear(4, 2), whole, rounds=1)
    assert found.classes == classes
    assert found.notes[-1] == f"likelihood: 2 classes, for labels are {seen}"
    assert found.input_type == "float32"


class Frame:
    """What is asked of a frame of pandas or polars: names of columns, and an array."""

    def __init__(self, values: Any, columns: str) -> None:
        self.values, self.columns = np.asarray(values), list(columns)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values.astype(object if dtype is None else dtype)

    def __len__(self) -> int:
        return len(self.values)


class Warm(torch.nn.Module):
    """A net with a parameter of shape (), which returns what a function makes of its outputs."""

    def __init__(self, act: Any = lambda y, x: y) -> None:
        super().__init__()
        self.inside, self.act = torch.nn.Linear(4, 2), act
        self.warmth = torch.nn.Parameter(torch.tensor(0.0))

    def forward(self, x: torch.Tensor) -> Any:
        return self.act(self.inside(x) * self.warmth.exp(), x)


def test_frames_are_taken_by_the_names_of_their_columns() -> None:
    order = [2, 0, 3, 1]
    frames = [(Frame(x, "abcd"), y) for x, y in SIGNS]
    mixed = [frames[0], (Frame(X[1][:, order], "cadb"), SIGNS[1][1]), frames[2]]
    plain, one, other = (trained(lambda: torch.nn.Linear(4, 2), d) for d in (SIGNS, frames, mixed))
    assert one.features == ("a", "b", "c", "d")
    wanted = plain.predict(X[0])
    np.testing.assert_array_equal(other.predict(Frame(X[0][:, order], "cadb")), wanted)
    np.testing.assert_array_equal(one.predict(X[0]), wanted)
    labels = Frame(SIGNS[0][1][:, None], "y")
    turned = trained(
        lambda: torch.nn.Linear(4, 2), mixed, test=(mixed[1][0], Frame(SIGNS[1][1][:, None], "y"))
    )
    np.testing.assert_array_equal(turned.evaluate(*SIGNS[1]).values, turned.metrics.test.values)
    assert one.score(frames[0][0], labels).tolist() == one.score(*SIGNS[0]).tolist()
    with pytest.raises(ValueError, match="x: expected the columns a, b, c, d, got a, b, c"):
        one.predict(Frame(X[0], "abce"))
    several = [(x, Frame(np.c_[y, 5 * x[:, 0]], "pq")) for x, y in NUMBERS]
    turned = Frame(several[1][1].values[:, ::-1], "qp")
    first, second = (
        trained(lambda: torch.nn.Linear(4, 2), [several[0], (X[1], y), several[2]], rounds=2)
        for y in (several[1][1], turned)
    )
    np.testing.assert_array_equal(first.predict(X[0]), second.predict(X[0]))
    gaps = (first.predict(X[0]) - several[0][1].values) ** 2
    wanted = 1 - gaps.mean(axis=1) / several[0][1].values.var(axis=0)
    np.testing.assert_allclose(first.score(*several[0]), wanted.mean(axis=1), rtol=1e-9)


def test_predictions_for_no_rows_have_none(signs: Any, numbers: Any) -> None:
    for found, outputs in ((signs, 2), (numbers, 1), (trained(), 2)):
        assert found.predict(X[0][:0]).shape == (3, 0, outputs)
        assert found.samples(X[0][:0], 2).shape == (3, 2, 0, outputs)
        assert len(found.uncertainty(X[0][:0]).total[0]) == 0


@pytest.mark.parametrize("learner", list(LEARNERS))
def test_parameters_without_axes_are_trained(learner: str, tmp_path: Path) -> None:
    found = trained(Warm(), learner=learner, codec="low-rank" if learner == "averaging" else None)
    assert found.net.parameters == 11
    assert float(found.state_dict(0)["warmth"]) != 0
    found.save(tmp_path)
    again = pb.load_trained(tmp_path, module=Warm)
    np.testing.assert_array_equal(again.predict(X[0]), found.predict(X[0]))


def test_softmax_is_noted() -> None:
    soft = trained(Warm(lambda y, x: y.softmax(dim=1)), rounds=1)
    assert any("leave the last softmax out" in note for note in soft.notes)
    logs = trained(Warm(lambda y, x: y.log_softmax(dim=1)), rounds=1)
    assert not any("softmax" in note for note in logs.notes)
    one = trained(data=[(x, 0 * y) for x, y in SIGNS], rounds=1)
    assert any("all training labels are one class, '0'" in note for note in one.notes)


HUGE = perceptron(4, 10**6, 10**6, outputs=2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": SIGNS[:2]}, r"names|network: expected .* agents"),
        ({"data": []}, "data: expected"),
        ({"data": [(x, y[:-1]) for x, y in SIGNS]}, "data"),
        ({"data": [(np.where(x > 0, np.nan, x), y) for x, y in SIGNS]}, "finite"),
        ({"data": [SIGNS[0], (X[1][:0], SIGNS[1][1][:0]), SIGNS[2]]}, "data"),
        ({"data": [SIGNS[0], SIGNS[1], (X[2][:, :3], SIGNS[2][1])]}, "shape"),
        ({"module": torch.nn.Linear(5, 2)}, "module: expected"),
        ({"module": torch.nn.Flatten()}, "module|weight"),
        ({"module": Gated(3), "likelihood": {"kind": "classes", "count": 2}}, "module: expected 2"),
        ({"likelihood": {"kind": "claases"}}, "likelihood"),
        ({"learner": "natural"}, "learner: expected one of"),
        ({"learner": "natural-gradent"}, "did you mean 'natural-gradient'"),
        (
            {"learner": {"learner": "natural-gradient", "rte": 1.0}},
            "settings of natural-gradient.* did you mean 'rate'",
        ),
        ({"test": "test.csv"}, "test: expected a pair of inputs and labels, .* got str"),
        ({"test": 1}, "test: expected a pair of inputs and labels, .* got int"),
        ({"batch": 10**27}, "batch: expected at most 162, which all agents together have"),
        ({"module": HUGE}, "memory: expected at most .* GiB for 1 agents of 1000"),
        ({"data": [(1e200 * x, y) for x, y in SIGNS]}, "inputs, number 0: expected .* squares"),
        ({"data": [(x, 1e200 * y) for x, y in NUMBERS]}, "labels, label: expected .* squares"),
        ({"rounds": 0}, "rounds: expected"),
        ({"data": [(x, np.eye(2)[y]) for x, y in SIGNS]}, "one-hot rows of classes; take their ar"),
        (
            {"data": [(x, np.array(["a", None], dtype=object)[y]) for x, y in SIGNS]},
            r"data\[.\]: expected a class in every row, got None in row",
        ),
        (
            {"module": Warm(lambda y, x: {"logits": y, "hidden": x})},
            r"tensor .*, got a dict of 'logits' \(shape \(2, 2\)\), 'hidden' .*; return the one",
        ),
        (
            {"module": Warm(lambda y, x: (y, (x, x)))},
            r"one tensor of .*, got a tuple of 0 \(shape \(2, 2\)\), 1 \(tuple\); return the one",
        ),
        ({"patience": 3, "validation": 0.0}, "patience: expected validation data"),
        ({"memory": 100}, "training: expected a training within"),
        ({"device": "tpu"}, "device: expected"),
        ({"data": None}, "data: expected a pair"),
        ({"data": {"a": SIGNS[0]}}, "data: expected a pair"),
        ({"likelihood": "classes"}, "likelihood: expected a likelihood or its words"),
        ({"learner": 3}, "learner: expected a learner, its name or its words, got int"),
        ({"learner": {"rate": 0.1}}, "learner: expected one of .* got ''"),
        (
            {"settings": {"rate": 0.1}},
            r"^settings: expected learner=\{'learner': ..., .*; move it th",
        ),
        ({"validation": "a"}, r"validation: expected a share in \[0, 1\)"),
        ({"memory": "much"}, "memory: expected a size"),
        ({"memory": -1}, "memory: expected a whole number of at least 1"),
        ({"standardise": "no"}, "standardise: expected True or False"),
        ({"other": X[0]}, "other: expected test data"),
        ({"module": Centred()}, "module: expected outputs of an input that do not depend"),
        ({"schedule": "linear"}, "schedule: expected 'cosine' or 'geometric'"),
        ({"warm_up": 1.0}, "warm_up: expected a number of at least 0 and below 1"),
        ({"products": "fast"}, "products: expected 'auto' or"),
        ({"codec": "diference"}, "codec: expected one of .* did you mean 'difference'"),
        ({"codec": "sign+sign"}, "settings of sign: expected none, got 'inner'"),
        ({"codec": {"codec": "seeds", "share": 2.0}}, "share: expected a number above 0 and at mo"),
        ({"codec": {"codec": "seeds", "share": "2"}}, "share: expected such as 0.1, got '2'"),
        ({"codec": {"codec": "plain", "kind": "float64"}}, "kind: expected float32 or float16 or"),
        ({"codec": {"codec": "difference", "mixing": 0}}, "mixing: expected a number above 0"),
        ({"codec": {"codec": "difference", "inner": 3}}, "inner: expected"),
        ({"codec": {"share": 2.0}}, "codec: expected one of"),
        ({"codec": 3}, "codec: expected a codec, its name or its words, got int"),
        ({"missing": "ours"}, "missing: expected 'own' or 'zero', got 'ours'"),
        ({"codec": "seeds", "missing": "zero"}, "missing: expected 'own' for learners that keep"),
    ],
)
def test_bad_input_is_one_line(change: dict[str, Any], said: str) -> None:
    options = dict(change)
    with pytest.raises(ValueError, match=said) as caught:
        trained(options.pop("module", None), options.pop("data", SIGNS), **options)
    assert "\n" not in str(caught.value)


def test_too_little_memory_is_told_before_it_is_taken(monkeypatch: Patch) -> None:
    started, start = [], LEARNERS["sites"].start

    def noting(self: Any, weights: Any, share: Any) -> Any:
        started.append(len(share.held))
        return start(self, weights, share)

    monkeypatch.setattr(LEARNERS["sites"], "start", noting)
    with pytest.raises(ValueError, match="training: expected a training within"):
        trained(learner="sites", memory=100)
    assert set(started) == {1}  # one agent's, to count what it keeps
    trained(learner="sites", memory=10**9, rounds=1)
    assert 3 in started


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (X[0][:, :3], None, r"x: expected numbers of shape \(n, 4\)"),
        ([["a"] * 4], None, "x: expected numbers"),
        ([[np.nan] * 4], None, "x: expected finite numbers"),
        (X[0], [0, 1], "y: expected 60 labels, one an input, got 2"),
        (X[0], [2] * 60, r"y, label: expected a class of the training data .*, got '2' in row 1"),
        (X[0], SIGNS[0][1][:, None] * [1, 1], "y: expected labels of 1 target, got 2"),
        (X[0][:0], [], "y: expected at least one example"),
    ],
)
def test_bad_inputs_of_predictions(signs: Any, x: Any, y: Any, said: str) -> None:
    for ask in (signs.evaluate, signs.score):
        with pytest.raises(ValueError, match=said):
            signs.predict(x) if y is None else ask(x, y)
    with pytest.raises(ValueError, match="agent: expected one of 0, 1, 2"):
        signs.state_dict("seven")


def test_heads_are_evaluated_one_by_one() -> None:
    words = {"kind": "heads", "parts": [{"kind": "classes", "count": 2}, {"kind": "counts"}]}
    data = [(x, np.c_[y, np.arange(60) % 4]) for x, y in SIGNS]
    found = trained(lambda: Gated(3), data, likelihood=words, test=data[1])
    np.testing.assert_array_equal(found.evaluate(*data[1]).values, found.metrics.test.values)
    with pytest.raises(ValueError, match="score: expected a likelihood of one kind, got several"):
        found.score(*data[1])


def test_the_first_process_is_known(monkeypatch: Patch) -> None:
    assert is_first_process()
    monkeypatch.setenv("RANK", "1")
    assert is_first_process()  # somebody else's variable
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    assert not is_first_process()


def dropping() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), Gated(2, 8))


@pytest.mark.parametrize("module", [lambda: torch.nn.Linear(4, 2), dropping, Gated(2)])
def test_what_was_trained_is_pickled_and_copied(module: Any) -> None:
    result = trained(module, validation=0.2, test=SIGNS[0], rounds=2)
    for copied in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert copied == result
        assert repr(copied) == repr(result)
        np.testing.assert_array_equal(copied.predict(X[0]), result.predict(X[0]))
    assert result != trained(module, validation=0.2, test=SIGNS[0], rounds=2, seed=1)


def test_the_same_training_again_is_equal() -> None:
    first, again = (trained(lambda: torch.nn.Linear(4, 2), rounds=2) for _ in range(2))
    assert first == again
    assert hash(first) == hash(again)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_data_of_the_caller_stay_as_they_were(dtype: str) -> None:
    data = [(x.astype(dtype), y.copy()) for x, y in SIGNS]
    test, other = (SIGNS[0][0].astype(dtype), SIGNS[0][1].copy()), (10 * X[0]).astype(dtype)
    given = [array for pair in [*data, test] for array in pair] + [other]
    before = [array.copy() for array in given]
    trained(lambda: torch.nn.Linear(4, 2), data, test=test, other=other, rounds=1)
    for array, copied in zip(given, before, strict=True):
        assert array.flags.writeable
        np.testing.assert_array_equal(array, copied)


@pytest.mark.parametrize("other", [{"rounds": 3}, {"data": SIGNS[::-1]}, {"test": SIGNS[1]}])
def test_another_training_is_replaced_by_force_alone(other: Any, tmp_path: Path) -> None:
    first = trained(lambda: Gated(2), rounds=2, test=SIGNS[0], out=tmp_path)
    kept = [tmp_path / "train-training-s0.json", tmp_path / "train-training-s0.trained"]
    before = kept[0].read_bytes(), (kept[1] / "trained.safetensors").read_bytes()
    options = {"rounds": 2, "test": SIGNS[0], "out": tmp_path, **other}
    with pytest.raises(ValueError, match=r"s0\.json: expected no record, .*--force") as refused:
        trained(lambda: Gated(2), **options)
    assert "\n" not in str(refused.value)
    assert before == (kept[0].read_bytes(), (kept[1] / "trained.safetensors").read_bytes())
    again = trained(lambda: Gated(2), rounds=2, test=SIGNS[0], out=tmp_path)
    assert torch.equal(again.mean, first.mean)
    trained(lambda: Gated(2), **options, force=True)
    assert read_record(kept[0]).body["settings"]["rounds"] == options["rounds"]
