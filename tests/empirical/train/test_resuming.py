"""Whatever trains can be stopped after any round, and goes on from its checkpoint to the same bits.

Compared is what users see of a run, round by round: what it serves or believes, and its reports. A
state that lacks something agrees with another that lacks it as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from empirical.keeping import Kept, load_tensors, save_tensors
from empirical.messages.codecs import codec_named
from empirical.nets.exchange import OneProcess
from empirical.train.averaging import Belief
from empirical.train.course import Course
from empirical.train.history import RoundReport
from empirical.train.learners import LEARNERS
from empirical.train.recipe import Recipe
from empirical.train.run import TrainingRun
from tests.empirical.messages.test_codecs import KINDS, SETTINGS, made
from tests.empirical.support import refused
from tests.empirical.train.test_federated import RECIPES
from tests.empirical.train.test_federated import training as fedavg
from tests.empirical.train.test_recipe import NET, RECIPE, W, blobs
from tests.empirical.train.test_rounds import NETWORKS
from tests.empirical.train.test_run import run_of
from theory import Network

ROUNDS = 5


def training(codec: str | None = None, **changes: Any) -> TrainingRun:
    recipe = Recipe(**{**RECIPE.as_json(), **changes})
    how = None if codec is None else codec_named(codec)
    return recipe.training(blobs(), Network(W), architecture=NET, seed=0, codec=how)


def learner(name: str, network: str) -> Any:
    return run_of(NETWORKS[network], name)


def coded(codec: str, network: str) -> Any:
    """Of beliefs with a gradient, which all codecs but those of one vector take."""
    return run_of(NETWORKS[network], "sites", codec=made(codec))


RUNS: dict[str, Callable[[], Any]] = {
    **{
        f"fedavg, {name}": lambda recipe=recipe: fedavg(recipe, seed=1)
        for name, recipe in RECIPES.items()
    },
    **{
        f"training, {changes or 'plain'}": lambda changes=changes: training(**changes)
        for changes in (
            {}, {"forget": True}, {"prior": "fixed"}, {"estimator": "weights"},
            {"estimator": "point"}, {"batches": "proportional"},
        )
    },
    "training, replicas": lambda: training("difference+sign"),
    **{f"{name} on last": lambda name=name: learner(name, "last") for name in LEARNERS},
    **{f"sites on {name}": lambda name=name: learner("sites", name) for name in NETWORKS},
}  # fmt: skip
# Streams that all listeners share, and late words; a net of three weights is too small for two.
CODED: dict[str, Callable[[], Any]] = {
    f"{codec} on {name}": lambda codec=codec, name=name: coded(codec, name)
    for codec in KINDS
    if codec not in SETTINGS
    for name in ("delayed", *(("fixed", "last") if codec in ("difference", "low-rank") else ()))
}


def seen(run: Any) -> dict[str, Any]:
    """What the next round shows to users."""
    report = vars(run.run_round())
    belief = run.belief()
    found = {"mean": belief.mean, "variance": belief.variance}
    numbers = {name: np.array(value) for name, value in report.items() if name != "seconds"}
    return {
        **{name: None if v is None else v.numpy().copy() for name, v in found.items()},
        **numbers,
    }


@pytest.mark.parametrize("name", [*RUNS, *CODED])
def test_a_run_goes_on_from_any_round_as_if_it_had_not_been_stopped(
    name: str, tmp_path: Path
) -> None:
    make = {**RUNS, **CODED}[name]
    whole, expected = make(), []
    for number in range(ROUNDS):
        save_tensors(tmp_path / str(number), whole.state(), {})
        expected.append(seen(whole))
    for stop in (0, 2, 4):
        again = make()
        again.run_round()  # whatever it did before is forgotten
        again.restore(load_tensors(tmp_path / str(stop)).tensors)
        assert again.round == stop
        for wanted in expected[stop:]:
            found = seen(again)
            for part, values in wanted.items():
                np.testing.assert_array_equal(found[part], values, err_msg=part)


@pytest.mark.parametrize("name", ["served", "mean"])
def test_what_is_seen_is_there_before_the_next_round(name: str) -> None:
    """Nobody trains on only to hear what was trained: a restored run serves it at once."""
    make = {"served": lambda: fedavg(RECIPES["server"]), "mean": training}[name]
    one, again = make(), make()  # one seed: the same run
    for _ in range(3):
        one.run_round()
    again.restore({key: values.clone() for key, values in one.state().items()})
    assert torch.equal(again.belief().mean, one.belief().mean)
    assert not torch.equal(make().belief().mean, one.belief().mean)


@pytest.mark.parametrize("case", RUNS)
def test_a_state_that_lacks_something_is_refused_and_changes_nothing(case: str) -> None:
    run, other = RUNS[case](), RUNS[case]()
    run.run_round()
    state = {name: values.clone() for name, values in run.state().items()}
    before = {name: values.clone() for name, values in other.state().items()}
    parts = ("streams.", "heard.", "history.")  # have checks of their own
    needed = [name for name in state if not name.startswith(parts)]
    assert {"round"} < set(needed)
    for name in needed:
        for wrong in ({}, {name: state[name][..., :0]}):
            some = {key: values for key, values in state.items() if key != name}
            with pytest.raises(ValueError, match=rf"^state\['{name}'\]: expected shape .*, got"):
                other.restore({**some, **wrong})
    for name in needed:
        assert torch.equal(other.state()[name], before[name])


@pytest.mark.parametrize(
    ("codec", "message"),
    [(None, "expected replicas of codec 'plain'.*got none; use"),
     ("difference+sign", "expected replicas of codec 'plain' .*got others; use")],
)  # fmt: skip
def test_states_of_other_codecs_are_refused(codec: str | None, message: str) -> None:
    refused(f"^state: {message}", training("plain").restore, training(codec).state())


# Who has patience -----------------------------------------------------------------------------

# Mean −log ℓ at the looks: the best is neither the first nor the last, nor the last that improved
# on the one before it.
LOOKS = (3.0, 2.0, 2.5, 1.0, 2.0, 1.5, 1.2)


def course_of(patience: int | None) -> tuple[Course, Belief]:
    """Of two agents; beliefs, which change in place, hold the number of their look."""
    belief, variance = torch.zeros(2, 4), torch.zeros(2, 4)

    def scores(now: Belief) -> Any:
        nll = LOOKS[int(now.mean[0, 0])]
        return SimpleNamespace(values=np.full((2, 3), nll), mean=lambda name: nll)

    now = Belief(belief, variance)
    return Course(
        lambda: now, scores, own=2, agents=2, exchange=OneProcess(), rounds=2 * len(LOOKS),
        interval=2, patience=patience,
    ), now  # fmt: skip


def course_after(looks: range, course: Course, belief: Belief) -> Course:
    """Two rounds between looks."""
    assert belief.variance is not None
    for look in looks:
        belief.mean.fill_(look), belief.variance.fill_(0.5 + look)
        for round in (2 * look + 1, 2 * look + 2):
            loss = np.array([1.0 * look, np.nan])
            course.see(RoundReport(round, loss, 2, 10, 0.0, bytes_uncoded=15))
    return course


@pytest.mark.parametrize("stop", range(len(LOOKS)))
def test_the_best_beliefs_of_all_looks_are_kept_though_the_run_was_stopped(stop: int) -> None:
    whole = course_after(range(len(LOOKS)), *course_of(3))
    half = course_after(range(stop), *course_of(3))
    again, belief = course_of(3)
    tensors, words = half.state()
    again.restore(Kept(words, "", {name: values.clone() for name, values in tensors.items()}))
    assert again.has_ended == half.has_ended
    course_after(range(stop, len(LOOKS)), again, belief)
    for course in (whole, again):
        best = course.best
        assert best.variance is not None
        assert best.mean.unique().tolist() == [3.0]
        assert best.variance.unique().tolist() == [3.5]
        assert course.kept_round == 8
        assert course.has_ended
        assert course.bytes_uncoded == 30 * len(LOOKS)
        history = course.history(("accuracy", "nll", "calibration_error"))
        assert history.rounds.tolist() == [2 * look + 2 for look in range(len(LOOKS))]
        assert history.bytes_sent.tolist() == [20 * (look + 1) for look in range(len(LOOKS))]
        assert history.loss[:, 0].tolist() == list(range(len(LOOKS)))
        assert history.validation[:, 0, 1].tolist() == list(LOOKS)


def test_without_patience_the_last_beliefs_are_kept() -> None:
    course = course_after(range(len(LOOKS)), *course_of(None))
    assert course.best.mean.unique().tolist() == [len(LOOKS) - 1.0]
    assert not course.has_ended
    assert course.kept_round == 2 * len(LOOKS)
