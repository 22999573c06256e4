"""What entropy-coded codecs say, at which price, and what they refuse."""

from __future__ import annotations

from math import erf, sqrt
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from empirical.messages.codec import Block, Heard, Layout
from empirical.messages.codecs import codec_of
from empirical.messages.codecs.quantised import Quantised, TopK, Wavelet, lloyd_levels
from empirical.messages.codecs.samples import Posterior, Samples
from empirical.messages.limit import (
    UNIFORM_LOSS,
    Limit,
    divergence,
    groups_limit,
    measured,
    moves,
)
from tests.empirical.support import refused

ROWS, COLUMNS = 200, 100
SIZE = ROWS * COLUMNS
BLOCKS = (Block("weight", 0, (ROWS, COLUMNS)),)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def weights(seed: int = 0) -> dict[str, Tensor]:
    return {"mean": torch.randn(SIZE, generator=generator(seed))}


def belief(seed: int = 0, *, precision: float = 0.25) -> dict[str, Tensor]:
    """Precisions for one datum, of posteriors that have seen 10 000."""
    spread = torch.rand(SIZE, generator=generator(seed)) + 0.5
    mean = torch.randn(SIZE, generator=generator(seed + 1))
    return {"precision": precision * spread, "shift": precision * spread * mean}


def moved(said: dict[str, Tensor], by: Tensor, examples: float = 1e4) -> dict[str, Tensor]:
    """The belief whose means moved by so many standard deviations."""
    precision = said["precision"]
    return {
        "precision": precision.clone(),
        "shift": said["shift"] + by * (precision / examples).sqrt(),
    }


def passed(coder: Any, messages: list[dict[str, Tensor]]) -> tuple[Heard, int]:
    """What is heard of the last message, and the bits of its body."""
    here, there = coder.memory(), coder.memory()
    for seed, said in enumerate(messages):
        body = coder.encode(said, here, seed=seed)
        heard = coder.decode(body, there, seed=seed)
        assert all(torch.equal(here[name], there[name]) for name in here)
    return heard, 8 * len(body)


# The largest weights ---------------------------------------------------------------------------


@pytest.mark.parametrize("values", ["float32", "float16", "steps"])
def test_the_largest_are_said_and_no_others(values: str) -> None:
    coder = TopK(share=0.05, values=values).coder(Layout(weights(9), BLOCKS))
    said = weights()
    heard, _ = passed(coder, [weights(1), said])
    oracle = torch.topk(said["mean"].abs(), SIZE // 20).indices
    assert heard.sent is not None
    assert sorted(oracle.tolist()) == heard.sent.nonzero()[:, 0].tolist()
    error = (heard.vectors["mean"] - said["mean"])[heard.sent].abs().max()
    # Halves have 11 bits, numbers below 5; steps are a tenth of the root mean square, about 2.4.
    assert error <= {"float32": 0.0, "float16": 2 / 2**10, "steps": 0.13}[values]


def test_a_set_that_stays_is_cheap() -> None:
    coder = TopK(share=0.05).coder(Layout(weights(9), BLOCKS))
    near = {"mean": weights()["mean"] + 0.01 * weights(2)["mean"]}
    first, again = (passed(coder, some)[1] for some in ([weights()], [weights(), near]))
    assert again < 0.3 * first


def test_beliefs_are_ranked_by_what_is_sure() -> None:
    said = belief(precision=100.0)
    coder = TopK(share=0.1, values="float32").coder(Layout(belief(5, precision=100.0), BLOCKS))
    heard, _ = passed(coder, [said])
    sure = (said["shift"] / said["precision"]).abs() * said["precision"].sqrt()
    assert heard.sent is not None
    assert sure[heard.sent].min() >= sure[~heard.sent].max()
    for name, values in heard.vectors.items():
        assert torch.equal(values[heard.sent], said[name][heard.sent])


# Quantisers ------------------------------------------------------------------------------------


def test_a_uniform_quantiser_has_its_error_at_its_entropy() -> None:
    begin = {"mean": torch.zeros(SIZE)}
    said = weights()
    heard, bits = passed(Quantised(step=0.5).coder(Layout(begin, BLOCKS)), [said])
    error = float(((heard.vectors["mean"] - said["mean"]) ** 2).mean())
    # The unit is at most a quarter octave above the root mean square; rate–distortion thresholds
    # give up 15 % of the error at this rate.
    step = 0.5 * 2**0.25
    assert error < 1.15 * step**2 / 12
    # At most .3 bits above the limit of normal numbers, and 2 bits a row or column.
    assert bits / SIZE < 0.5 * np.log2(1 / error) + 0.3 + 2 * (ROWS + COLUMNS) / SIZE


def test_lloyds_levels_are_those_of_the_tables() -> None:
    """Max (1960): the least squared error of normal numbers; three levels 0 and ±1.224: .1902."""
    values = np.random.default_rng(0).normal(size=400_000)
    levels = lloyd_levels(values, 3)
    assert levels == pytest.approx([-1.224, 0, 1.224], abs=0.01)
    nearest = levels[np.abs(values[:, None] - levels).argmin(axis=1)]
    assert ((values - nearest) ** 2).mean() == pytest.approx(0.1902, abs=0.001)
    fifteen = lloyd_levels(values, 15)
    nearest = fifteen[np.searchsorted((fifteen[1:] + fifteen[:-1]) / 2, values)]
    # 15 levels: .01077; 30 rounds from quantiles come within 3 %.
    assert ((values - nearest) ** 2).mean() == pytest.approx(0.01077, rel=0.03)


def test_lloyds_numbers_are_among_the_levels() -> None:
    begin = {"mean": torch.zeros(SIZE)}
    heard, bits = passed(
        Quantised(kind="lloyd", levels=7).coder(Layout(begin, BLOCKS)), [weights()]
    )
    assert len(heard.vectors["mean"].unique()) == 7
    assert bits < SIZE * np.log2(7)


# Beliefs ---------------------------------------------------------------------------------------


def test_steps_of_the_posterior_are_near_the_limit() -> None:
    """Normal moves with scales by row and column that the limit is told."""
    across = torch.exp2(4 * torch.rand(10 * ROWS, generator=generator(3)) - 1)
    down = torch.exp2(2 * torch.rand(COLUMNS, generator=generator(4)) - 1)
    scale = torch.outer(across, down).reshape(-1)
    begin = {name: values.repeat(10) for name, values in belief().items()}
    said = moved(begin, scale * torch.randn(10 * SIZE, generator=generator(5)))
    blocks = (Block("weight", 0, (10 * ROWS, COLUMNS)),)
    limit = Limit(scale.double().numpy() ** 2 / 2)
    for step in (0.5, 1.0, 2.0, 4.0):
        coder = Posterior(step=step).coder(Layout(begin, blocks, 1e4))
        point = measured(coder, coder.memory(), said, seed=0, examples=10_000)
        assert 1.0 < point.bits < 4.5
        # A quarter bit, .05 for scales known to half octaves, and four bits a row or column.
        classes = 4 * (10 * ROWS + COLUMNS) / (10 * SIZE)
        assert 0.0 < point.above(limit) < UNIFORM_LOSS + 0.05 + classes


def test_nothing_is_said_of_weights_that_moved_by_less_than_half_a_step() -> None:
    begin = belief()
    coder = Posterior(step=1.0).coder(Layout(begin, BLOCKS, 1e4))
    heard, bits = passed(coder, [moved(begin, 0.3 * torch.rand(SIZE, generator=generator(0)))])
    assert bits <= 64
    assert torch.equal(heard.vectors["shift"], passed(coder, [begin])[0].vectors["shift"])


def test_what_was_left_out_is_said_later() -> None:
    """Moves of a third of a step are said when they have added up; the error stays bounded."""
    begin = belief()
    layout = Layout(begin, BLOCKS, 1e4)
    said = [moved(begin, torch.full((SIZE,), 0.3 * n)) for n in range(1, 12)]
    coder = Posterior(step=1.0).coder(layout)
    heard, _ = passed(coder, said)
    left = moves(said[-1], heard.vectors, examples=10_000)
    assert np.abs(left).max() < 1.0


@pytest.mark.parametrize(("pace", "often"), [(1.0, 0), (0.3, 0), (0.2, 1), (0.05, 2), (0.0, 3)])
def test_steps_are_halved_as_rates_fall(pace: float, often: int) -> None:
    """Each time by another factor of four, three times at most; the body says how often."""
    begin = belief()
    said = moved(begin, 3 * torch.randn(SIZE, generator=generator(4)))
    layout = Layout(begin, BLOCKS, 1e4)
    coder = Posterior(step=1.0, halvings=3).coder(layout)
    here, there = coder.memory(), coder.memory()
    body = coder.write(said, here, seed=0, pace=pace).body
    heard = coder.decode(body, there, seed=0)
    assert all(torch.equal(values, here[name]) for name, values in there.items())
    step = 2.0**-often
    # A mean that moved by less than a step may stay unsaid.
    found = np.abs(moves(said, heard.vectors, examples=10_000))
    assert found.max() < step
    assert found.max() > 0.4 * step
    finer, spent = passed(Posterior(step=step).coder(layout), [said])
    # The grid of standard deviations is finer too with a smaller step, but here they stay.
    assert torch.equal(heard.vectors["shift"], finer.vectors["shift"])
    assert 8 * len(body) <= spent + 96  # four bits, and the zeros before them, which are sent then


def test_precisions_are_heard_within_a_step_of_their_grid() -> None:
    begin = belief()
    changed = {name: values.clone() for name, values in begin.items()}
    factor = torch.exp2(6 * torch.rand(SIZE, generator=generator(8)) - 3)
    changed = {name: values * factor for name, values in changed.items()}
    heard, _ = passed(Posterior().coder(Layout(begin, BLOCKS, 1e4)), [changed])
    off = (heard.vectors["precision"] / changed["precision"]).log2().abs().max()
    assert off < 2 / 8  # of σ, eight steps an octave; never a whole step away


def test_the_gradient_of_sites_is_heard() -> None:
    names = {**belief(), "gradient": torch.zeros(SIZE)}
    said = {**belief(), "gradient": 0.01 * torch.randn(SIZE, generator=generator(0))}
    heard, _ = passed(Posterior(step=0.5).coder(Layout(names, BLOCKS, 1e4)), [said])
    unit = (said["precision"] / 1e4).sqrt()
    assert ((heard.vectors["gradient"] - said["gradient"]) / unit).abs().max() < 0.5 * 0.25


def test_samples_have_the_law_that_they_are_samples_of() -> None:
    begin = belief()
    by = 2 * torch.randn(SIZE, generator=generator(1))
    said = moved(begin, by)
    coder = Samples(width=0.5, block_bits=7.0).coder(Layout(begin, BLOCKS, 1e4))
    heard, bits = passed(coder, [said])
    left = np.sort(moves(said, heard.vectors, examples=10_000) / 0.5)
    # Against the normal law by Kolmogorov's distance: 1.95/√n is passed with probability .999; the
    # 4 096 quantiles and limits on candidates may cost as much again.
    law = np.array([(1 + erf(v / sqrt(2))) / 2 for v in left])
    assert np.abs(law - (np.arange(SIZE) + 0.5) / SIZE).max() < 2 * 1.95 / sqrt(SIZE)
    # ½ log₂(1 + τ²/c²) bits a weight, and at most log₂ 8 + 5 beside the 7 bits of a block.
    ideal = 0.5 * np.log2(1 + 4 / 0.25)
    assert ideal < bits / SIZE < ideal * (1 + 8 / 5)
    assert divergence(heard.vectors, said, examples=10_000).mean() == pytest.approx(0.125, rel=0.05)


def test_candidates_are_the_same_on_every_machine() -> None:
    from mpmath import erfinv, mp, mpf

    from empirical.messages.codecs.samples import UNIT, drawn, quantiles

    found = quantiles()
    with mp.workdps(30):
        exact = [mp.sqrt(2) * erfinv(mpf(2 * k + 1) / 4096 - 1) for k in range(2048)]
        scaled = [value * UNIT for value in exact]
    assert [round(float(value)) for value in scaled] == found[:2048].tolist()
    assert (found[2048:] == -found[:2048][::-1]).all()
    # No quantile is where an error of 1e-9 would round it the other way.
    assert min(abs(float(value - mp.floor(value)) - 0.5) for value in scaled) > 1e-6
    some = drawn(np.array([0, 3]), np.array([5, 70_000]), 8, seed=11)
    assert some.tolist() == [1235, -1401, 1166, 406, 999, -150, 2574, 854]


def test_a_choice_is_that_of_all_candidates_one_by_one() -> None:
    """Every candidate as the receiver would draw it; arrival times by torch's Threefry."""
    import torch

    from empirical.kernels.noise import words_by_torch
    from empirical.messages.codecs.samples import UNIT, chosen, drawn, key_of

    rng = np.random.default_rng(0)
    lengths = np.array([1, 3, 4, 5, 9, 2, 16])
    starts, limits = np.cumsum(lengths) - lengths, np.array([1, 7, 40, 64, 500, 33, 900])
    narrow = rng.uniform(0.3, 0.9, lengths.sum()).astype(np.float32)
    centre = rng.normal(size=lengths.sum()).astype(np.float32)
    found = chosen(starts, limits, centre, narrow, 7)
    key = [torch.tensor(int(word)) for word in key_of(7)]
    later = 0
    for block, (start, length, limit) in enumerate(zip(starts, lengths, limits, strict=True)):
        own = slice(start, start + length)
        ratios = []
        for j in range(limit):
            indices = np.zeros(len(starts), dtype=np.int64)
            indices[block] = j
            z = drawn(starts, indices, int(lengths.sum()), 7)[own] / UNIT
            v, y = narrow[own].astype(np.float64), centre[own].astype(np.float64)
            ratios.append(float((z**2 / 2 - (z - y) ** 2 / (2 * v)).sum()))
        # Four times are drawn at once, 32 candidates together.
        turns = torch.arange(0, 32 * -(-limit // 32), 32)[:, None] + torch.arange(8)
        zeros = torch.zeros_like(turns)
        four = words_by_torch((turns, zeros, zeros + block, zeros + 1), tuple(key))
        uniform = (torch.stack(four, dim=-1).reshape(-1).double() + 0.5) * 2.0**-32
        times = torch.cumsum(-uniform.log(), 0)[:limit].numpy()
        best = int(np.argmax(np.array(ratios) - np.log(times)))
        assert found[block] == best
        later += best > 0
    assert later >= 4


def test_wavelets_bring_everything_back() -> None:
    said = weights()
    coder = Wavelet(share=1.0, values="float32").coder(Layout(weights(9), BLOCKS))
    heard, _ = passed(coder, [said])
    # Coefficients are float32.
    assert torch.allclose(heard.vectors["mean"], said["mean"], atol=1e-5)
    partial = Wavelet(share=0.1, values="float32").coder(Layout(weights(9), BLOCKS))
    errors = [
        float((passed(partial, [said] * times)[0].vectors["mean"] - said["mean"]).norm())
        for times in (1, 4, 10)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3


# What is refused -------------------------------------------------------------------------------


UNSURE = {**belief(), "precision": torch.zeros(SIZE)}
ONLY = "messages of precision and shift, and gradient if any, got mean;"
# What a codec refuses in a layout, or in a message of it.
REFUSED: list[tuple[str, dict[str, Any], dict[str, Tensor], dict[str, Tensor], str]] = [
    ("posterior", {}, weights(), weights(), ONLY),
    ("samples", {}, weights(), weights(), ONLY),
    ("posterior", {}, belief(), UNSURE, "precision: expected numbers above 0"),
    ("samples", {}, belief(), UNSURE, "precision: expected numbers above 0"),
    ("wavelet", {"wavelet": "sinc"}, weights(), weights(), "wavelet: expected a discrete wavelet"),
    ("topk", {"values": "float16"}, weights(), {"mean": 1e6 * weights()["mean"]}, "float16 holds"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_a_codec_cannot_say_is_refused(case: int) -> None:
    codec, settings, begin, said, words = REFUSED[case]

    def write() -> None:
        coder = codec_of(codec, **settings).coder(Layout(begin, BLOCKS))
        coder.encode(said, coder.memory(), seed=0)

    refused(words, write)


def test_the_limit_counts_what_is_not_said() -> None:
    begin = belief()
    coder = TopK(share=0.01).coder(Layout(begin, BLOCKS, 1e4))
    with pytest.raises(ValueError, match="known: expected what the receiver has of the rest"):
        measured(coder, coder.memory(), begin, seed=0)
    said = moved(begin, torch.randn(SIZE, generator=generator(0)))
    point = measured(coder, coder.memory(), said, seed=0, examples=10_000, known=begin)
    silence = groups_limit(moves(said, begin, examples=10_000), np.zeros(SIZE, dtype=int)).silence
    assert silence == pytest.approx(0.5, rel=0.05)
    assert point.nats > 0.9 * silence
