"""`verify` must accept what is true, and must not accept what is not."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import peerbayes.kinds.finite.verify as verification
import peerbayes.kinds.shared.verify as measuring
from peerbayes.comparison import Mean
from peerbayes.front.verify import verification_parts, verify
from peerbayes.kinds.finite.verify import ProblemVerification, find_sweeps, verify_problem
from peerbayes.problem.builtins.loading import load_problem, load_variants
from peerbayes.problem.problems import Problem
from peerbayes.problem.reading import problem_from_document
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from peerbayes.tables import render
from tests.peerbayes.commands import Patch
from theory import ExpectedLogRatio, SampleSize


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: Patch) -> None:
    monkeypatch.setattr(verification, "_MOST_RATE_DRAWS", 4e6)
    monkeypatch.setattr(verification, "_MOST_FAILURE_DRAWS", 4e6)


@pytest.fixture
def coins() -> ProblemVerification:
    return verify_problem(load_problem("two-coins"), seed=3)


def broken(result: ProblemVerification) -> list[str]:
    return [c.statement for c in result.comparisons if c.is_broken]


def test_two_coins_holds(coins: ProblemVerification) -> None:
    assert broken(coins) == []
    kinds = {c.kind for c in coins.comparisons}
    assert kinds == {"exact", "bound", "asymptotic"}
    samples = coins.analysis.samples
    measured = coins.as_record().failures.measured_rounds
    assert measured is not None
    assert samples.chernoff.rounds is not None
    # Valid: the measured size is below the proved one. Tight: by less than a factor of 4, most of
    # which is the union bound's and the Chernoff prefactor's.
    assert measured <= samples.chernoff.rounds <= 4 * measured


def test_slowest_rate_is_measured_to_two_per_cent(coins: ProblemVerification) -> None:
    rate = coins.measured.rate(1)
    assert rate.standard_error is not None
    assert rate.standard_error < 0.02 * rate.measured


def test_a_wrong_prediction_of_the_mean_is_caught(monkeypatch: Patch) -> None:
    exact = measuring.expected_log_ratio

    def wrong(*arguments: Any, **options: Any) -> ExpectedLogRatio:
        result = exact(*arguments, **options)
        return ExpectedLogRatio(result.rounds, 1.08 * result.values, result.best)

    monkeypatch.setattr(measuring, "expected_log_ratio", wrong)
    statements = broken(verify_problem(load_problem("two-coins"), seed=3))
    assert any(s.startswith("rate of rejecting") for s in statements)
    assert any(s.startswith("mean log-odds of every agent") for s in statements)


def test_a_wrong_sample_size_is_caught(monkeypatch: Patch) -> None:
    from dataclasses import replace

    import peerbayes.kinds.finite.analyse

    exact = peerbayes.kinds.finite.analyse.sample_sizes

    def optimistic(*arguments: Any, **options: Any) -> Any:
        return replace(exact(*arguments, **options), chernoff=SampleSize(20, True, "optimistic"))

    monkeypatch.setattr(peerbayes.kinds.finite.analyse, "sample_sizes", optimistic)
    statements = broken(verify_problem(load_problem("two-coins"), seed=3))
    assert statements == ["failures at the chernoff sample size, 20 rounds, at most 0.05"]


def test_a_size_that_was_not_run_has_no_verdict(tmp_path: Path) -> None:
    """P2's printed size is millions of rounds: that nobody ran them is no success."""
    outcome = verify(["p2-star a=0.3"], seed=3, out=tmp_path)
    (printed,) = [c for c in outcome.statements if "printed sample size" in c.statement]
    assert (printed.holds, printed.measured, printed.is_broken) == (None, None, False)
    assert "not run: a proved bound there is" in printed.note
    assert not outcome.failed
    Draft202012Validator(read_schema("verify")).validate(outcome.as_json())
    full = render(verification_parts(outcome.statements, every=True))
    assert len(re.findall("not run", full)) == 1
    count = len(outcome.statements)
    short = render(verification_parts(outcome.statements, every=False))
    assert re.search(rf"p2-star a=0.3 +{count} +{count - 1} +0 +1\n", short)
    assert "What does not hold" not in short


def test_the_same_seed_gives_the_same_verdicts(coins: ProblemVerification) -> None:
    again = verify_problem(load_problem("two-coins"), seed=3)
    assert again.comparisons == coins.comparisons
    other = verify_problem(load_problem("two-coins"), seed=4)
    assert other.comparisons != coins.comparisons


def test_seed_and_delta_reach_the_problem() -> None:
    outcome = verify(["two-coins"], seed=4, delta=0.2)
    alone = verify_problem(load_problem("two-coins"), seed=4, delta=0.2)
    assert outcome.statements == alone.comparisons
    assert any("at most 0.2" in one.statement for one in outcome.statements)


def test_progress_ends_at_the_total() -> None:
    calls: list[tuple[int, int]] = []
    verify_problem(
        load_problem("two-coins"), seed=3, progress=lambda done, total: calls.append((done, total))
    )
    shares = [done / total for done, total in calls]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@cache
def star_members() -> list[ProblemVerification]:
    """The verified stars, once for all; not to be changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("theory.bounds.samples._MOST_AGENTS", 0)  # sweeps show no certified rounds
        return [verify_problem(problem, seed=1) for problem in load_variants("p2-star")]


def test_star_sweep_moves_as_predicted() -> None:
    (sweep,) = find_sweeps(star_members())
    a = np.array(sweep.confidences)
    assert a.tolist() == [0.1, 0.2, 0.3, 0.5, 0.7]
    np.testing.assert_allclose(sweep.centre_weights, 9 * a / (9 * a + 8), rtol=1e-14)
    verdicts = {c.statement: c.holds for c in sweep.comparisons()}
    assert all(verdicts.values()), verdicts
    assert any("rises with v₁" in statement for statement in verdicts)
    assert any("falls with v₁" in statement for statement in verdicts)


def test_a_sweep_that_does_not_move_is_caught(monkeypatch: Patch) -> None:
    (sweep,) = find_sweeps(star_members())
    last = sweep.members[-1].measured
    monkeypatch.setattr(
        measuring.Measurement,
        "rate",
        lambda self, m: Mean(0.0, 0.2 if self is last else 0.1 * (m + 1), 1e-4, 1e-3),
    )
    assert not all(c.holds for c in sweep.comparisons())


def test_outcome_on_disk(tmp_path: Path) -> None:
    outcome = verify(["two-coins"], seed=0, out=tmp_path)
    assert not outcome.failed
    body = read_record(outcome.record_path).body
    assert [problem["name"] for problem in body["problems"]] == ["two-coins"]
    assert body["problems"][0]["comparisons"] == outcome.as_json()
    page = outcome.report_path.read_text()
    assert all(c.problem in page for c in outcome.statements)


def test_absent_data_are_skipped_unless_asked_for(tmp_path: Path, monkeypatch: Patch) -> None:
    import peerbayes.front.verify as module
    from empirical import DataNotFound
    from peerbayes.problem.builtins.families import BUILTINS

    real = module.load_variants

    def absent(name: str, **options: Any) -> Any:
        if BUILTINS[name].needs_data:
            raise DataNotFound("no images here; fetch them")
        return real("two-coins")

    monkeypatch.setattr(module, "load_variants", absent)
    few = {name: BUILTINS[name] for name in ("two-coins", "fashion-mnist")}
    monkeypatch.setattr(module, "BUILTINS", few)
    outcome = verify([], seed=0, out=tmp_path)
    assert outcome.skipped == ("skipped no images here; fetch them",)
    with pytest.raises(DataNotFound):
        verify(["fashion-mnist"], seed=0, out=tmp_path)


def pair(truth: list[str], likelihood: list[list[str]]) -> Problem:
    """Two alike agents who weigh two hypotheses."""
    agent = {"count": 2, "truth": [truth], "likelihood": [[row] for row in likelihood]}
    return problem_from_document(
        {
            "name": "pair",
            "network": {"weights": [["1/2", "1/2"], ["1/3", "2/3"]]},
            "model": {"hypotheses": ["a", "b"], "agents": [agent]},
        }
    )


def test_evidence_without_any_chance() -> None:
    """Every observation says the same: no variance, no error, and an infinite exponent."""
    result = verify_problem(pair(["1", "0"], [["1/2", "1/2"], ["1/4", "3/4"]]), seed=0)
    assert broken(result) == []
    assert result.analysis.exponent.exponent == np.inf
    assert result.analysis.samples.chernoff.rounds == 1


def test_nothing_to_reject() -> None:
    result = verify_problem(pair(["1", "0"], [["1/4", "3/4"], ["1/4", "3/4"]]), seed=0)
    assert broken(result) == []
    assert result.measured.wrong == []


def test_one_gaussian_agent() -> None:
    alone = {
        "name": "alone",
        "network": {"weights": [["1"]]},
        "model": {
            "hypotheses": ["zero", "one"],
            "agents": [{"truth": "zero", "likelihood_mean": [[0.0], [1.0]], "likelihood_std": 1.0}],
        },
    }
    result = verify_problem(problem_from_document(alone), seed=0)
    assert broken(result) == []
    assert result.analysis.exponent.exponent == pytest.approx(1 / 8, rel=1e-12)


@pytest.mark.parametrize("seed", range(0, 40, 8))
def test_rare_outcomes_raise_no_false_alarm(seed: int) -> None:
    """An outcome of 1/200 may be missing from all replicates of an early round."""
    rare = pair(["1/200", "199/200"], [["1/200", "199/200"], ["1/2", "1/2"]])
    assert broken(verify_problem(rare, seed=seed)) == []


def blind_star() -> Problem:
    """Agents 1 and 2 cannot tell a from c, and hear agent 0 who can, one after the other."""
    sees = {"truth": "a", "likelihood": [[["3/4", "1/4"]], [["1/4", "3/4"]], [["2/5", "3/5"]]]}
    blind = {
        "count": 2,
        "truth": "a",
        "likelihood": [[["1/2", "1/2"]], [["1/4", "3/4"]], [["1/2", "1/2"]]],
    }
    row = [["1/2", "0", "1/2"], ["1/3", "2/3", "0"], ["0", "1/7", "6/7"]]
    return problem_from_document(
        {
            "name": "blind",
            "network": {"weights": row},
            "model": {"hypotheses": ["a", "b", "c"], "agents": [sees, blind]},
        }
    )


def test_an_enumeration_with_ties_is_told_as_a_bound(monkeypatch: Patch) -> None:
    """After one round agent 2 has heard of nobody who tells a from c: it is surely in a tie.

    The midpoint of what the enumeration leaves open is no probability of anything.
    """
    monkeypatch.setattr(verification, "enumerable_rounds", lambda problem: 1)
    result = verify_problem(blind_star(), seed=0)
    (told,) = [c for c in result.comparisons if "by enumeration" in c.statement]
    assert (told.kind, told.side, told.holds) == ("bound", "lower", True)
    assert told.measured == 1.0
    law = verification.error_law(result.problem.network, result.problem.model, 1)
    assert told.predicted == law.some_lower[0] < 0.9
    assert law.some_upper[0] == 1.0
