"""Frames that nobody should take, and the reason for which each is refused."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np

from peerbayes.live.frames import Frame, seal


def frame(network: str, sender: str, values: Any, *, round: int = 10**6, **changes: Any) -> Frame:
    """A frame of finite hypotheses, far in the future, so that only its fault can refuse it."""
    numbers = np.asarray(values, dtype=np.float64)
    honest = Frame(network, sender, 0, round, 1.0, 0.1, "finite", {"log_belief": numbers})
    return replace(honest, **changes)


def hostile_frames(network: str, sender: str, hypotheses: int) -> dict[str, list[bytes]]:
    """By the reason for which they are refused: frames that say they are `sender`'s."""
    fair = np.full(hypotheses, -np.log(hypotheses))
    wrong = np.array([*fair[:-1], np.nan])
    whole = seal(frame(network, sender, fair))
    (length,) = struct.unpack_from("<Q", whole)
    nested = b"[" * 15_000
    return {
        "not-a-frame": [
            b"",
            struct.pack("<Q", len(nested)) + nested,
            whole[: 8 + length // 2],
            struct.pack("<Q", length) + b"\x80\x04" + bytes(length),  # as a pickle begins
        ],
        # Eight bytes that are no length say a length beyond any.
        "too-large": [struct.pack("<Q", 2**63) + b"{}", b"GET / HTTP/1.1\r\n\r\n"],
        "other-schema": [whole.replace(b'"schema":"1"', b'"schema":"9"')],
        "other-network": [seal(frame("f" * 16, sender, fair))],
        "wrong-name": [seal(frame(network, f"{sender}'", fair))],
        "wrong-epoch": [seal(frame(network, sender, fair, epoch=77))],
        "bad-digest": [whole[:-1] + bytes([whole[-1] ^ 1])],
        "not-finite": [seal(frame(network, sender, wrong)), seal(frame(network, sender, -wrong))],
        "wrong-shape": [
            seal(frame(network, sender, np.zeros(hypotheses + 1))),
            seal(frame(network, sender, fair, tensors={"log_belief": fair.astype("<f4")})),
            seal(frame(network, sender, fair, tensors={})),
            seal(frame(network, sender, fair, kind="net")),
        ],
    }
