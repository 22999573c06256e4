"""The front door: what `import peerbayes as pb` offers, and problems to files and back."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import peerbayes as pb
from peerbayes.problem.builtins import loading
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.reading import problem_from_document
from peerbayes.problem.writing import document_of
from peerbayes.settings import Limits
from tests.peerbayes.commands import Capture, Patch, json_of
from theory.changing import MarkovNetwork, Phase
from theory.messages import QUANTISERS
from theory.network.structure import as_dense
from theory.robustness import BEHAVIOURS, RULES, ConstantBelief, Faults, Median, Push, StuckData

ROOT = Path(pb.__file__).parents[1]
COIN = pb.FiniteAgent.from_tables(truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]])
PAIR = pb.Network([[0.9, 0.1], [0.6, 0.4]])
COINS = pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[2])


def test_the_names_are_few_explained_and_there() -> None:
    assert len(pb.__all__) <= 45
    for name in pb.__all__:
        assert getattr(pb, name).__doc__ or name == "BUILTINS"
        assert f"`{name}`" in str(pb.__doc__)
    for module in (pb.faults, pb.quantisers):
        assert all(getattr(module, name).__doc__ for name in module.__all__)
    assert set(QUANTISERS.values()) == {getattr(pb.quantisers, n) for n in pb.quantisers.__all__}
    made = {getattr(pb.faults, name) for name in pb.faults.__all__}
    assert {*BEHAVIOURS.values(), *RULES.values()} < made
    with pytest.raises(AttributeError, match="no attribute 'analyze'"):
        pb.analyze  # noqa: B018


def test_type_checkers_know_the_kind_of_each_built_in() -> None:
    kinds = {
        pb.Problem: loading.FiniteName,
        pb.ChangingProblem: loading.ChangingName,
        pb.FaultyProblem: loading.FaultyName,
        pb.RegressionProblem: loading.RegressionName,
    }
    known = [name for literal in kinds.values() for name in get_args(literal)]
    assert sorted(known) == sorted(pb.BUILTINS)
    for kind, literal in kinds.items():
        for name in get_args(literal):
            if not pb.BUILTINS[name].needs_data and name != "digits":  # which trains classifiers
                assert type(pb.load(name)) is kind


def test_no_module_hides_a_name() -> None:
    # `import peerbayes.designs` would put the module where the function of that name was.
    modules = {path.stem for path in Path(pb.__file__).parent.iterdir()}
    assert not modules & set(pb.__all__)


def test_importing_it_loads_nothing_heavy() -> None:
    program = "import sys, peerbayes; print([m for m in ('numpy', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def without_file(problem: AnyProblem) -> AnyProblem:
    """The same as if it had been built in Python."""
    if isinstance(problem, pb.FaultyProblem):
        return replace(problem, problem=replace(problem.problem, specification=None))
    return replace(problem, specification=None)


def numbers(value: Any) -> Any:
    """Everything a value object holds, arrays as bytes: what it is equal by."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return [numbers(entry) for entry in value]
    if hasattr(value, "toarray"):
        return numbers(value.toarray())
    if hasattr(value, "__dataclass_fields__"):
        names = [n for n in value.__dataclass_fields__ if n not in ("name", "layout", "names")]
        return type(value).__name__, [numbers(getattr(value, name)) for name in names]
    return value


def by_agents(problem: AnyProblem) -> Any:
    """The numbers of a problem, agent by agent: kinds may be listed in another order."""
    if isinstance(problem, pb.FaultyProblem):
        inner = by_agents(problem.problem)
        among = problem.faults
        faults = {agent: numbers(vars(fault)) for agent, fault in among.behaviours.items()}
        return inner, sorted(faults), among.rule, among.pool_every, among.beyond_tolerance
    if isinstance(problem, pb.RegressionProblem):
        model = problem.regression
        kinds = [numbers(model.kinds[k]) for k in model.assignment]
        node = numbers(problem.node)
        rest = [model.theta, model.prior_covariance, model.prior_mean, model.test_second_moment]
        return network_numbers(problem.network), kinds, node, numbers(rest)
    laws = [
        (numbers(problem.model.kinds[k]), numbers(problem.model.log_priors[k]))
        for k in problem.model.assignment
    ]
    return network_numbers(problem.network), problem.model.hypotheses, laws


def network_numbers(network: Any) -> Any:
    """Weights as dense arrays, of every phase where there are several."""
    if hasattr(network, "phases"):
        phases = [(as_dense(phase.weights).tobytes(), phase.active.tobytes())
                  for phase in network.phases]  # fmt: skip
        extra = [getattr(network, key, None) for key in ("transition", "initial", "event_rate")]
        return phases, numbers(extra)
    if hasattr(network, "network"):
        kept = ("up", "on_loss", "symmetric", "present", "mean_absence", "delays")
        options = {k: numbers(np.asarray(v)) for k, v in vars(network).items() if k in kept}
        return network_numbers(network.network), type(network).__name__, options
    return as_dense(network.weights).tobytes()


FAMILIES = [one for one in BUILTINS.values() if not one.needs_data and one.name != "digits"]
# The first variant of a family in one form, the last in the other.
SAVED = [f"{family.variants[0]}.toml" for family in FAMILIES] + [
    f"{family.variants[-1]}.json" for family in FAMILIES
]


@pytest.mark.parametrize("file", SAVED)
def test_a_saved_problem_loads_as_it_was(file: str, tmp_path: Path) -> None:
    name, _, ending = file.rpartition(".")
    check_saved(load_problem(name), tmp_path / f"p.{ending}")


def check_saved(problem: AnyProblem, path: Path) -> None:
    """That a problem is read back equal, with the file that it is from and without."""
    for one in (problem, without_file(problem)):
        again = pb.load(pb.save(one, path))
        assert type(again) is type(one)
        assert (again.name, again.title) == (one.name, one.title)
        assert by_agents(again) == by_agents(one)
        assert again == one
        assert hash(again) == hash(one)
        assert again.sha256 == one.sha256
        assert getattr(again, "is_exact", None) == getattr(one, "is_exact", None)


def test_problems_that_differ_are_not_equal() -> None:
    coins = pb.problem_of(PAIR, COINS, name="coins")
    assert coins == pb.problem_of(replace(PAIR, name="pair"), COINS, name="coins")
    other = pb.Network([[0.9, 0.1], [0.5, 0.5]])
    biased = pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[2], priors=[[0.3, 0.7]])
    for problem in (
        pb.problem_of(other, COINS, name="coins"),
        pb.problem_of(PAIR, biased, name="coins"),
        pb.problem_of(PAIR, COINS, name="dice"),
        pb.problem_of(pb.RandomLinks(PAIR, up=0.5), COINS, name="coins"),
    ):
        assert problem != coins
        assert problem.sha256 != coins.sha256
    for words in QUANTISERS.values():
        needs = {"threshold": 1.0, "loss": 0.1, "step": 0.5, "draws": 3}
        own = {f.name: needs[f.name] for f in fields(words) if f.name in needs}
        sent = pb.problem_of(PAIR, COINS, name="coins", messages=words(**own))
        assert sent.sha256 != coins.sha256


def test_priors_chains_and_liars_come_back(tmp_path: Path) -> None:
    model = pb.FiniteModel.from_agents(
        ["fair", "loaded"], [COIN, COIN], priors=[[0.1, 0.9], [1 / 3, 2 / 3]]
    )
    chain = MarkovNetwork(
        (Phase([[0.5, 0.5], [0.25, 0.75]]), Phase([[0.9, 0.1], [0.6, 0.4]], [1])),
        np.array([[0.5, 0.5], [1 / 3, 2 / 3]]),
        np.array([1.0, 0.0]),
        event_rate=1.5,
    )
    ring = pb.Network.from_topology("complete", agents=5)
    five = pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[5])
    for problem in (
        pb.problem_of(PAIR, model, name="priors"),
        pb.problem_of(chain, model, name="chain"),
        pb.problem_of(ring, five, faults=Faults({1: Push(1, 2.0)}, Median()), name="liar"),
        pb.problem_of(ring, five, faults=Faults({2: StuckData(outcome=1)}), name="stuck"),
    ):
        again = pb.load(pb.save(problem, tmp_path / "p.json"))
        assert document_of(without_file(again)) == document_of(problem)
        assert type(again) is type(problem)


def test_what_no_file_says_is_refused(tmp_path: Path) -> None:
    uneven = pb.RandomLinks(PAIR, up=np.array([[1.0, 0.5], [0.75, 1.0]]))
    with pytest.raises(ValueError, match="up: expected one number for all agents or links"):
        pb.save(pb.problem_of(uneven, COINS), tmp_path / "p.json")
    table = StuckData(log_likelihoods=np.log(np.array([0.5, 0.5])))
    ring = pb.Network.from_topology("complete", agents=5)
    five = pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[5])
    with pytest.raises(ValueError, match=r"faults\[0\]: expected a behaviour that a file can say"):
        pb.save(pb.problem_of(ring, five, faults=Faults({0: table}, Median())), tmp_path / "p.json")
    with pytest.raises(ValueError, match=r"ends in \.toml or \.json"):
        pb.save(pb.load("two-coins"), tmp_path / "p.yaml")
    assert list(tmp_path.iterdir()) == []


def test_beliefs_that_liars_state_come_back(tmp_path: Path) -> None:
    ring = pb.Network.from_topology("complete", agents=5)
    five = pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[5])
    liar = ConstantBelief(np.log(np.array([0.25, 0.75])))
    problem = pb.problem_of(ring, five, faults=Faults({0: liar}, Median()))
    again = pb.load(pb.save(problem, tmp_path / "p.json"))
    assert isinstance(again, pb.FaultyProblem)
    # exp and log round once each.
    found = vars(again.faults.behaviours[0])["log_belief"]
    np.testing.assert_allclose(found, liar.log_belief, rtol=4e-16)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pb.problem_of(COINS, PAIR), "network: expected a network, .* got a FiniteModel"),
        (lambda: pb.problem_of([[0.9, 0.1], [0.6, 0.4]], COINS), "network: .* wrap it: Network"),
        (lambda: pb.problem_of(PAIR, [0.5]), "model: expected a FiniteModel or a RegressionModel"),
        (lambda: pb.analyse(PAIR), "problem: expected a problem, or the name or the file of one"),
        (lambda: pb.analyse(PAIR, COINS), "^problem: .* model; join them: pb.problem_of"),
        (lambda: pb.analyse("two-coins", exact=True, certify=True), "exact, certify: expected one"),
        (lambda: pb.load("two-coin"), "did you mean 'two-coins'"),
        (lambda: pb.simulate("two-coins", rounds=0), "rounds"),
        (lambda: pb.simulate("p1-regression", rounds=0), "^rounds: expected a whole number"),
        (lambda: pb.simulate("p1-regression", rounds="5"), "^rounds: expected a whole number"),
        (
            lambda: pb.simulate("two-coins", resources=3),
            "^resources: expected settings",
        ),
        (lambda: pb.verify("two-coins", delta=2.0), "delta"),
        (lambda: pb.load(pb.load("two-coins")), "the name or the file of one, got Problem"),
        (lambda: pb.load("a" * 5000), "^a{299}…: expected a readable"),
        (lambda: pb.save(pb.load("two-coins"), "a\0.toml"), "expected a file that can be written"),
        (lambda: pb.design("two-coins", "rate"), "^settings: expected a Design, got a str"),
        (lambda: pb.place("two-coins", 3), "^settings: expected a Placement, got an int"),
        (lambda: pb.design("two-coins", objectiv="rate"), "^setting: .* 'objective'"),
        (lambda: pb.place("two-coins", method_=3), "^setting: .* 'method'"),
        (lambda: pb.design("two-coins", limits=Limits(changes=3)), "^changes: expected a table"),
        (lambda: pb.design("two-coins", write="a" * 300 + ".toml"), "name too long; name another"),
        (lambda: pb.design("two-coins", write="a\0.toml"), "null byte; name another place"),
        (lambda: pb.run(None), "^EXPERIMENT: expected one of .* got null"),
        (lambda: pb.formula(PAIR), "^topology: expected the name of a family.* got Network"),
        (lambda: pb.formula("weights", weights=[[1]]), "^weights: expected text .* got list"),
        (lambda: pb.formula("star", seed=-1), "^seed: expected a whole number"),
        (lambda: pb.problem_of(PAIR, COINS, faults=3), "^faults: expected a Faults"),
        (lambda: pb.problem_of(PAIR, COINS, name=""), "^name: expected text, got ''"),
        (lambda: pb.problem_of(PAIR, COINS, title=3), "^title: expected text, got 3"),
        (lambda: pb.write_report("r.json", "p.html"), "^records: expected a list of files, got"),
    ],
)
def test_wrong_things_are_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600


def test_what_can_be_drawn_is_drawn_on_the_axes_given() -> None:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert pb.plot(PAIR, ax) is ax
    assert ax.get_title() == "Network"
    assert len(ax.collections) == 2  # the links and the agents
    assert pb.plot(pb.load("two-coins")).get_title() == "Network"
    with pytest.raises(ValueError, match="thing: expected a Network, a problem, or a result"):
        pb.plot(COINS)
    plt.close("all")


def test_functions_and_commands_say_the_same(capsys: Capture) -> None:
    printed = json_of(capsys, ["analyse", "two-coins", "--delta", "0.01", "--json"])
    assert json.loads(json.dumps(pb.analyse("two-coins", delta=0.01).as_json())) == printed
    printed = json_of(capsys, ["formula", "star", "--agents", "9", "--json"])
    assert json.loads(json.dumps(pb.formula("star", agents=9).as_json())) == printed


def test_nothing_is_written_unless_asked(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    pb.analyse("two-coins")
    pb.simulate("two-coins", rounds=5, replicates=3)
    outcome = pb.verify("two-coins", seed=1)
    assert outcome.record_path is None
    assert not outcome.failed
    assert list(tmp_path.iterdir()) == []


def test_several_agents_without_tables_have_the_same_analysis() -> None:
    problem = pb.load("p2-star")
    again = problem_from_document(document_of(without_file(problem)))
    first, second = pb.analyse(problem).as_json(), pb.analyse(again).as_json()
    for key in ("rates", "exponents", "rate"):
        assert second["learning"][key] == first["learning"][key]


CHANGING = pb.problem_of(
    MarkovNetwork(
        (Phase([[0.5, 0.5], [0.25, 0.75]]), Phase([[0.9, 0.1], [0.6, 0.4]])),
        np.array([[0.5, 0.5], [0.25, 0.75]]),
        np.array([1.0, 0.0]),
    ),
    COINS,
    name="changing",
)
LIAR = pb.problem_of(
    pb.Network.from_topology("complete", agents=5),
    pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[5]),
    faults=Faults({1: Push(1, 2.0)}, Median()),
    name="liar",
)
LINE = pb.problem_of(
    pb.Network.from_topology("path", agents=3),
    pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[3]),
    name="line",
)
SENT = pb.problem_of(PAIR, COINS, messages=pb.quantisers.Uniform(step=0.5), name="sent")
RESULTS: dict[str, Callable[[], Any]] = {
    "problem": lambda: pb.load("two-coins"),
    "analysis": lambda: pb.analyse("two-coins", rounds=5),
    "proved": lambda: pb.analyse("two-coins", exact=True),
    "certified": lambda: pb.analyse("two-coins", certify=True),
    "of changes": lambda: pb.analyse(CHANGING),
    "of faults": lambda: pb.analyse(LIAR),
    "of a regression": lambda: pb.analyse("p1-regression"),
    "simulation": lambda: pb.simulate("two-coins", rounds=9, replicates=4),
    "simulated regression": lambda: pb.simulate("p1-regression", rounds=9, replicates=4),
    "simulated changes": lambda: pb.simulate(CHANGING, rounds=9, replicates=4),
    "simulated messages": lambda: pb.simulate(SENT, rounds=9, replicates=4),
    "learned": lambda: pb.learn(CHANGING, [[0] * CHANGING.network.agents], seed=3),
    "verification": lambda: pb.verify("two-coins"),
    "design": lambda: pb.design("two-coins", replicates=0),
    "limited design": lambda: pb.design("two-coins", limits=Limits(fixed=[0]), replicates=0),
    "next edge": lambda: pb.design(LINE, objective="next-edge", replicates=0),
    "design of faults": lambda: pb.design(LIAR, replicates=0),
    "designed regression": lambda: pb.design("p1-regression", replicates=0),
    "placed regression": lambda: pb.place("p1-regression", replicates=0),
    "placement": lambda: pb.place("two-coins", replicates=0),
    "formula": lambda: pb.formula("star", agents=5),
    "rate": lambda: pb.learning_rate(PAIR, COINS),
    "exponent": lambda: pb.error_exponent(PAIR, COINS),
    "sample sizes": lambda: pb.sample_sizes(PAIR, COINS, delta=0.1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_pickled_and_copied_and_equal(name: str) -> None:
    result = RESULTS[name]()
    for copied in (
        pickle.loads(pickle.dumps(result)),
        copy.copy(result),
        copy.deepcopy(result),
        RESULTS[name](),
    ):
        assert copied == result
        assert hash(copied) == hash(result)
        assert repr(copied) == repr(result)
        if hasattr(result, "as_json"):
            assert copied.as_json() == result.as_json()
    assert result != RESULTS["rate" if name == "problem" else "problem"]()


def test_results_of_other_things_differ() -> None:
    one, other = (pb.simulate("two-coins", rounds=9, replicates=4, seed=seed) for seed in (0, 1))
    assert one != other
    assert pb.sample_sizes(PAIR, COINS, delta=0.1) != pb.sample_sizes(PAIR, COINS, delta=0.2)
