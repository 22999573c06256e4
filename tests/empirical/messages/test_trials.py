"""Codecs on trial, against closed forms of a source that is known."""

from __future__ import annotations

from math import inf, log2
from typing import Any

import numpy as np
import pytest
import torch

from empirical.messages.codec import Block, Layout
from empirical.messages.codecs import codec_of
from empirical.messages.limit import UNIFORM_LOSS, curves, divergence, primed, trial

ROWS, COLUMNS, STD, TAU = 100, 200, 0.5, 2.0
SIZE = ROWS * COLUMNS
WITH_REPLICA = ("difference", "replica")


def belief(mean: Any) -> dict[str, Any]:
    precision = torch.full((SIZE,), 1 / STD**2)
    return {"precision": precision, "shift": precision * mean}


def walk(rounds: int, seed: int = 0) -> tuple[Layout, list[dict[str, Any]]]:
    """Means that move by τ standard deviations a round, independently; widths stay."""
    generator = torch.Generator().manual_seed(seed)
    mean, said = torch.zeros(SIZE), []
    layout = Layout(belief(mean.clone()), (Block("weight", 0, (ROWS, COLUMNS)),))
    for _ in range(rounds):
        mean = mean + TAU * STD * torch.randn(SIZE, generator=generator)
        said.append(belief(mean))
    return layout, said


@pytest.mark.parametrize(("step", "least"), [(0.25, 0.2), (0.5, 0.2), (2.0, 0.0)])
def test_steps_are_at_most_a_quarter_of_a_bit_above_the_closed_form(
    step: float, least: float
) -> None:
    layout, said = walk(3)
    found = trial(codec_of("posterior", step=step), layout, said, seed=0)
    # One size for all: ½ log₂(ρ/D), ρ = (τ² + what the replica lacks)/2; the mean square of 20 000
    # normal moves is τ² but for 1 % (one standard error), .007 bit.
    lacking = 2 * trial(codec_of("posterior", step=step), layout, said[:2], seed=0).nats
    assert found.common == pytest.approx(0.5 * log2(TAU**2 / 2 / found.nats), abs=0.03)
    own = 0.5 * log2((TAU**2 + lacking) / 2 / found.nats)
    assert found.limit == pytest.approx(own, abs=0.03)
    assert (found.limit - found.common > 0.04) == (step > 1)
    # A coder of these moves cannot be below the limit; at high rate it wastes a quarter of a bit,
    # and what classes of rows and columns cost, 300 of some bits each.
    assert least < found.bits - found.limit < UNIFORM_LOSS + 300 * 8 / SIZE + 0.03


def test_what_loses_nothing_costs_its_numbers_and_the_frame() -> None:
    layout, said = walk(2)
    found = trial(codec_of("plain"), layout, said, seed=0)
    assert (found.nats, found.limit, found.common) == (0.0, inf, inf)
    assert found.bits == 64 + 8 * 40 / SIZE


def test_replicas_in_place_have_the_numbers_of_differences() -> None:
    """Both limits among them: what is pooled of a message is no matter of the message."""
    layout, said = walk(3)
    inner = codec_of("quantised", step=1.0)
    found = [trial(codec_of(name, inner=inner), layout, said, seed=0) for name in WITH_REPLICA]
    assert found[0] == found[1]
    assert abs(found[0].limit - found[0].common) > 0.01  # the replica lags behind what was said


def test_where_nothing_is_said_the_last_word_stands() -> None:
    layout, said = walk(3)
    codec = codec_of("seeds", share=0.25)
    coder = codec.coder(layout)
    # The listener's picture, by hand: coordinates that each message drew, one after the other.
    memory, picture = coder.memory(), {k: v.clone() for k, v in layout.begin.items()}
    for seed, message in zip((7, 8, 7 + len(said)), said, strict=True):
        heard = coder.decode(coder.encode(message, memory, seed=seed), memory, seed=seed)
        assert heard.sent is not None
        for name, values in picture.items():
            values[heard.sent] = heard.vectors[name][heard.sent]
        if seed == 8:
            known = primed(coder, layout, said[:2], seed=7).known
            assert all(torch.equal(known[name], values) for name, values in picture.items())
    by_hand = divergence(picture, said[-1]).mean()
    assert trial(codec, layout, said, seed=7).nats == pytest.approx(by_hand, rel=1e-12)
    assert by_hand > 1.0  # most weights were heard of two or three rounds ago


def test_the_curve_is_of_the_last_move() -> None:
    layout, said = walk(4)
    both = curves(layout, said)
    assert both.normal.silence == pytest.approx(TAU**2 / 2, rel=0.03)  # 3 standard errors
    # Normal moves have the entropy of normal moves; histograms add what a bin hides, and classes
    # of 20 000 numbers in rows and columns look a little more orderly than they are.
    for nats in (0.01, 0.1):
        assert both.shannon.bits(nats) == pytest.approx(both.normal.bits(nats), abs=0.1)
    again = curves(layout, said[2:])
    assert again.normal.silence == both.normal.silence
    assert not np.isclose(curves(layout, said[:3]).normal.silence, both.normal.silence, rtol=1e-6)


def test_bad_input() -> None:
    layout, said = walk(1)
    with pytest.raises(ValueError, match=r"^said: expected two or more messages, got 1; overhear"):
        trial(codec_of("plain"), layout, said, seed=0)
    plain = Layout({"mean": torch.zeros(SIZE)}, layout.blocks)
    with pytest.raises(ValueError, match=r"^layout: expected messages of Gaussian .*, got mean;"):
        curves(plain, [plain.begin] * 2)
