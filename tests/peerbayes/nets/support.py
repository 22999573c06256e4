"""Small net files for the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

ROOT = Path(__file__).parents[3]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
NUMBERS: dict[str, Any] = {
    "name": "wells",
    "network": {"topology": "ring", "agents": 3},
    "data": {"files": "well-*.csv", "target": "level", "test": "test.csv", "validation": 0.2},
    "net": {"hidden": [6]},
    "likelihood": {"kind": "gaussian", "std": "learned"},
    "training": {"rounds": 6, "local_steps": 3, "batch": 10, "seed": 4},
}


def write_tables(folder: Path, *, rows: int = 40) -> None:
    """Three tables and one for the test: level = a + 2 b, with noise."""
    rng = np.random.default_rng(0)
    for name in ("well-0", "well-1", "well-2", "test"):
        x = rng.normal(size=(rows, 2))
        level = x @ [1.0, 2.0] + 0.1 * rng.normal(size=rows)
        table = np.column_stack([x, 5 + 10 * level])
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header="a,b,level", comments="")


def write_net(folder: Path, document: dict[str, Any] = NUMBERS, **training: Any) -> Path:
    """The tables and their net file; `training` goes over the file's own."""
    write_tables(folder)
    path = folder / "net.toml"
    whole = {**document, "training": {**document["training"], **training}}
    path.write_text(tomli_w.dumps(whole), encoding="utf-8")
    return path


def run(*arguments: object, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, in a process of its own."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        timeout=300,  # against hanging for ever
        check=check,
    )
