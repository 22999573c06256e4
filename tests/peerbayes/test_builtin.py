"""The built-in problems are what they say."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from peerbayes.problem.builtins.families import BUILTINS, EDGE_CONFIDENCES, WrittenBuiltin
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.reading import read_problem
from tests.peerbayes.commands import Patch
from tests.peerbayes.documents import TWO_COINS
from theory import learning_rate

FILES = ("two-coins", "p2-star", "p2-grid")
STAR = BUILTINS["p2-star"]
assert isinstance(STAR, WrittenBuiltin)
MODEL = STAR.documents[STAR.default][0]["model"]
READERS: dict[str, list[list[Fraction]]] = {  # exact tables of confusions by name, the true first
    name: [[Fraction(entry) for entry in row] for row in table]
    for name, table in zip(MODEL["hypotheses"], MODEL["agents"][0]["likelihood"], strict=True)
}
NAMES = tuple(READERS)


def test_two_coins_is_the_documented_file(tmp_path: Path) -> None:
    path = tmp_path / "example.toml"
    path.write_text(TWO_COINS, encoding="utf-8")
    ours, theirs = load_problem("two-coins").specification, read_problem(path).specification
    assert ours is not None
    assert theirs is not None
    assert ours.model_copy(update={"title": None}) == theirs


@pytest.mark.parametrize("name", [*FILES, "digits"])
def test_names_and_parameters(name: str) -> None:
    family, problems = BUILTINS[name], load_variants(name)
    assert tuple(problem.name for problem in problems) == family.variants
    assert family.default in family.variants
    assert len({json.dumps(dict(problem.parameters)) for problem in problems}) == len(problems)
    assert all(problem.name.startswith(name) for problem in problems)
    assert all(problem.family == name and problem.title for problem in problems)
    assert all(problem.is_exact == (name in FILES) for problem in problems)


def test_defaults_and_variants_by_name() -> None:
    assert load_problem("p2-star").name == "p2-star a=0.5"
    assert load_problem("p2-star a=0.1").parameters == {"edge_confidence": 0.1}
    assert [problem.name for problem in load_variants("p2-grid corner")] == ["p2-grid corner"]
    assert load_problem("digits").name == "digits star a=0.7 split 1"


def test_a_file_is_not_mistaken_for_a_builtin(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").write_text(TWO_COINS.replace("two-coins", "mine"), encoding="utf-8")
    assert load_problem("mine").name == "mine"
    Path("p2-star").write_text(TWO_COINS, encoding="utf-8")
    assert load_problem("p2-star").name == "p2-star a=0.5"
    assert load_problem("./p2-star").name == "two-coins"
    assert load_problem(Path("mine")).name == "mine"


@pytest.mark.parametrize("reader", READERS)
def test_confusion_tables_are_exact_distributions(reader: str) -> None:
    table, honest = READERS[reader], READERS[NAMES[0]]
    assert all(sum(row) == 1 for row in table)
    assert all(min(row) > 0 for row in table)
    named = {int(digit) for digit in reader if digit.isdigit()}
    assert {x for x in range(10) if table[x] != honest[x]} == named
    assert {share for row in honest for share in row} == {Fraction(1, 50), Fraction(41, 50)}


def exact_rates(centre_weight: float) -> dict[str, float]:
    """By hand, from the table in the module's introduction."""

    def row(share: float) -> float:
        # A digit that is read as itself with .84 - share and as its twin with share, in truth
        # with .82 and .02: the divergence of one row.
        return 0.82 * np.log(0.82 / (0.84 - share)) + 0.02 * np.log(0.02 / share)

    v, mild, full = centre_weight, row(0.32), row(0.42)
    return {
        "reads all digits": 0.0,
        "confuses 4 and 9": v * mild / 4,
        "confuses 3 and 8": v * full / 4,
        "confuses 0 and 1": (1 - v) * full,
        "confuses 1 and 7": v * mild / 8 + (1 - v) * mild / 2,
    }


@pytest.mark.parametrize("problem", load_variants("p2-star"), ids=lambda p: p.name)
def test_star_rates_follow_the_closed_form(problem) -> None:  # type: ignore[no-untyped-def]
    a = float(problem.parameters["edge_confidence"])
    v = 9 * a / (9 * a + 8)
    result = learning_rate(problem.network, problem.model)
    expected = exact_rates(v)
    # Sums of at most a hundred products: a few hundred roundings.
    np.testing.assert_allclose(
        result.rates, [expected[name] for name in problem.model.hypotheses], rtol=1e-12
    )
    assert problem.model.hypotheses[result.binding] == "confuses 4 and 9"
    assert result.reference == (0,)
    # The documented numbers.
    assert expected["confuses 4 and 9"] == pytest.approx(0.0795 * v, abs=5e-5)
    assert expected["confuses 3 and 8"] == pytest.approx(0.1220 * v, abs=5e-5)
    assert expected["confuses 0 and 1"] == pytest.approx(0.4877 * (1 - v), abs=5e-5)
    assert expected["confuses 1 and 7"] == pytest.approx(0.1590 - 0.1193 * v, abs=1e-4)


def test_star_rates_move_with_the_centre() -> None:
    rates = [
        learning_rate(problem.network, problem.model).rates for problem in load_variants("p2-star")
    ]
    steps = np.diff(rates, axis=0)
    assert (steps[:, 1:3] > 0).all()
    assert (steps[:, 3:] < 0).all()


@pytest.mark.parametrize("problem", load_variants("p2-grid"), ids=lambda p: p.name)
def test_grid_rates_follow_the_closed_form(problem) -> None:  # type: ignore[no-untyped-def]
    v = {"centre": 5, "side": 4, "corner": 3}[problem.parameters["informative_agent"]] / 33
    result = learning_rate(problem.network, problem.model)
    expected = exact_rates(v)
    np.testing.assert_allclose(
        result.rates, [expected[name] for name in problem.model.hypotheses], rtol=1e-12
    )


@pytest.mark.parametrize("name", ["p2-star", "p2-grid"])
def test_who_sees_what(name: str) -> None:
    for problem in load_variants(name):
        information = problem.model.information(0)
        informative = information[:, NAMES.index("confuses 4 and 9")] > 0
        assert informative.sum() == 1
        np.testing.assert_array_equal(
            information[:, NAMES.index("confuses 0 and 1")] > 0, ~informative
        )
        np.testing.assert_array_equal(
            information[:, NAMES.index("confuses 3 and 8")] > 0, informative
        )
        assert (information[:, NAMES.index("confuses 1 and 7")] > 0).all()
        centre_weight = problem.network.stationary_distribution[informative.argmax()]
        expected = {"centre": 5 / 33, "side": 4 / 33, "corner": 3 / 33}
        if name == "p2-grid":
            place = str(problem.parameters["informative_agent"])
            assert centre_weight == pytest.approx(expected[place], rel=1e-14)


def test_digits_train_once_for_all_variants() -> None:
    calls: list[tuple[int, int]] = []
    problems = load_variants("digits", progress=lambda done, total: calls.append((done, total)))
    assert calls == [(k, 10) for k in range(1, 11)]
    assert len(problems) == 12
    stars = [problem for problem in problems if "edge_confidence" in problem.parameters]
    assert [problem.parameters["edge_confidence"] for problem in stars] == [*EDGE_CONFIDENCES] * 2
    for problem in problems:
        assert problem.specification is None
        assert not problem.is_exact
        assert problem.network.agents == problem.model.agents == 9
        assert len(problem.model.hypotheses) == 10


def test_digits_differ_in_data_and_network_alone() -> None:
    problems = {problem.name: problem for problem in load_variants("digits")}
    first, second = problems["digits star a=0.1 split 1"], problems["digits star a=0.7 split 1"]
    np.testing.assert_array_equal(first.model.divergences, second.model.divergences)
    other = problems["digits star a=0.1 split 2"]
    assert not np.array_equal(first.model.divergences, other.model.divergences)
    # The informative agent of the grid holds what the star's centre holds.
    for place, agent in (("centre", 4), ("corner", 0)):
        grid = problems[f"digits grid {place}"]
        np.testing.assert_array_equal(grid.model.divergences[agent], first.model.divergences[0])
    np.testing.assert_array_equal(
        load_problem("digits").model.divergences, second.model.divergences
    )
