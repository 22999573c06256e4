"""Every public function refuses arguments of the wrong kind, in one line that says what to do."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import exact
import theory
from exact import simulate
from tests.models import coins
from theory import FiniteModel, Network, learning_rate
from theory.changing import DelayedNetwork, RandomLinks, RandomPresence, influence
from theory.design import DesignGraph, changing_weights, fastest_mixing, optimal_rate, place
from theory.learnability import rejection
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork
from theory.regression import regression_limits
from theory.robustness import Faults, Median, Silent
from theory.typed import typed


@typed
def door(network: Network, model: FiniteModel) -> int:
    """Something that takes a network and a model."""
    return network.agents + model.agents


DOORS = ("network", "graph", "model")
RATIONAL_COIN = RationalFiniteAgent.from_tables(
    inputs=["1"], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
)


def public_functions() -> dict[str, Callable[..., object]]:
    """All that the packages of theory and exact offer that takes a network, a graph or a model."""
    found = {}
    for top in (theory, exact):
        inside = pkgutil.walk_packages(top.__path__, top.__name__ + ".")
        names = [top.__name__, *(module.name for module in inside if module.ispkg)]
        for name in names:
            package = importlib.import_module(name)
            for entry in getattr(package, "__all__", []):
                function = getattr(package, entry)
                if inspect.isfunction(function) and set(DOORS) & set(parameters(function)):
                    found[f"{function.__module__}.{entry}"] = function
    return found


def parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


FUNCTIONS = public_functions()


def samples(annotation: str) -> object:
    """An argument that fits, by what the annotation names first."""
    network = Network([[0.5, 0.5], [0.5, 0.5]])
    made = {
        "RationalNetwork": RationalNetwork.from_network(network),
        "RationalModel": RationalModel.from_agents(["fair", "loaded"], [RATIONAL_COIN], counts=[2]),
        "DesignGraph": DesignGraph.from_network(network),
        "RegressionModel": theory.RegressionModel(
            [1.0], [theory.RegressionAgent(ranges=[[1, 1]], noise_std=1.0)] * 2, [[1.0]], [[1.0]]
        ),
        "FiniteModel": coins(2),
        "Model": coins(2),
        "ChangingNetwork": RandomLinks(network, 0.5),
        "Weights": network,
        "Network": network,
    }
    return next(value for name, value in made.items() if name in annotation)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_kinds_get_a_line(name: str) -> None:
    function = FUNCTIONS[name]
    given = parameters(function)
    doors = [argument for argument in given if argument in DOORS]
    for argument in doors:
        annotation = str(given[argument].annotation)
        wrong: list[object] = [{"network": 1}, 3, FiniteModel, "network"]
        wrong += [coins(2), DesignGraph.from_edges([[0, 1]], agents=2)][argument == "model" :]
        if "ArrayLike" in annotation or "Weights" in annotation:
            wrong = [coins(2)] if argument != "model" else wrong
        else:
            wrong += [np.eye(2), [[0.5, 0.5], [0.5, 0.5]], sparse.eye_array(2), None]
        if argument == "graph":
            wrong = [value for value in wrong if not isinstance(value, DesignGraph)]
        for value in wrong:
            if "DesignGraph" in annotation and isinstance(value, DesignGraph):
                continue
            arguments = {
                other: samples(str(given[other].annotation)) for other in doors if other != argument
            }
            rest = {
                other: None
                for other, parameter in given.items()
                if parameter.default is parameter.empty and other not in doors
            }
            with pytest.raises(ValueError, match=rf"^{argument}: expected (an?|one) ") as caught:
                function(**{**arguments, argument: value, **rest})
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_swapped_arguments_are_named(name: str) -> None:
    function = FUNCTIONS[name]
    given = parameters(function)
    doors = [argument for argument in given if argument in DOORS]
    if len(doors) < 2:
        return
    first, second = (samples(str(given[argument].annotation)) for argument in doors)
    rest = {
        other: None
        for other, parameter in given.items()
        if parameter.default is parameter.empty and other not in doors
    }
    with pytest.raises(ValueError, match=f"^{doors[0]}: .*in this order: {doors[0]}, {doors[1]}"):
        function(**{doors[0]: second, doors[1]: first}, **rest)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda n, m: door(n.weights, m),
            "network: expected a Network, got an array of shape (2, 2); wrap it: Network(network)",
        ),
        (
            lambda n, m: door(nx.path_graph(2), m),
            "network: expected a Network, got a Graph; convert it: Network.from_graph(network)",
        ),
        (
            lambda n, m: door(RationalNetwork.from_network(n), m),
            "network: expected a Network, got a RationalNetwork; convert it: network.as_network()",
        ),
        (
            lambda n, m: door(Network, m),
            "network: expected a Network, got the class Network; give an object, not its class",
        ),
        (
            lambda n, m: fastest_mixing(n, [0.5, 0.5]),
            "graph: expected a DesignGraph, got a Network; "
            "convert it: DesignGraph.from_network(graph)",
        ),
        (
            lambda n, m: place(m, n),
            "network: expected a Network or an array, got a FiniteModel; "
            "give the arguments in this order: network, model",
        ),
        (
            lambda n, m: influence(n.weights),
            "network: expected a network, or one of the kinds in theory.changing, "
            "got an array of shape (2, 2); wrap it: Network(network)",
        ),
        (
            lambda n, m: changing_weights(n, m, target=0),
            "network: expected one of the kinds in theory.changing, got a Network; "
            "make one, such as PeriodicNetwork(…)",
        ),
        (
            lambda n, m: door(n, None),
            "model: expected a FiniteModel, got None; make one with FiniteModel.from_agents",
        ),
        (
            lambda n, m: regression_limits(n, m),
            "model: expected a RegressionModel, got a FiniteModel; "
            "make one with RegressionModel.from_agents",
        ),
    ],
)
def test_remedies(call: Callable[[Network, FiniteModel], object], said: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        call(Network([[0.5, 0.5], [0.5, 0.5]]), coins(2))
    assert str(caught.value) == said


@pytest.mark.parametrize("kind", [RandomLinks, RandomPresence, DelayedNetwork])
def test_networks_made_of_a_network_ask_for_one(kind: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match=r"^network: expected a Network, got an array"):
        kind(np.eye(2), 1)


def test_names_go_where_numbers_went() -> None:
    model = coins(4)
    assert optimal_rate(model, target="fair").rate == optimal_rate(model, target=0).rate
    assert rejection(model, "fair").target == 0
    with pytest.raises(ValueError, match="target: expected one of fair, loaded, got 'laoded'"):
        optimal_rate(model, target="laoded")
    assert Faults({3: Silent()}, "median") == Faults({3: Silent()}, Median())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"rule: .*got 'trimmed-mean'; .*TrimmedMean"):
        Faults({3: Silent()}, "trimmed-mean")  # type: ignore[arg-type]


def test_a_function_keeps_its_face() -> None:
    assert learning_rate.__doc__ is not None
    assert list(inspect.signature(learning_rate).parameters) == ["network", "model"]
    assert learning_rate.__module__ == "theory.learning.rate"
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        learning_rate(Network([[0.5, 0.5], [0.5, 0.5]]))  # type: ignore[call-arg]
    assert simulate is not influence
