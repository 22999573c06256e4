"""Evidence: draws by the problem's law, and lines from outside, none counted twice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import peerbayes as pb
from peerbayes.live import evidence as lines_module
from peerbayes.live.evidence import (
    Claims,
    Draws,
    FileFeed,
    Lines,
    UnreadableError,
    drawn,
    from_input,
)
from peerbayes.live.finding import every_share
from tests.peerbayes.live.networks import eventually

_NORMAL = {"form": "normal", "means": [[0.0, 1.0], [2.0, 3.0]], "std": 0.5}
_TABLES = {"form": "tables", "logs": np.log([[[0.5, 0.5]], [[0.75, 0.25]]]).tolist()}


def _gaussian() -> Any:
    agent = pb.GaussianAgent(
        inputs=np.array([0.3, 0.7]), truth_means=np.array([0.0, 1.0]), truth_std=0.7,
        means=np.array([[0.0, 1.0], [0.5, 0.5]]), std=0.5, batch=2,
    )  # fmt: skip
    model = pb.FiniteModel.from_agents(["right", "flat"], [agent], counts=[2])
    return pb.problem_of(pb.Network([[0.5, 0.5], [0.5, 0.5]]), model)


@pytest.mark.parametrize("name", ["p2-star", "normal"])
def test_draws_have_the_mean_and_variance_of_the_model(name: str) -> None:
    problem = _gaussian() if name == "normal" else pb.load(name)
    rounds, told_apart = 4000, 0
    for number, share in enumerate(every_share(problem)[:2]):
        rows = drawn(share, rounds=rounds, seed=7)
        ratios = rows[:, 0] - rows[:, 1]
        if not ratios.any():
            continue  # that agent cannot tell the two apart
        error = ratios.std(ddof=1) / np.sqrt(rounds)
        mean = problem.model.information(0)[number, 1]
        # Four standard errors: a right sampler is out once in 16 000 seeds; this one is fixed.
        assert abs(ratios.mean() - mean) < 4 * error
        told_apart += 1
    assert told_apart


def test_draws_follow_the_law_outcome_by_outcome() -> None:
    law = {"probabilities": [0.1, 0.2, 0.7], "offsets": [[0.0], [1.0], [2.0]]}
    source = Draws(law, seed=1, agent=0)
    seen = np.array([source.take(1)[0] for _ in range(3000)])
    counts = np.bincount(seen.astype(int), minlength=3)
    assert stats.chisquare(counts, [300, 600, 2100]).pvalue > 1e-3


def test_agents_and_seeds_have_streams_of_their_own() -> None:
    law = {"probabilities": [0.5, 0.5], "offsets": [[0.0], [1.0]]}

    def first(seed: int, agent: int) -> list[float]:
        source = Draws(law, seed=seed, agent=agent)
        return [float(source.take(1)[0]) for _ in range(40)]

    assert first(0, 0) == first(0, 0)
    assert len({tuple(first(s, a)) for s in (0, 1) for a in (0, 1)}) == 4


def test_draws_go_on_from_any_offset() -> None:
    share = every_share("p2-star")[0]
    rows = drawn(share, rounds=600, seed=3)
    for offset in (0, 1, 255, 256, 511, 599):
        source = Draws(share.content["law"], seed=3, agent=0)
        source.offset = offset
        assert (source.take(1) == rows[offset]).all()


@pytest.mark.parametrize(
    ("line", "x", "y"),
    [("1,0.25", 1, 0.25), (" 1 , 0.25\r", 1, 0.25), ("[0, -1]", 0, -1.0),
     ('{"x": 1, "y": 2}', 1, 2)],
)  # fmt: skip
def test_normal_labels_have_their_densities(line: str, x: int, y: float) -> None:
    row = Claims(_NORMAL, hypotheses=2).of_line(line)
    means = np.array(_NORMAL["means"])[:, x]
    wanted = stats.norm.logpdf(y, means, 0.5)
    # Up to a constant common to the hypotheses, which has no meaning.
    assert row[0] - row[1] == pytest.approx(wanted[0] - wanted[1], abs=1e-12)


@pytest.mark.parametrize("line", ["1", "[0, 1]", '{"y": 1}', '{"observation": 1}', "1.0"])
def test_observations_of_tables_are_looked_up(line: str) -> None:
    row = Claims(_TABLES, hypotheses=2).of_line(line)
    assert row.tolist() == [np.log(0.5), np.log(0.25)]


def test_log_likelihoods_may_be_given() -> None:
    row = Claims(_NORMAL, hypotheses=2).of_line('{"log_likelihood": [-1.5, -2]}')
    assert row.tolist() == [-1.5, -2.0]


@pytest.mark.parametrize(
    "line",
    ["2", "-1", "0.5", "x", "", "[]", "[1]", "[0,1,1]", "{}", "true", "null", "nan", "inf", '"0"',
     "1e999", "[[0]]", '{"log_likelihood": [1]}', '{"log_likelihood": [1, null]}',
     '{"log_likelihood": [1, 1e9]}', '{"log_likelihood": ["a", 1]}', "1,1", "[true, 0]",
     "1" * 70_000, "[" * 5000, "1" * 400, "[" + "1" * 400 + ", 0]", '{"log_likelihood": [true, 0]}',
     '{"log_likelihood": ["0.5", "1"]}', '{"log_likelihood": [1' + "0" * 400 + ", 0]}",
     "0_1", "\u0661", "0x1", "1 V", "1 %", "0;1", "0,", "0,1;0,1", '"0,1"'],
)  # fmt: skip
def test_other_lines_are_none(line: str) -> None:
    with pytest.raises(UnreadableError):
        Claims(_TABLES, hypotheses=2).of_line(line)


@pytest.mark.parametrize("line", ["0,9", "0,0", "1.234,5", "1,234.5", "0,9;1,2", "-0,9", "0,9,"])
@pytest.mark.parametrize("claims", [{**_NORMAL, "means": [[0.0], [2.0]]}, _TABLES])
def test_a_comma_is_no_decimal_mark_where_there_are_no_inputs(line: str, claims: Any) -> None:
    with pytest.raises(UnreadableError, match="more than one number; if a comma is the decimal"):
        Claims(claims, hypotheses=2).of_line(line)
    with pytest.raises(UnreadableError, match="more than an input and a label; if a comma"):
        Claims(_NORMAL, hypotheses=2).of_line(f"1,{line}")


def test_impossible_observations_are_refused() -> None:
    claims = Claims({"form": "outcomes", "logs": [[0.0, None], [-1.0, -0.5]]}, hypotheses=2)
    assert claims.of_line("0").tolist() == [0.0, -1.0]
    with pytest.raises(UnreadableError, match="rules out"):
        claims.of_line("1")
    with pytest.raises(UnreadableError, match="no input"):
        Claims(_NORMAL, hypotheses=2).of_line("1")


_NAMED = {**_TABLES, "names": ["heads, or so", "1"]}
_WITH_INPUTS = {
    "form": "tables",
    "logs": np.log([[[0.5, 0.5], [0.9, 0.1]], [[0.75, 0.25], [0.2, 0.8]]]).tolist(),
    "names": ["low", "high"],
}


@pytest.mark.parametrize(
    ("line", "claims", "x", "y"),
    [
        ("heads, or so", _NAMED, 0, 0),
        (' "heads, or so" ', _NAMED, 0, 0),
        ('{"y": "heads, or so"}', _NAMED, 0, 0),
        ("0", _NAMED, 0, 0),
        ("1", _NAMED, 0, 1),
        ('"0"', _NAMED, 0, 0),
        ("1, high", _WITH_INPUTS, 1, 1),
        ('[1, "low"]', _WITH_INPUTS, 1, 0),
        ('{"x": 0, "y": "high"}', _WITH_INPUTS, 0, 1),
        ("1,0", _WITH_INPUTS, 1, 0),
    ],
)
def test_outcomes_go_by_name(line: str, claims: Any, x: int, y: int) -> None:
    row = Claims(claims, hypotheses=2).of_line(line)
    assert row.tolist() == [table[x][y] for table in claims["logs"]]


def test_a_name_is_a_name_before_it_is_a_number() -> None:
    claims = Claims({**_TABLES, "names": ["1", "0"]}, hypotheses=2)
    assert claims.of_line("1").tolist() == [table[0][0] for table in _TABLES["logs"]]


@pytest.mark.parametrize("line", ["tails", '"tails"', "high", '{"x": "low", "y": "high"}', '["a"]'])
def test_names_that_no_outcome_has_are_none(line: str) -> None:
    with pytest.raises(UnreadableError):
        Claims(_WITH_INPUTS, hypotheses=2).of_line(line)
    with pytest.raises(UnreadableError):
        Claims(_TABLES, hypotheses=2).of_line(line)


def test_shares_carry_the_names_of_outcomes(tmp_path: Path) -> None:
    problem = tmp_path / "river.json"
    entry = {
        "truth": "steady",
        "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]],
        "outcomes": ["low", "high"],
    }
    network = {"edges": [["mill", "bridge"]]}
    model = {"hypotheses": ["steady", "rising"], "agents": [{**entry, "count": 2}]}
    problem.write_text(json.dumps({"network": network, "model": model}))
    share = every_share(problem)[1]
    assert share.agent == "bridge"
    assert share.content["claims"]["names"] == ["low", "high"]
    claims = Claims(share.content["claims"], hypotheses=2)
    assert claims.of_line("high").tolist() == np.log([0.5, 0.25]).tolist()


def test_claims_of_a_problem_are_those_of_its_agents() -> None:
    share = every_share("two-coins")[0]
    claims = Claims(share.content["claims"], hypotheses=2)
    # Input 0 tells the coins apart, input 1 does not.
    assert np.exp(claims.of_line("0,0")) == pytest.approx([0.5, 0.75])
    assert np.exp(claims.of_line("1,0")) == pytest.approx([0.5, 0.5])


class _Eventually:
    """Takes lines from a source until something holds."""

    def __init__(self, source: Lines) -> None:
        self.source, self.total = source, np.zeros(2)
        self.woken = 0
        source.open(self._wake)

    def _wake(self) -> None:
        self.woken += 1

    def __call__(self, holds: Callable[[], bool]) -> bool:
        def taken() -> bool:
            row = self.source.take(1)
            self.total = self.total + (0 if row is None else row)
            return holds()

        return holds() or eventually(taken)


def _file_source(path: Path, said: list[str]) -> Lines:
    return Lines(Claims(_TABLES, hypotheses=2), log=said.append, feed=FileFeed(path))


def test_a_file_is_followed_and_gone_on_with(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(lines_module, "_LOOK", 0.01)
    path, said = tmp_path / "seen.csv", list[str]()
    path.write_text("0\n1\nbad\n1\n0")  # the last line is not whole yet
    source = _file_source(path, said)
    wait = _Eventually(source)
    assert wait(lambda: source.taken == 3)
    assert (source.offset, source.refused) == (10, 1)
    with path.open("a") as file:
        file.write(".0\n")
    assert wait(lambda: source.taken == 4)
    assert wait.woken >= 5
    source.close()
    # The next process goes on behind what this one took.
    later = _file_source(path, said)
    later.offset = source.offset
    with path.open("a") as file:
        file.write("1\n")
    wait = _Eventually(later)
    assert wait(lambda: later.taken == 1)
    assert wait.total == pytest.approx(np.log([0.5, 0.25]))
    # Truncated, and replaced by another file.
    path.write_text("0\n")
    assert wait(lambda: later.taken == 2)
    (tmp_path / "new").write_text("1\n1\n1\n1\n1\n")
    os.replace(tmp_path / "new", path)
    assert wait(lambda: later.taken == 7)
    later.close()
    assert len([text for text in said if "from its start" in text]) == 2
    assert len([text for text in said if "left out" in text]) == 1


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--evidence"):
        FileFeed(tmp_path / "none")


def test_standard_input_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    there, back = os.pipe()
    with os.fdopen(there) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        source = Lines(Claims(_TABLES, hypotheses=2), log=lambda text: None, feed=from_input)
        os.write(back, b"0\n1\n\n1")
        os.close(back)
        wait = _Eventually(source)
        assert wait(lambda: source.ended)
    assert source.taken == 3
    assert wait.total == pytest.approx(np.log([0.5**3, 0.75 * 0.25**2]))


def test_a_round_takes_no_more_than_it_is_to() -> None:
    source = Lines(Claims(_TABLES, hypotheses=2), log=lambda text: None)
    source.put_bytes(b"0\n0\nwrong\n0\n\xff\n")
    assert source.take(2) == pytest.approx(2 * np.log([0.5, 0.75]))
    assert source.take(9) == pytest.approx(np.log([0.5, 0.75]))
    assert source.take(9) is None
    assert (source.taken, source.refused) == (3, 2)
    assert not source.ended
    source.finish()
    assert source.ended


def test_shares_are_the_same_for_all_who_have_the_problem(tmp_path: Path) -> None:
    from peerbayes.live.members import Share

    for share in every_share("liars-torus"):
        share.write(tmp_path / "a.share")
        assert Share.read(tmp_path / "a.share") == share
    assert json.loads((tmp_path / "a.share").read_text())["rule"]["tolerate"] == 1
    (tmp_path / "b.share").write_text("{}")
    with pytest.raises(ValueError, match="share"):
        Share.read(tmp_path / "b.share")
