"""What a command loads before it answers: whoever analyses two coins waits for nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COINS = """
[network]
weights = [["9/10", "1/10"], ["3/5", "2/5"]]
[model]
hypotheses = ["fair", "loaded"]
[[model.agents]]
count = 2
truth = "fair"
likelihood = [[["1/2", "1/2"]], [["3/4", "1/4"]]]
"""
SCRIPT = """
import contextlib, io, json, sys
from peerbayes.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert not main(["analyse", "coins.toml"]), out.getvalue()
assert "30 to 34" in out.getvalue()
print(json.dumps(sorted(sys.modules)))
"""
OURS = {"theory", "exact", "empirical", "peerbayes"}
MOST_MODULES = 97
HEAVY = {"scipy", "numba", "flint", "sympy", "networkx", "torch", "pandas", "matplotlib", "yaml"}
# Other questions, other arithmetic, other kinds of problem.
CHAPTERS = (
    *("exact.results", "theory.certified", "theory.rational", "theory.changing"),
    *("theory.regression", "theory.robustness", "theory.design", "theory.messages.compressed"),
    *("theory.bounds.accounting.inversion_kernels", "peerbayes.report", "peerbayes.designs"),
    *("peerbayes.figures.graph", "peerbayes.experiments", "peerbayes.live", "peerbayes.nets"),
    *("peerbayes.kinds.changing", "peerbayes.kinds.faulty", "peerbayes.kinds.regression"),
    *("peerbayes.kinds.finite.proofs", "peerbayes.problem.builtins.families"),
)


def test_two_coins_load_their_own_kind_of_problem_alone(tmp_path: Path) -> None:
    (tmp_path / "coins.toml").write_text(COINS, encoding="utf-8")
    outcome = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    loaded = json.loads(outcome.stdout)
    ours = [name for name in loaded if name.partition(".")[0] in OURS]
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    assert not [name for name in ours if f"{name}.".startswith(tuple(f"{c}." for c in CHAPTERS))]
    assert len(ours) <= MOST_MODULES, ours
