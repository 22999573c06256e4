"""Numbers, keys and tables that a few signs make huge: refused in one line, or answered."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from exact.parallel import workplace
from peerbayes.cli import BAD_INPUT, DONE, main
from peerbayes.problem.files import read_document
from tests.peerbayes.commands import Capture, Patch
from theory import FiniteAgent, FiniteModel
from theory.numbers.rational import as_fraction, read_fraction
from theory.symbolic.general import parse_entry
from theory.validation import as_float_array, as_integer, as_positive, as_probability

HUGE = 10**5000


@pytest.fixture
def no_bomb_goes_off() -> Iterator[None]:
    """End with an error what would take hours: what is refused at once takes milliseconds."""

    def still_at_work(*_: object) -> None:
        raise AssertionError("still at work after two minutes")

    before = signal.signal(signal.SIGALRM, still_at_work)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("no_bomb_goes_off")
@pytest.mark.parametrize(
    "text",
    ["1e999999999", "1/3e99999999", "1e-999999999", "9" * 5000, "1e0099999", "1e9999"],
)
def test_numbers_of_too_many_digits_are_refused_at_once(
    text: str, capsys: Capture, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"number: expected|Invalid literal"):
        read_fraction(text)
    with pytest.raises(ValueError, match="value: expected a fraction"):
        as_fraction(text)
    problem = ["design", "two-coins", "--objective", "mixing", "--out", str(tmp_path)]
    assert main([*problem, f"--stationary={text},1/2"]) == BAD_INPUT
    line = capsys.readouterr().err
    assert line.startswith("peerbayes: ")
    assert "stationary: expected" in line
    assert line.count("\n") == 1


def test_exponents_that_can_be_written_out_are_read() -> None:
    assert read_fraction("1e999") == 10**999
    assert read_fraction("25E-003") == read_fraction("1/40")
    assert read_fraction("1_0e1_0") == 10**11
    with pytest.raises(ValueError, match=r"number: expected an exponent of at most 999"):
        read_fraction("1e1_000")


def test_numbers_no_double_holds_are_named_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^p: expected a number in \(0, 1\), got a whole number"):
        as_probability("p", HUGE)
    with pytest.raises(ValueError, match=r"^x: expected a finite number above 0, got a whole"):
        as_positive("x", HUGE)
    with pytest.raises(ValueError, match=r"^x: expected numbers below 1e308"):
        as_float_array("x", [HUGE], ndim=1)
    with pytest.raises(ValueError, match=r"^n: .* got a whole number of about 500\d digits"):
        as_integer("n", HUGE, minimum=1, maximum=10)


@pytest.mark.usefixtures("no_bomb_goes_off")
@pytest.mark.parametrize(
    "entry",
    [
        "9**9**9**9",
        "10**10**9",
        "((10**20)**20)**20",
        "((((9**20)**20)**20)**20)**20",
        "1/(((10**20)**20)**20)",
        "(((1/3)**20)**20)**20",
        "((a+b)**20)**20",
    ],
)
def test_towers_of_powers_are_refused_at_once(entry: str) -> None:
    with pytest.raises(ValueError, match=r"^w: expected a fraction or an expression"):
        parse_entry(entry, place="w")


def test_powers_of_a_reasonable_size_are_read() -> None:
    assert parse_entry("(10**20)**20", place="w") == 10**400
    assert str(parse_entry("((1-a)**5)**4", place="w")) == "(1 - a)**20"


@pytest.mark.usefixtures("no_bomb_goes_off")
@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 100_000) + " = 1\n",
        "x = 1\n[" + ".".join(["a"] * 100_000) + "]\ny = 1\n",
        "x = { " + " . ".join(['"a"'] * 100_000) + " = 1 }\n",
    ],
)
def test_keys_of_a_hundred_thousand_parts_are_refused_at_once(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"line [12]: expected a key of at most 200 parts"):
        read_document(path)


def test_dots_in_texts_and_keys_of_some_parts_are_no_deep_keys(tmp_path: Path) -> None:
    path = tmp_path / "dots.toml"
    path.write_text('title = "' + "a." * 1000 + '"\n' + ".".join(["a"] * 50) + " = 1\n")
    assert read_document(path)["title"] == "a." * 1000


@pytest.mark.usefixtures("no_bomb_goes_off")
def test_few_of_twenty_thousand_hypotheses_are_compared_in_pairs(
    monkeypatch: Patch,
) -> None:
    compared: list[tuple[int, int]] = []
    indistinguishable = FiniteAgent.indistinguishable

    def noting(self: FiniteAgent, first: int, second: int) -> bool:
        compared.append((first, second))
        assert len(compared) < 1000, "of two hundred million pairs two are alike"
        return indistinguishable(self, first, second)

    monkeypatch.setattr(FiniteAgent, "indistinguishable", noting)
    rng = np.random.default_rng(0)
    table = rng.dirichlet([1.0, 1.0, 1.0], size=20_000)
    table[7], table[19_999] = table[3], table[11]
    agent = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.2, 0.3, 0.5]], likelihood=table[:, None, :]
    )
    model = FiniteModel.from_agents([f"h{m}" for m in range(20_000)], [agent])
    assert model.ambiguous_pairs == ((3, 7), (11, 19_999))


@pytest.mark.parametrize("seed", range(5))
def test_pairs_that_nobody_tells_apart_are_those_of_all_pairs(seed: int) -> None:
    """Every pair tried, where claims come from few numbers and some differ by rounding."""
    rng = np.random.default_rng(seed)
    kinds = []
    for _ in range(2):
        head = rng.choice([0.2, 0.4, 0.7], size=(12, 2)) * (1 + rng.choice([0, 2e-16], (12, 2)))
        likelihood = np.stack([head, 1 - head], axis=-1)
        kinds.append(
            FiniteAgent.from_tables(
                inputs=[0.5, 0.5], truth=[[0.5, 0.5]] * 2, likelihood=likelihood
            )
        )
    model = FiniteModel.from_agents([f"h{m}" for m in range(12)], kinds)
    possible = combinations(range(12), 2)
    everything = [pair for pair in possible if all(k.indistinguishable(*pair) for k in kinds)]
    assert list(model.ambiguous_pairs) == everything


def test_more_alike_hypotheses_than_can_be_listed_are_refused() -> None:
    agent = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]]] * 2000
    )
    model = FiniteModel.from_agents([f"h{m}" for m in range(2000)], [agent])
    with pytest.raises(ValueError, match=r"^hypotheses: expected at most 1000000 pairs"):
        _ = model.ambiguous_pairs


def test_a_dask_scheduler_that_is_not_there_is_one_line(monkeypatch: Patch) -> None:
    pytest.importorskip("distributed")
    import dask

    monkeypatch.setattr("exact.parallel._SCHEDULER_SECONDS", 1)
    with (
        dask.config.set({"scheduler-address": "tcp://127.0.0.1:9"}),
        pytest.raises(ValueError, match=r"^backend: expected a dask scheduler that answers"),
        workplace("dask", 1),
    ):
        pass


def test_a_design_says_in_json_whether_its_time_was_up(capsys: Capture, tmp_path: Path) -> None:
    arguments = ["design", "two-coins", "--replicates", "0", "--json", "--out", str(tmp_path)]
    assert main([*arguments, "--seconds", "600"]) == DONE
    assert '"stopped_by_time_budget": false' in capsys.readouterr().out
    assert main([*arguments, "--seconds", "0"]) == BAD_INPUT
    assert "--seconds" in capsys.readouterr().err
