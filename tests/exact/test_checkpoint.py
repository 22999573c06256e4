"""A checkpoint is read back whole and for its own run, or refused in one line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from exact.checkpoint import MAGIC, SHARE, Arrays, Checkpoint, Clock, fingerprint
from tests.models import coins
from theory import Network


def sums(fill: float = 0.0) -> Arrays:
    return {
        "mean": np.full((2, 3), fill),
        "counts": np.full(4, int(fill), dtype=np.int64),
        "paths": np.zeros((0, 3)),
    }


@pytest.fixture
def saved(tmp_path: Path) -> Checkpoint:
    checkpoint = Checkpoint(tmp_path / "a.checkpoint", "this run", resume=True)
    arrays = sums(7.0)
    arrays["mean"][0, 0] = -0.0
    arrays["mean"][1, 2] = np.nan
    checkpoint.save(5, arrays)
    return checkpoint


def test_what_is_saved_is_loaded_bit_for_bit(saved: Checkpoint) -> None:
    total = sums()
    assert saved.load(total) == 5
    expected = sums(7.0)["mean"]
    expected[0, 0], expected[1, 2] = -0.0, np.nan
    assert total["mean"].tobytes() == expected.tobytes()
    np.testing.assert_array_equal(total["counts"], [7, 7, 7, 7])
    assert saved.done() == 5
    saved.save(6, total)
    assert saved.load(sums()) == 6
    assert [path.name for path in saved.path.parent.iterdir()] == ["a.checkpoint"]
    saved.remove()
    saved.remove()  # nothing there is no error
    assert (saved.load(total), saved.done()) == (0, None)


def test_every_flipped_byte_is_found(saved: Checkpoint) -> None:
    whole = saved.path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        saved.path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.checkpoint: expected a (whole )?checkpoint") as e:
            saved.load(sums())
        assert "\n" not in str(e.value)


def test_every_truncation_is_found(saved: Checkpoint) -> None:
    whole = saved.path.read_bytes()
    for length in range(len(whole)):
        saved.path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged or truncated file"):
            saved.load(sums())
    saved.path.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match="delete it and start afresh"):
        saved.load(sums())


@pytest.mark.parametrize(
    "header", [b"[]", b"{}", b'{"done": 1}', b"\xff", b"1" * 100, b"[" * 100_000]
)
def test_headers_that_are_none(saved: Checkpoint, header: bytes) -> None:
    saved.path.write_bytes(MAGIC + b"0" * 64 + b"\n" + header + b"\n")
    with pytest.raises(ValueError, match="a whole checkpoint"):
        saved.load(sums())
    assert saved.done() is None


def test_another_run_or_other_sums(saved: Checkpoint) -> None:
    other = Checkpoint(saved.path, "another run", resume=True)
    with pytest.raises(ValueError, match="got one of another run; start afresh"):
        other.load(sums())
    assert other.done() is None
    with pytest.raises(ValueError, match="a whole checkpoint"):
        saved.load({**sums(), "mean": np.zeros((3, 2))})


def test_places_that_cannot_be_used(saved: Checkpoint, tmp_path: Path) -> None:
    folder = Checkpoint(tmp_path, "this run")
    with pytest.raises(ValueError, match="expected a checkpoint that can be read"):
        folder.load(sums())
    with pytest.raises(ValueError, match="expected a checkpoint that can be written"):
        Checkpoint(saved.path / "below", "this run").save(1, sums())
    with pytest.raises(ValueError, match="contiguous"):
        saved.save(1, {"mean": np.zeros((4, 4))[:, ::2]})
    assert saved.load(sums()) == 5


def test_a_failed_write_leaves_the_last_one(
    saved: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ValueError, match="no space left on device"):
        saved.save(6, sums())
    assert saved.load(sums()) == 5
    assert len(list(saved.path.parent.iterdir())) == 1


def test_writing_takes_a_small_share_of_the_time() -> None:
    clock = Clock(10.0)
    assert not clock.due(9.9)
    assert clock.due(10.0)
    clock.wrote(10.0, 12.0)
    assert clock.next == 12.0 + SHARE * 2.0
    clock.wrote(60.0, 60.01)
    assert clock.next == pytest.approx(70.01)


def test_fingerprints_tell_things_apart() -> None:
    ring = Network.from_topology("ring", agents=5)
    parts: list[Any] = [
        None, 0, 0.0, -0.0, False, "0", b"".decode(), (), (0,), [[0]], {"a": 1}, {"a": 2}, {"b": 1},
        np.zeros(2), np.zeros(3), np.zeros((1, 2)), np.zeros(2, dtype=np.float32), np.int64(0),
        csr_array(np.eye(2)), csr_array(np.eye(3)), ring, Network(ring.weights, name="other"),
        coins(2), coins(3), ("ab", "c"), ("a", "bc"), ("abc",), range(3), range(4),
    ]  # fmt: skip
    prints = [fingerprint(part) for part in parts]
    assert len(set(prints)) == len(parts)
    assert fingerprint(1, 2) != fingerprint((1, 2))
    assert fingerprint(coins(4)) == fingerprint(coins(4))
    with pytest.raises(TypeError, match="function has no fingerprint"):
        fingerprint(fingerprint)
    with pytest.raises(TypeError, match="objects"):
        fingerprint(np.array([None]))


def test_another_version_has_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(1)
    monkeypatch.setattr("exact.checkpoint.version", lambda name: "99")
    assert fingerprint(1) != before
