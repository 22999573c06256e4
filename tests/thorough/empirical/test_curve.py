"""A followed run whose process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import torch

from empirical.keeping import Generations
from tests.empirical.train.test_curve import followed, network, timeless

ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, signal, sys
from pathlib import Path
from empirical.keeping import Generations
from tests.empirical.train.test_curve import followed, network

kept = Generations(Path(sys.argv[1]) / "run", "f")
kept.due = lambda: True

def tick(done, total):
    if done == 8:
        os.kill(os.getpid(), signal.SIGKILL)

followed(network(), generations=kept, progress=tick)
"""


def test_a_killed_process_and_a_damaged_file(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=ROOT, check=False, env={**os.environ}
    )
    assert ended.returncode == -signal.SIGKILL
    # And the newest of what it left is damaged.
    kept = Generations(tmp_path / "run", "f")
    kept.load()
    assert kept.newest is not None
    kept.newest.write_bytes(kept.newest.read_bytes()[:-100])
    said: list[str] = []
    again = network()
    curve = followed(
        again, generations=Generations(tmp_path / "run", "f", said.append), resume=True
    )
    assert "damaged or truncated" in said[0]
    whole = network()
    assert timeless(curve) == timeless(followed(whole))
    assert torch.equal(again.belief().mean, whole.belief().mean)
