"""Frames on the wire, and both ends of a stream: what is lost, damaged or out of step."""

import struct
import zlib
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from empirical.messages.codecs import codec_of
from empirical.messages.streams import (
    ALL,
    HEADER_BYTES,
    Address,
    DamagedFrameError,
    ForeignFrameError,
    Frame,
    FrameError,
    Kind,
    OutOfStepError,
    Receiver,
    Sender,
    fingerprint,
    parse,
    prepared,
)
from tests.empirical.messages.layouts import NAMES, Own, layout_of, message
from tests.empirical.messages.test_codecs import BELIEFS_ONLY, KINDS, made, same
from tests.empirical.support import refused

# The frame on the wire: what is whole gets through, and nothing else -----------------------------


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


def test_every_flipped_bit_and_what_is_cut_short_or_too_long_is_seen() -> None:
    whole = bytes(FRAME)
    for place in range(8 * len(whole)):
        wrong = bytearray(whole)
        wrong[place // 8] ^= 1 << place % 8
        with pytest.raises(DamagedFrameError, match=r"^frame of agent 7: expected .*, got .*; ask"):
            parse(bytes(wrong), WHERE)
    for cut in (0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 12):
        with pytest.raises(DamagedFrameError, match=r"got \d+; ask for a key frame"):
            parse(whole[:cut], WHERE)
    with pytest.raises(DamagedFrameError, match="expected 53 bytes, as its header says, got 54"):
        parse(whole + b"!", WHERE)


@given(st.binary(max_size=200))
def test_noise_is_never_a_frame(noise: bytes) -> None:
    with pytest.raises(FrameError):
        parse(noise, WHERE)


FOREIGN = {
    "frame of agent 8: expected sender 8, got 7": Address(b"codec 01", 8, 3),
    "expected one for agent 2, got one for agent 3": Address(b"codec 01", 7, 2),
    "expected one for everybody, got one for agent 3": Address(b"codec 01", 7, ALL),
    f"{b'codec 02'.hex()}, got {b'codec 01'.hex()}": Address(b"codec 02", 7, 3),
}


@pytest.mark.parametrize("words", FOREIGN)
def test_whole_frames_of_others_are_foreign(words: str) -> None:
    with pytest.raises(ForeignFrameError, match=words):
        parse(bytes(FRAME), FOREIGN[words])


def test_a_number_that_does_not_fit_is_refused() -> None:
    refused(r"below 2\*\*32", bytes, Frame(WHERE, Kind.MESSAGE, 0, 2**32, 0, b""))


# Both ends of a stream ------------------------------------------------------------------------


def ends(name: str = "difference", **settings: Any) -> tuple[Sender, Receiver]:
    codec, layout = made(name, **settings), layout_of(40, names_of(name))
    address = Address(fingerprint(codec, layout), sender=4)
    coder = codec.coder(layout)
    return Sender(coder, address, seed=3), Receiver(coder, address, seed=3)


def heard_once() -> tuple[Sender, Receiver]:
    sender, receiver = ends()
    receiver.receive(sender.send(said(0)))
    return sender, receiver


def names_of(codec: str) -> tuple[str, ...]:
    return NAMES["belief" if codec in BELIEFS_ONLY else "mean"]


def said(seed: int, codec: str = "") -> dict[str, Any]:
    return message(40, names_of(codec), seed=seed)


@pytest.mark.parametrize("name", KINDS)
def test_a_lost_message_is_seen_and_survived(name: str) -> None:
    sender, receiver = ends(name)
    whole = ends(name)
    for k in range(8):
        frame, other = sender.send(said(k, name)), whole[0].send(said(k, name))
        heard = whole[1].receive(other)
        if k == 2:
            continue
        if k == 3 and sender.memory:
            with pytest.raises(OutOfStepError, match="agent 4: expected message 2 of epoch 0, got"):
                receiver.receive(frame)
            request = receiver.request()
            assert len(request) == HEADER_BYTES
            sender.hear(request)
            continue
        if k == 4 and sender.memory:
            # The answer is dearer by the memory, number by number, and by nothing else.
            memory = sum(v.numel() * v.itemsize for v in sender.memory.values())
            assert len(frame) == len(other) + memory
        got = receiver.receive(frame)
        assert receiver.is_in_step
        # Who was in step all along hears the same from then on.
        assert all(torch.equal(got.vectors[key], heard.vectors[key]) for key in got.vectors)
    assert same(receiver.memory, whole[1].memory)
    assert receiver.missed == (2 if sender.memory else 1)


def test_what_was_asked_for_is_not_forgotten_by_who_is_stopped() -> None:
    sender, receiver = heard_once()
    sender.send(said(1))
    receiver.nothing_came()
    sender.hear(receiver.request())
    sizes = []
    for memory in (True, False):
        again = ends()
        state = sender.state_dict()
        if not memory:
            state["numbers"] = state["numbers"].clone()
            state["numbers"][2] = 0
        again[0].load_state_dict(state)
        again[1].load_state_dict(receiver.state_dict())
        assert not again[1].is_in_step
        sizes.append(len(again[0].send(said(2))))
    assert sizes[0] == sizes[1] + 4 * 40


def test_what_is_sent_again_is_heard_without_a_key_frame() -> None:
    sender, receiver = heard_once()
    frame = sender.send(said(1))
    receiver.nothing_came()
    with pytest.raises(DamagedFrameError):
        receiver.receive(frame[:-1])
    assert not receiver.is_in_step
    receiver.receive(frame)
    assert receiver.is_in_step
    assert same(sender.memory, receiver.memory)


def test_nothing_changes_by_a_frame_that_is_refused() -> None:
    sender, receiver = ends()
    frame = sender.send(said(0))
    receiver.receive(frame)
    before = {k: v.clone() for k, v in receiver.state_dict().items()}
    damaged = bytearray(sender.send(said(1)))
    damaged[-1] ^= 1
    with pytest.raises(DamagedFrameError, match="agent 4: expected checksum"):
        receiver.receive(bytes(damaged))
    with pytest.raises(OutOfStepError, match="message 1 of epoch 0 or a later one, got message 0"):
        receiver.receive(frame)
    other = Sender(sender.coder, Address(sender.address.fingerprint, sender=5), seed=3)
    with pytest.raises(ForeignFrameError, match="expected sender 4, got 5"):
        receiver.receive(other.send(said(0)))
    with pytest.raises(ForeignFrameError, match="expected a message, got a request"):
        receiver.receive(receiver.request())
    with pytest.raises(ForeignFrameError, match="expected a request, got message"):
        sender.hear(frame)
    assert same(before, receiver.state_dict())


def test_replicas_out_of_step_are_seen_though_no_message_is_missing() -> None:
    sender, receiver = heard_once()
    next(iter(receiver.memory.values()))[7] += 1e-7
    frame = sender.send(said(1))
    with pytest.raises(OutOfStepError, match=r"to start from memory [0-9a-f]{8}, got [0-9a-f]{8}"):
        receiver.receive(frame)
    assert not receiver.is_in_step
    sender.hear(receiver.request())
    receiver.receive(sender.send(said(2)))
    assert same(sender.memory, receiver.memory)


def test_a_sender_that_lost_its_memory_begins_an_epoch() -> None:
    sender, receiver = ends()
    for k in range(3):
        receiver.receive(sender.send(said(k)))
    first = len(ends()[0].send(said(0)))
    sender.begin_anew()
    frame = sender.send(said(3))
    assert len(frame) == first  # both know what an epoch begins with
    receiver.receive(frame)
    assert (receiver.epoch, receiver.sequence) == (1, 1)
    assert same(sender.memory, receiver.memory)
    with pytest.raises(OutOfStepError, match="message 1 of epoch 1 or a later one"):
        receiver.receive(ends()[0].send(said(0)))


def test_messages_of_one_codec_are_foreign_to_another() -> None:
    sender, _ = ends("plain")
    _, receiver = ends("plain", kind="bfloat16")
    with pytest.raises(ForeignFrameError, match="expected codec and nets"):
        receiver.receive(sender.send(said(0)))
    a, b = layout_of(40), layout_of(40)
    b.begin["mean"][0] += 1
    assert fingerprint(codec_of("plain"), a) != fingerprint(codec_of("plain"), b)
    assert fingerprint(codec_of("plain"), a) == fingerprint(codec_of("plain"), layout_of(40))


def test_every_message_has_a_seed_of_its_own() -> None:
    own = Own()
    coder = own.coder(layout_of(40))
    for agent in (0, 1):
        address = Address(b"8 bytes ", agent)
        sender, receiver = (kind(coder, address, seed=0) for kind in (Sender, Receiver))
        for _ in range(3):
            receiver.receive(sender.send(said(0)))
        sender.begin_anew()
        receiver.receive(sender.send(said(0)))
    assert len(own.seeds) == 8


def test_states_of_other_streams_are_refused() -> None:
    sender, _ = ends()
    with pytest.raises(ValueError, match=r"state of a stream, memory\.replica\.mean: expected"):
        sender.load_state_dict(ends("plain")[0].state_dict())
    refused(r"numbers: expected .*, got None", ends("plain")[0].load_state_dict, {})


def test_a_codec_that_leaves_no_belief_is_refused_before_the_run() -> None:
    words = "codec: precision heard of an agent with codec 'own': expected numbers above 0, got"
    refused(words, prepared, Own(factor=-1.0), layout_of(9, NAMES["belief"]))
