"""What is loaded and compiled before an answer: who asks little waits for nothing else."""

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
MOST_MODULES = 100
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


# What a first run compiles --------------------------------------------------------------------

GRID = """
import contextlib, io, json, sys
from peerbayes.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert not main(["analyse", "p2-grid"]), out.getvalue()
print(json.dumps(sorted(sys.modules)))
"""
# The README's net, for a few rounds; every function that numba compiles, helpers included.
TRAINING = """
import json
import sys
from numba.core import event
import numpy as np
import torch
import peerbayes as pb

class Names(event.Listener):
    def on_start(self, event): pass
    def on_end(self, event):
        function = event.data["dispatcher"].py_func
        names.append(f"{function.__module__}.{function.__qualname__}")

names = []
event.register("numba:compile", Names())
rng = np.random.default_rng(0)
rows = [(x, (x[:, 0] > x[:, 1]).astype(int)) for x in rng.normal(size=(3, 200, 2))]
ring = pb.Network.from_topology("ring", agents=3)
held_out = pb.Examples(test=0.2, patience=10)
pb.train(lambda: torch.nn.Linear(2, 2), rows, ring, rounds=2, local_steps=2, examples=held_out)
assert "scipy.stats" not in sys.modules  # it takes long to load
print(json.dumps(names))
"""
KERNELS = {
    "kernels.natural_sweep": {"_draw", "_step"},
    "kernels.noise": {
        *("block_of_normals", "words", "pair", "uniform"),
        *("_added", "_mixed", "_rounds_1_to_4", "_rounds_5_to_8"),
    },
    "nets.dense_pass": {
        *("forward", "backward", "_linear", "_parameter_gradient", "_input_gradient"),
        "_carry_back",
    },
    "kernels.cross_entropy": {"_sweep"},
    "train.pooling": {"_pool_rows"},
}
# Those of numba's own, such as numpy.empty and min, among them.
MOST_COMPILED = 40


def first_run(program: str, folder: Path) -> list[str]:
    """What a program prints that finds nothing compiled."""
    cache = {"NUMBA_CACHE_DIR": str(folder / "compiled"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder,
        env={**os.environ, **cache}, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_grid_of_nine_agents_is_analysed_without_a_compiler(tmp_path: Path) -> None:
    assert "numba" not in first_run(GRID, tmp_path)


def test_a_first_training_compiles_what_it_runs(tmp_path: Path) -> None:
    names = first_run(TRAINING, tmp_path)
    ours = {f"empirical.{module}.{name}" for module, some in KERNELS.items() for name in some}
    assert {name for name in names if name.partition(".")[0] in OURS} <= ours
    # One specialisation each, but for arrays that are sliced otherwise.
    assert len(names) <= MOST_COMPILED, names
    assert not [name for name in names if ".unicode." in name]  # texts of errors
