""""""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from exact import Run, simulate
from peerbayes.cli import main
from peerbayes.kinds.finite import proofs
from peerbayes.kinds.finite.analyse import analyse, at_rounds
from peerbayes.kinds.finite.proofs import PartStore, fingerprint, prove
from peerbayes.layout import render
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.quantities.showing import text
from peerbayes.schemas import read_schema
from peerbayes.settings.questions import Analyse
from tests.peerbayes.commands import Capture, Patch, json_of
from theory.numbers import Enclosure

# test_proved -------------------------------------------------------------------------------------


COIN = {"truth": [["1/2", "1/2"]], "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
PAIR = [["9/10", "1/10"], ["3/5", "2/5"]]


def problem(*agents: dict[str, Any], weights: Any = PAIR, hypotheses: Any = ("a", "b")) -> Problem:
    return problem_from_document(
        {
            "name": "tried",
            "network": {"weights": weights},
            "model": {"hypotheses": list(hypotheses), "agents": list(agents)},
        }
    )


def solved(problem: Problem, arithmetic: Any, out: Path) -> dict[str, Any]:
    analysis = prove(
        problem, Analyse(exact=arithmetic == "exact", certify=arithmetic != "exact", out=out)
    )
    result = analysis.as_json()
    text = json.dumps(result, allow_nan=False)
    Draft202012Validator(read_schema("analyse")).validate(json.loads(text))
    assert "\n" not in "".join(result["notes"])
    render(analysis.tables())
    return result


def numbers(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every number of the JSON object: fractions, intervals and bare ones."""
    if isinstance(value, dict) and not {"lower", "upper"} <= value.keys():
        for key, entry in value.items():
            yield from numbers(entry, f"{place}.{key}")
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from numbers(entry, f"{place}[{index}]")
    elif not isinstance(value, bool):
        yield place, value


def ends(value: Any) -> tuple[Fraction, Fraction]:
    if isinstance(value, str):
        return Fraction(value), Fraction(value)
    return Fraction(value["lower"]), Fraction(value["upper"])


def check_arithmetics(name: str, folder: Path) -> None:
    """That doubles, fractions and intervals say the same of a built-in problem."""
    given = load_problem(name)
    floats = analyse(given).as_json()
    exact, certified = (solved(given, kind, folder) for kind in ("exact", "certified"))
    compared = 0
    for room, keys in (
        ("network", ("stationary_distribution", "slem", "second_eigenvalue", "deviation")),
        ("learning", ("rate", "rates", "error_exponent", "exponents", "divergences")),
    ):
        for key in keys:
            rows = [numbers(result[room][key]) for result in (floats, exact, certified)]
            for (_, near), (_, sharp), (_, wide) in zip(*rows, strict=True):
                (low, high), (left, right) = ends(sharp), ends(wide)
                assert low <= right
                assert left <= high
                # What was asked of the intervals; and the floats' own accuracy.
                assert right - left <= Fraction(2e-12) * max(abs(left), abs(right))
                # Deviations in doubles allow for the rounding of their powers.
                slack = Fraction(1e-11) * max(1, abs(right))
                assert left - slack <= Fraction(near) <= right + slack
                compared += 1
    assert compared >= 12
    for key in ("printed", "repaired", "chernoff"):
        size, interval = exact["samples"][key], certified["samples"][key]
        assert interval["lower"] <= size <= interval["upper"]
    lower, upper = certified["samples"]["certified"]
    # The float ladder is a bound on the same number.
    assert lower <= upper <= floats["samples"]["chernoff"]


def test_three_arithmetics_agree(tmp_path: Path) -> None:
    check_arithmetics("two-coins", tmp_path)


def test_exact_numbers_are_fractions_and_expressions(tmp_path: Path) -> None:
    result = solved(load_problem("two-coins"), "exact", tmp_path)
    assert result["network"]["stationary_distribution"] == ["6/7", "1/7"]
    assert result["network"]["slem"] == "3/10"
    assert result["network"]["deviation"] == ["6/49", "36/49"]
    assert result["learning"]["rate"]["expression"] == "1/2*log(2) - 1/4*log(3)"
    assert result["learning"]["divergences"]["loaded"][0] == result["learning"]["rate"]
    # No number of the first two parts is a bare float.
    for part in ("network", "learning"):
        assert not [place for place, value in numbers(result[part]) if isinstance(value, float)]


def test_certified_numbers_are_intervals(tmp_path: Path) -> None:
    result = solved(load_problem("two-coins"), "certified", tmp_path)
    for part in ("network", "learning"):
        bare = [place for place, value in numbers(result[part]) if isinstance(value, float)]
        assert not bare
    low, high = ends(result["network"]["stationary_distribution"][0])
    assert low <= Fraction(6, 7) <= high


def test_doubles_are_certified_as_they_are_and_refused_by_exact(tmp_path: Path) -> None:
    floats = problem({"count": 2, **COIN}, weights=[[0.9, 0.1], [0.6, 0.4]])
    low, high = ends(solved(floats, "certified", tmp_path)["network"]["stationary_distribution"][0])
    # Rows end in the largest entry, here the first of both: v_0 = W_10 / (W_01 + W_10).
    up, down = 1 - Fraction(0.4), Fraction(0.1)
    assert low <= up / (up + down) <= high < low + Fraction(1e-12)
    with pytest.raises(ValueError, match=r"strings.*--certify"):
        prove(floats, Analyse(exact=True, out=tmp_path))


@pytest.mark.parametrize("arithmetic", ["exact", "certified"])
def test_hypotheses_that_doubles_cannot_tell_apart_are_not_merged(
    arithmetic: Any, tmp_path: Path
) -> None:
    """Nearly fair against fair: 10^40 rounds; the doubles take both for one hypothesis."""
    nearly = "50000000000000000001/100000000000000000000"
    other = "49999999999999999999/100000000000000000000"
    agent = {
        "truth": [["1/2", "1/2"]],
        "likelihood": [[["1/2", "1/2"]], [[nearly, other]], [["1/4", "3/4"]]],
    }
    names = ("half", "nearly", "far")
    tried = problem({"count": 2, **agent}, weights=[["1/2", "1/2"]] * 2, hypotheses=names)
    result = solved(tried, arithmetic, tmp_path)
    assert result["learning"]["optimal_hypotheses"] == ["half"]
    assert result["learning"]["binding_hypothesis"] == "nearly"
    assert result["samples"]["certified"] is None
    assert any("equal in doubles" in note for note in result["notes"])
    for name in ("repaired", "chernoff", "certified"):
        assert any(note.startswith(f"{name}: ") for note in result["notes"])


@pytest.mark.parametrize("arithmetic", ["exact", "certified"])
def test_evidence_without_variance_is_enough_once_it_is_heard(
    arithmetic: Any, tmp_path: Path
) -> None:
    """A directed cycle of four: only agent 1 sees anything, always the same; agent 2 hears last."""
    cycle = [
        ["0", "1", "0", "0"],
        ["0", "0", "1", "0"],
        ["0", "0", "0", "1"],
        ["1/2", "0", "0", "1/2"],
    ]
    blind = {"truth": [["1/2", "1/2"]], "likelihood": [[["1/2", "1/2"]], [["1/2", "1/2"]]]}
    sees = {"truth": [["1", "0"]], "likelihood": [[["1/2", "1/2"]], [["1/4", "3/4"]]]}
    tried = problem(blind, sees, {"count": 2, **blind}, weights=cycle)
    samples = solved(tried, arithmetic, tmp_path)["samples"]
    expected = 4 if arithmetic == "exact" else {"lower": 4, "upper": 4}
    assert samples["repaired"] == expected
    assert samples["chernoff"] == expected


def gaussian(**agent: Any) -> dict[str, Any]:
    return {"truth": "a", "likelihood_mean": [["0"], ["1"]], "likelihood_std": "1", **agent}


@pytest.mark.parametrize("arithmetic", ["exact", "certified"])
def test_unbounded_likelihoods_have_no_printed_or_repaired_size(
    arithmetic: Any, tmp_path: Path
) -> None:
    result = solved(problem(gaussian(count=2)), arithmetic, tmp_path)
    assert result["samples"]["printed"] is None
    assert result["samples"]["repaired"] is None
    assert result["samples"]["chernoff"] is not None
    assert result["learning"]["log_ratio_bound"] is None
    assert any("unbounded" in note for note in result["notes"])
    # E = (Σ v d²)² / (8 Σ v² d²) with d = 1, v = (6/7, 1/7).
    low, high = ends(result["learning"]["error_exponent"])
    assert low <= Fraction(49, 37 * 8) <= high


@pytest.mark.parametrize("arithmetic", ["exact", "certified"])
def test_one_agent_has_no_second_eigenvalue(arithmetic: Any, tmp_path: Path) -> None:
    result = solved(problem(dict(COIN), weights=[["1"]]), arithmetic, tmp_path)
    assert result["network"]["second_eigenvalue"] is None
    assert "one agent has no second eigenvalue" in result["notes"]
    lower, upper = result["samples"]["certified"]
    assert 1 <= lower <= upper


@pytest.mark.parametrize("arithmetic", ["exact", "certified"])
def test_nothing_to_reject(arithmetic: Any, tmp_path: Path) -> None:
    same = {"truth": "a", "likelihood": [[["1/2", "1/2"]], [["1/2", "1/2"]]]}
    result = solved(problem({"count": 2, **same}), arithmetic, tmp_path)
    assert result["learning"]["rate"] is None
    assert result["learning"]["ambiguous_pairs"] == [["a", "b"]]
    assert result["samples"]["certified"] is None


@pytest.mark.parametrize("arithmetic", ["exact", "certified"])
def test_a_compromise_is_named(arithmetic: Any, tmp_path: Path) -> None:
    other = {**COIN, "truth": [["3/4", "1/4"]]}
    result = solved(problem(dict(COIN), other), arithmetic, tmp_path)
    assert result["learning"]["optimal_hypotheses"] == []
    assert result["learning"]["compromise"] == ["a"]
    assert result["learning"]["globally_learnable"] is False


def test_the_command_line(tmp_path: Path, capsys: Capture) -> None:
    shared = ["--out", str(tmp_path), "--quiet"]
    assert main(["analyse", "two-coins", "--exact", "--json", *shared]) == 0
    assert json.loads(capsys.readouterr().out)["arithmetic"] == "exact"
    assert main(["analyse", "two-coins", "--certify", *shared]) == 0
    assert "0.07192051811294523" in capsys.readouterr().out
    assert main(["analyse", "two-coins", "--exact", "--certify", *shared]) == 2
    assert main(["analyse", "digits", "--exact", *shared]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "--certify" in lines[1]
    assert "learnt from data" in lines[1]


def test_a_folder_that_takes_no_records_is_found_at_once(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr("theory.certified.network.certify_network", None)
    with pytest.raises(ValueError, match="--out"):
        prove(load_problem("two-coins"), Analyse(certify=True, out=tmp_path / "file" / "out"))


def test_no_negative_zero(tmp_path: Path) -> None:
    same = problem({"count": 2, **COIN}, weights=[["1/2", "1/2"]] * 2)
    assert "-0.0" not in json.dumps(solved(same, "certified", tmp_path))


def test_intervals_for_people_cover_both_ends() -> None:
    cases = [(0.1, 0.3), (1.0, 1.0 + 2**-52), (-2e-300, 1e-300), (1 / 3, 0.34), (61.0, 64.0)]
    for lower, upper in cases:
        middle, _, distance = text(Enclosure(lower, upper)).partition(" ± ")
        low, high = Fraction(middle) - Fraction(distance), Fraction(middle) + Fraction(distance)
        assert low <= Fraction(lower) <= Fraction(upper) <= high
        assert high - low <= 8 * (Fraction(upper) - Fraction(lower))
    assert text("1" * 60 + "/" + "3" * 60).startswith("0.333333333333… (a fraction of 60 and 60")


def test_parts_that_took_long_are_read_back(tmp_path: Path, monkeypatch: Patch) -> None:
    from peerbayes.kinds.finite import proofs

    monkeypatch.setattr(proofs, "_KEEP_SECONDS", 0.0)
    first = prove(load_problem("two-coins"), Analyse(certify=True, out=tmp_path))
    assert first.record is not None
    monkeypatch.setattr("theory.certified.network.certify_network", None)
    again = prove(load_problem("two-coins"), Analyse(certify=True, out=tmp_path))
    assert again == first
    assert again.as_json() == first.as_json()


@pytest.mark.parametrize("weak", ["1e-300", f"1/1{'0' * 100}"])
def test_couplings_that_no_double_adds_to_one(weak: str, tmp_path: Path, capsys: Capture) -> None:
    coupling = Fraction(float(weak)) if "e" in weak else Fraction(weak)
    row = [float(1 - coupling), float(weak)] if "e" in weak else [f"{1 - coupling}", weak]
    coin = {"count": 2, "truth": "a", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
    document = {
        "network": {"weights": [row, row[::-1]]},
        "model": {"hypotheses": ["a", "b"], "agents": [coin]},
    }
    path = tmp_path / "weak.json"
    path.write_text(json.dumps(document))
    arguments = ["analyse", str(path), "--certify", "--delta", "0.01", "--json", "--quiet"]
    found = json_of(capsys, [*arguments, "--out", str(tmp_path)])
    size = 1 - 2 * coupling
    for entry in found["network"]["deviation"]:
        low, high = ends(entry)
        assert low <= size / (1 - size) <= high
        assert high - low <= Fraction(1, 10**12) * high
    assert found["learning"]["rate"] is not None


# test_certificates -------------------------------------------------------------------------------


@pytest.fixture
def keep_all(monkeypatch: Patch) -> None:
    monkeypatch.setattr(proofs, "_KEEP_SECONDS", 0.0)


@pytest.mark.usefixtures("keep_all")
def test_a_finished_part_outlives_an_interruption(tmp_path: Path) -> None:
    problem = load_problem("two-coins")
    store = PartStore.open(tmp_path, problem, delta=0.05)
    assert store.part("network", lambda: {"slem": 0.3}) == {"slem": 0.3}

    def interrupted() -> dict[str, float]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.part("learning", interrupted)
    again = PartStore.open(tmp_path, problem, delta=0.05)
    assert again.part("network", interrupted) == {"slem": 0.3}
    assert again.part("learning", lambda: {"rate": 1.0}) == {"rate": 1.0}
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.usefixtures("keep_all")
def test_another_request_or_problem_has_parts_of_its_own(tmp_path: Path) -> None:
    coins, star = load_problem("two-coins"), load_problem("p2-star")
    PartStore.open(tmp_path, coins, delta=0.05).part("network", lambda: {"slem": 0.3})
    for problem, delta in ((coins, 0.01), (star, 0.05)):
        store = PartStore.open(tmp_path, problem, delta=delta)
        assert store.part("network", lambda: {"slem": 0.5}) == {"slem": 0.5}


@pytest.mark.usefixtures("keep_all")
def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    store = PartStore.open(tmp_path, load_problem("two-coins"), delta=0.05)
    store.part("network", lambda: {"slem": 0.3})
    content = json.loads(store.path.read_text())
    content["body"]["parts"]["network"]["slem"] = 0.2
    store.path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="checksum"):
        store.part("network", lambda: {"slem": 0.3})


def test_quick_parts_leave_nothing(tmp_path: Path) -> None:
    store = PartStore.open(tmp_path / "out", load_problem("two-coins"), delta=0.05)
    store.part("network", lambda: {"slem": 0.3})
    assert not (tmp_path / "out").exists()


def test_fingerprints_tell_problems_apart() -> None:
    names = ["two-coins", "p2-star", "p2-star a=0.1"]
    assert len({fingerprint(load_problem(name)) for name in names}) == len(names)
    assert fingerprint(load_problem("p2-star")) == fingerprint(load_problem("p2-star"))


# test_at_rounds ----------------------------------------------------------------------------------


def test_the_measured_frequency_lies_between() -> None:
    problem = load_problem("two-coins")
    found = at_rounds(problem, 40, delta=0.05).as_json()
    run = simulate(problem.network, problem.model, run=Run(rounds=40, replicates=20_000, seed=2))
    # Nobody in ten thousand: the interval is that of one test at 1 - 1e-4.
    seen = run.error_probability(confidence=1 - 1e-4)
    assert found["error_probability"]["lower"] <= seen.upper
    assert seen.lower <= found["error_probability"]["upper"]
    assert found["error_probability"]["upper"] <= 1.3 * found["error_probability"]["lower"]


@pytest.mark.parametrize("rounds", [1, 30_000])
def test_logs_agree_and_reach_further(rounds: int) -> None:
    result = at_rounds(load_problem("two-coins"), rounds, delta=0.05)
    found = result.as_json()
    chance, logs = found["error_probability"], found["log_error_probability"]
    assert logs["upper"] is not None
    if chance["upper"] > 1e-300:
        assert np.log(chance["upper"]) == pytest.approx(logs["upper"], abs=1e-9)
    else:
        assert logs["upper"] < -690
        assert "its logarithm" in render(result.tables())
    margin = found["margin"]
    assert margin["lower"] is None or margin["lower"] <= margin["upper"]


@pytest.mark.parametrize("form", [[]])
def test_rounds_on_the_command_line(form: list[str], tmp_path: Path, capsys: Capture) -> None:
    shared = ["--out", str(tmp_path), "--quiet"]
    result = json_of(capsys, ["analyse", "two-coins", "--rounds", "70", "--json", *form, *shared])
    Draft202012Validator(read_schema("analyse")).validate(result)
    # The certified sample size is 61 to 64 rounds.
    assert result["at_rounds"]["error_probability"]["upper"] <= 0.05
    assert main(["analyse", "two-coins", "--rounds", "70", *shared]) == 0
    assert "After 70 rounds" in capsys.readouterr().out
    assert main(["analyse", "two-coins", "--rounds", "0", *shared]) == 2
