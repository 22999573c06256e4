"""The regressions on the diabetes data: run and held against what is predicted."""

from __future__ import annotations

from peerbayes.figures.chart import plotting_style
from peerbayes.kinds.regression import verify as verification
from peerbayes.kinds.regression.verify import verify_regression
from peerbayes.kinds.regression.view import regression_view
from peerbayes.problem.problems import RegressionProblem
from peerbayes.records import plain
from tests.peerbayes import test_regression_commands as quick
from tests.peerbayes.commands import Patch

problems = quick.problems


def test_what_stays_is_said(problems: dict[str, RegressionProblem], monkeypatch: Patch) -> None:
    for name, value in (("_ROUNDS", 60), ("_REPLICATES", 100), ("_RECORDS", 5), ("_DRAWS", 12)):
        monkeypatch.setattr(verification, name, value)
    words = {}
    for split in ("features", "components"):
        entry = plain(verify_regression(problems[split]).as_record())
        with plotting_style():
            view = regression_view(entry, key="k")
        words[split] = (view.finding, view.facts[0].value)
    finding, tile = words["features"]
    assert "stays at 0.6841: it is 0.6841 − 1.744/n after n rounds" in finding
    assert "less than together" in finding
    assert tile == "0.6841 − 1.744/n"
    # A limit of 1e-29 is a zero.
    finding, tile = words["components"]
    assert "falls as 9.137/n" in finding
    assert tile == "9.137/n"


def test_verify(problems: dict[str, RegressionProblem], monkeypatch: Patch) -> None:
    monkeypatch.setattr(verification, "_ROUNDS", 400)
    monkeypatch.setattr(verification, "_REPLICATES", 200)
    for split in ("features", "rows"):
        result = verify_regression(problems[split], seed=2)
        assert len(result.comparisons) == 10
        assert all(comparison.holds for comparison in result.comparisons)
        together = result.comparisons[0]
        assert together.kind == "asymptotic"
        assert together.measured is not None
        # Tight as well: the limit is seen to a few hundredths.
        assert abs(together.measured - result.analysis.limits.limit) < 0.03
