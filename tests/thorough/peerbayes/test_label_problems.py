"""Label partitions: verified."""

from __future__ import annotations

from pathlib import Path

from peerbayes.front.verify import verify


def test_verified(tmp_path: Path) -> None:
    outcome = verify(["label-partitions fmnist-2-balanced-a"], seed=0, out=tmp_path)
    assert not outcome.failed
    assert len(outcome.statements) > 20
