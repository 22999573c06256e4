"""The frame on the wire: what is whole gets through, and nothing else."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical.messages.streams import (
    ALL,
    HEADER_BYTES,
    Address,
    DamagedFrameError,
    ForeignFrameError,
    Frame,
    FrameError,
    Kind,
    parse,
)
from tests.empirical.support import refused

WHERE = Address(b"codec 01", sender=7, listener=3)
FRAME = Frame(WHERE, Kind.MESSAGE, epoch=1, sequence=5, memory=99, body=b"what was said")


@given(
    body=st.binary(max_size=50),
    numbers=st.tuples(*[st.integers(0, 2**32 - 1)] * 3),
    kind=st.sampled_from(Kind),
)
def test_what_is_sent_is_what_comes(body: bytes, numbers: tuple[int, int, int], kind: Kind) -> None:
    frame = Frame(WHERE, kind, *numbers, body)
    assert parse(bytes(frame), WHERE) == frame
    assert len(bytes(frame)) == HEADER_BYTES + len(body) == 40 + len(body)


def test_the_layout_is_the_one_that_is_written_down() -> None:
    """Against the standard library, field by field."""
    head = b"pb" + bytes([1, 0]) + b"codec 01" + struct.pack("<6I", 7, 3, 1, 5, 99, 13)
    checksum = struct.pack("<I", zlib.crc32(head + b"what was said"))
    assert bytes(FRAME) == head + checksum + b"what was said"


def test_every_flipped_bit_is_seen() -> None:
    whole = bytes(FRAME)
    for place in range(8 * len(whole)):
        wrong = bytearray(whole)
        wrong[place // 8] ^= 1 << place % 8
        with pytest.raises(DamagedFrameError, match=r"^frame of agent 7: expected .*, got .*; ask"):
            parse(bytes(wrong), WHERE)


@pytest.mark.parametrize("cut", [0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 12])
def test_what_is_cut_short_or_too_long_is_seen(cut: int) -> None:
    with pytest.raises(DamagedFrameError, match=r"got \d+; ask for a key frame"):
        parse(bytes(FRAME)[:cut], WHERE)
    with pytest.raises(DamagedFrameError, match="expected 53 bytes, as its header says, got 54"):
        parse(bytes(FRAME) + b"!", WHERE)


@given(st.binary(max_size=200))
def test_noise_is_never_a_frame(noise: bytes) -> None:
    with pytest.raises(FrameError):
        parse(noise, WHERE)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (Address(b"codec 01", 8, 3), "frame of agent 8: expected sender 8, got 7"),
        (Address(b"codec 01", 7, 2), "expected one for agent 2, got one for agent 3"),
        (Address(b"codec 01", 7, ALL), "expected one for everybody, got one for agent 3"),
        (
            Address(b"codec 02", 7, 3),
            f"codec and nets {b'codec 02'.hex()}, got {b'codec 01'.hex()}",
        ),
    ],
)
def test_whole_frames_of_others_are_foreign(address: Address, words: str) -> None:
    with pytest.raises(ForeignFrameError, match=words):
        parse(bytes(FRAME), address)


def test_a_number_that_does_not_fit_is_refused() -> None:
    refused(r"below 2\*\*32", bytes, Frame(WHERE, Kind.MESSAGE, 0, 2**32, 0, b""))
