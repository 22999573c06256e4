"""Frames: what goes in comes out, and whatever else arrives is refused by its reason."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from peerbayes.live.frames import MOST_HEADER, REASONS, Frame, Refused, seal, unseal
from tests.peerbayes.live.hostile import hostile_frames

_NETWORK = "0123456789abcdef"
_BELIEF = np.log([0.2, 0.3, 0.5])
_FRAME = Frame(_NETWORK, "Köln / west", 2, 7, 1.5e9, 0.25, "finite", {"log_belief": _BELIEF})
_SHAPES = {"log_belief": ("F64", (3,))}
_TAKEN: dict[str, Any] = {
    "limit": 20_000,
    "network": _NETWORK,
    "shapes": _SHAPES,
    "kind": "finite",
    "name": "Köln / west",
    "members": frozenset(["Köln / west", "mast"]),
    "epoch": lambda number: number in (0, 1, 2),
}


def _reason(data: bytes, **changes: Any) -> str:
    with pytest.raises(Refused) as refusal:
        unseal(data, **(_TAKEN | changes))
    assert refusal.value.reason in REASONS
    return refusal.value.reason


def test_what_is_sealed_is_unsealed() -> None:
    frame = unseal(seal(_FRAME), **_TAKEN)
    assert (frame.sender, frame.epoch, frame.round) == ("Köln / west", 2, 7)
    assert (frame.time, frame.gap) == (1.5e9, 0.25)
    assert frame.tensors["log_belief"].tobytes() == _BELIEF.tobytes()


def test_other_readers_of_safetensors_read_it() -> None:
    from safetensors.numpy import load

    assert load(seal(_FRAME))["log_belief"].tobytes() == _BELIEF.tobytes()


def test_frames_of_the_library_are_refused_not_read_wrong() -> None:
    from safetensors.numpy import save

    assert _reason(save({"log_belief": _BELIEF})) == "not-a-frame"


@pytest.mark.parametrize("reason", hostile_frames("", "", hypotheses=3))
def test_what_does_not_fit_is_refused(reason: str) -> None:
    """Every example that is thrown at whole networks too (tests/thorough), for its own reason."""
    for data in hostile_frames(_NETWORK, _FRAME.sender, hypotheses=3)[reason]:
        assert _reason(data) == reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sender": "mast"}, "wrong-name"),
        ({"time": float("inf")}, "not-a-frame"),
        ({"round": 2**63}, "not-a-frame"),
        ({"round": -1}, "not-a-frame"),
        ({"tensors": {"belief": _BELIEF}}, "wrong-shape"),
        ({"tensors": {"log_belief": _BELIEF, "more": _BELIEF}}, "wrong-shape"),
    ],
)
def test_frames_of_other_contents_are_refused(changes: dict[str, Any], reason: str) -> None:
    assert _reason(seal(replace(_FRAME, **changes))) == reason


def test_strangers_and_sizes_are_looked_at_before_anything_is_read() -> None:
    assert _reason(seal(_FRAME), members=frozenset(["mast"])) == "unknown-sender"
    assert _reason(b"x" * 20_001) == "too-large"
    assert _reason(struct.pack("<Q", MOST_HEADER + 1) + b"{}") == "too-large"


@pytest.mark.parametrize("data", [b"1234567", struct.pack("<Q", 99) + b"{}", b"\0" * 64])
def test_garbage_is_no_frame(data: bytes) -> None:
    assert _reason(data) == "not-a-frame"


def test_every_changed_bit_is_noticed() -> None:
    data = seal(_FRAME)
    random = np.random.default_rng(0)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << int(random.integers(8))
        _reason(bytes(changed))
    for end in range(len(data)):
        _reason(data[:end])
    _reason(data + b"\0" * 8)


def test_a_header_has_one_form() -> None:
    data = seal(_FRAME)
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    loose = json.dumps(header).encode()
    assert _reason(struct.pack("<Q", len(loose)) + loose + data[8 + length :]) == "not-a-frame"
    twice = data[8 : 8 + length].rstrip().replace(b'"round":"7"', b'"round":"9","round":"7"')
    assert _reason(struct.pack("<Q", len(twice)) + twice + data[8 + length :]) == "not-a-frame"


def test_signatures_are_over_the_digest() -> None:
    asked = []

    def sign(digest: bytes) -> str:
        return "s" + digest.decode()[:8]

    def verify(sender: str, digest: bytes, signature: str) -> bool:
        asked.append(sender)
        return signature == sign(digest)

    signed = seal(_FRAME, sign)
    assert unseal(signed, **_TAKEN, verify=verify).digest == unseal(seal(_FRAME), **_TAKEN).digest
    assert _reason(seal(_FRAME), verify=verify) == "bad-signature"
    # A signature does not count as content: the digest finds what else was changed.
    assert _reason(signed.replace(b'"round":"7"', b'"round":"8"'), verify=verify) == "bad-digest"
    assert asked == ["Köln / west"] * 2
