"""Everything that a user holds prints in at most 12 lines of 80 columns, arrays abbreviated."""

from __future__ import annotations

import dataclasses
import html
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse

import exact
import theory
from exact import Run, simulate
from tests.models import COIN, coins
from theory import (
    FiniteModel,
    GaussianAgent,
    Network,
    RegressionAgent,
    RegressionModel,
    SampleSizes,
    error_exponent,
    learning_rate,
    regression_limits,
    sample_sizes,
)
from theory.changing import (
    MarkovNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    influence,
    rotating_star,
)
from theory.design import DesignGraph, baselines
from theory.rational import RationalNetwork
from theory.showing import COLUMNS, LINES, Shown, Value, brief


def packages() -> Iterator[ModuleType]:
    for top in (theory, exact):
        yield top
        for module in pkgutil.walk_packages(top.__path__, top.__name__ + "."):
            if module.ispkg:
                yield importlib.import_module(module.name)


def public_results() -> list[type]:
    found = {
        getattr(package, name)
        for package in packages()
        for name in getattr(package, "__all__", [])
        if inspect.isclass(getattr(package, name))
        and dataclasses.is_dataclass(getattr(package, name))
    }
    return sorted(found, key=lambda kind: f"{kind.__module__}.{kind.__name__}")


def check_text(value: object) -> str:
    text = repr(value)
    lines = text.split("\n")
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    return text


class Table(HTMLParser):
    """Reads what stands in the cells of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check_html(value: object) -> None:
    table = Table()
    table.feed(value._repr_html_())  # type: ignore[attr-defined]
    assert set(table.tags) <= {"table", "caption", "tr", "th", "td"}
    assert table.tags.count("tr") < LINES
    assert table.tags.count("th") == table.tags.count("td") == table.tags.count("tr")


NASTY = (
    np.linspace(-1.0, 1.0, 1000),
    "<b>&" * 60,
    np.ones((1000, 50), dtype=bool),
    tuple(range(1000)),
    {agent: [0.1] * 1000 for agent in range(1000)},
    sparse.csr_array(np.eye(1000)),
    10**5000,
    np.array([np.nan, np.inf] * 500),
    "two\nlines",
    None,
)


@pytest.mark.parametrize("kind", public_results(), ids=lambda kind: kind.__qualname__)
def test_every_public_result_is_short_whatever_it_holds(kind: type) -> None:
    assert issubclass(kind, Shown), f"{kind.__module__}.{kind.__qualname__} prints at any length"
    if kind._title is not Shown._title or inspect.isabstract(kind):
        return  # made in the next test, as their titles read what they hold
    value = object.__new__(kind)
    for index, field in enumerate(dataclasses.fields(kind)):
        vars(value)[field.name] = NASTY[index % len(NASTY)]
    text = check_text(value)
    check_html(value)
    assert text.startswith(kind.__name__)


def many() -> tuple[Network, FiniteModel]:
    network = Network.from_topology("ring", agents=1000)
    agents = [GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0 + k]], 1.0) for k in range(1000)]
    return network, FiniteModel.from_agents(["zero", "other"], agents)


def held() -> list[object]:
    """One of each object with a title of its own, and results of a thousand agents."""
    ring, model = many()
    named = Network.from_edges([[k, k + 1] for k in range(99)], agents=100)
    named = dataclasses.replace(named, names=tuple(f"agent <{k}>" for k in range(100)))
    seer = RegressionAgent(ranges=[[1, 1], [-1, 1]], noise_std=0.8)
    regression = RegressionModel([0.5, 1.0], [seer] * 1000, np.eye(2), np.eye(2))
    star = rotating_star(groups=100, group_size=10, edge_confidence=0.5)
    graph = DesignGraph.from_network(named)
    return [
        ring,
        named,
        Network.from_topology("ring", agents=5000, sparse=True),
        RationalNetwork.from_network(named),
        model,
        COIN,
        model.kinds[0],
        seer,
        regression,
        star,
        star.phases[0],
        Phase(ring.weights),
        RandomLinks(ring, 0.9),
        RandomPresence(ring, 0.9),
        MarkovNetwork.gossip_pairs(named),
        graph,
        baselines(graph)[0],
        learning_rate(ring, model),
        error_exponent(ring, coins(1000)),
        influence(star),
        regression_limits(ring, regression),
        simulate(named, coins(100), run=Run(rounds=2, replicates=2, seed=0)),
    ]


def test_objects_of_a_thousand_agents_are_short() -> None:
    values = held()
    for value in values:
        text = check_text(value)
        check_html(value)
        # Six numbers in a row at most, but for what a title says: never a whole array.
        assert not re.search(r"(?:-?[\d.]+, ){6}", text), text
    titled = {kind for kind in public_results() if kind._title is not Shown._title}  # type: ignore[attr-defined]
    assert titled <= {type(value) for value in values}


def test_a_network_shows_what_counts() -> None:
    star = Network.from_topology("star", agents=9, edge_confidence=0.5)
    assert repr(star) == (
        "Network 'star', 9 agents\n"
        "  links    16\n"
        "  weights  9 x 9, 0 to 0.5\n"
        "  v        9 values, 0.08 to 0.36"
    )
    assert brief(star) == "Network 'star', 9 agents"
    assert repr(RandomLinks(star, 0.5)).startswith("RandomLinks\n  network    Network 'star', 9")


def test_names_are_escaped_in_notebooks() -> None:
    network = Network([[0.5, 0.5], [0.5, 0.5]], "<script>", None, ("<a>", "b & c"))
    table = Table()
    table.feed(network._repr_html_())
    assert "script" not in table.tags
    assert table.texts[0] == "Network '<script>', 2 agents"
    assert "('<a>', 'b & c')" in table.texts
    assert html.escape("<a>") in network._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (np.float64(1 / 3), "0.333333"),
        (np.int64(3), "3"),
        (np.array(2.5), "2.5"),
        (np.array([1.0, 2.0]), "[1, 2]"),
        (np.arange(9), "9 values, 0 to 8"),
        (np.arange(9) > 3, "9 values, 5 true"),
        (np.full((3, 4), 0.1), "3 x 4, all 0.1"),
        (np.array([1.0, np.nan] * 4), "8 values, all 1, some not finite"),
        (np.full(8, np.inf), "8 values, none finite"),
        (np.empty((0, 3)), "0 x 3"),
        ((1,), "(1,)"),
        ((), "()"),
        ({"a": 0.5}, "{a: 0.5}"),
        (tuple(range(7)), "7 entries: 0, 1, 2, 3, 4, 5, …"),
        (sparse.csr_array(np.eye(3)), "3 x 3, all 1, 3 entries stored"),
    ],
)
def test_values_in_one_line(value: object, text: str) -> None:
    assert brief(value) == text


def test_value_objects_are_shown_as_well() -> None:
    assert issubclass(Value, Shown)
    assert not inspect.isabstract(Value)


class FakePandas(ModuleType):
    """Stands in for pandas: a table is its columns, which must be of one length."""

    def DataFrame(self, columns: dict[str, object]) -> dict[str, list[object]]:  # noqa: N802
        table = {name: np.asarray(column).tolist() for name, column in columns.items()}
        assert len({len(column) for column in table.values()}) == 1
        return table


@pytest.fixture
def pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", FakePandas("pandas"))


@pytest.mark.usefixtures("pandas")
def test_tables_hold_the_results() -> None:
    network, model = Network.from_topology("ring", agents=3), coins(3)
    rate = learning_rate(network, model)
    assert rate.to_frame() == {
        "hypothesis": [0, 1],
        "rate": rate.rates.tolist(),
        "is_reference": [True, False],
        "is_binding": [False, True],
    }
    exponent = error_exponent(network, model)
    assert exponent.to_frame()["exponent"] == exponent.exponents.tolist()
    run = simulate(network, model, run=Run(rounds=3, replicates=4, seed=0))
    table = run.to_frame()
    assert table["agent"] == [0, 0, 1, 1, 2, 2]
    assert table["hypothesis"] == ["fair", "loaded"] * 3
    for k, (i, name) in enumerate(zip(table["agent"], table["hypothesis"], strict=True)):
        assert table["rate"][k] == run.rates.mean[i, run.hypotheses.index(name)]
    sizes: SampleSizes = sample_sizes(network, model, delta=0.05)
    ladder = sizes.to_frame()
    assert dict(zip(ladder["statement"], ladder["rounds"], strict=True)) == {
        "printed": sizes.printed.rounds,
        "repaired": sizes.repaired.rounds,
        "chernoff": sizes.chernoff.rounds,
        "at least": sizes.certified.lower,
        "certified": sizes.certified.upper,
        "printed in P2": sizes.printed_p2.rounds,
    }
    assert influence(network).to_frame()["agent"] == [0, 1, 2]


def test_without_pandas_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match=r"to_frame: expected pandas.*pip install pandas"):
        learning_rate(Network.from_topology("ring", agents=3), coins(3)).to_frame()
