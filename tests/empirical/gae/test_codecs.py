"""Codecs of the paper on GAE: bits by its formulas, what comes back, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from empirical.messages.autoencoder import Autoencoder, load_autoencoder, untrained, weights_of
from empirical.messages.codec import Block, Coder, Layout
from empirical.messages.codecs import codec_from_words, codec_of
from empirical.messages.codecs.pruned import (
    AutoencoderCoder,
    Pruned,
    Spline,
    ascending,
    index_bits,
    knot_ranks,
    largest,
    list_bytes,
    on_lines,
    pack,
    unpack,
)
from tests.empirical.support import refused

SIZE, KEPT, EXACT, LATENT = 613_514, 50_000, 250, 50


def layout(size: int) -> Layout:
    return Layout({"weights": torch.zeros(size)}, (Block("all", 0, (size,)),))


def random_weights(size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def small_autoencoder(size: int = 1000, kept: int = 200, exact: int = 10) -> Autoencoder:
    random = np.random.default_rng(0)
    return untrained(kept - 2 * exact, 8, size=size, kept=kept, exact=exact, random=random)


def small_coders() -> dict[str, tuple[Coder, int]]:
    """Coders for 1 000 weights, 200 kept, and the bits of their bodies by eqs 5 and 6."""
    few = (2 * 10 + 8 + 1) * 32
    return {
        "pruned": (Pruned(200).coder(layout(1000)), 200 * (10 + 32)),
        "spline": (Spline(200, 10, 8).coder(layout(1000)), 200 * 10 + few),
        "autoencoder": (AutoencoderCoder.of(small_autoencoder(), layout(1000)), 200 * 10 + few),
    }


@pytest.mark.parametrize("size", [1, 2, 12, 13, 17, 300, 5000])
@pytest.mark.parametrize("name", ["pruned", "spline"])
def test_small_nets_keep_the_papers_share(name: str, size: int) -> None:
    """⌈.0815 d⌉ numbers; every knot is exact, and with as many knots as numbers all of them are."""
    coder = codec_of(name).coder(layout(size))
    values = random_weights(size)
    heard = coder.decode(coder.encode({"weights": values}, {}, seed=0), {}, seed=0)
    kept = -(-size * 50_000 // 613_514)
    assert heard.sent is not None
    assert int(heard.sent.sum()) == kept
    if name == "pruned" or kept <= 50:
        assert torch.equal(heard.vectors["weights"][heard.sent], values[heard.sent])


def test_bits_of_the_papers_settings() -> None:
    """Eqs 5 and 6 with the paper's numbers, from bytes that were written."""
    said = {"weights": random_weights(SIZE)}
    pruned = Pruned().coder(layout(SIZE)).encode(said, {}, seed=0)
    spline = Spline().coder(layout(SIZE)).encode(said, {}, seed=0)
    assert 8 * len(pruned) == KEPT * (20 + 32) == 2_600_000
    assert 8 * len(spline) == KEPT * 20 + (2 * EXACT + LATENT + 1) * 32 == 1_017_632


def test_the_autoencoder_has_the_papers_weights() -> None:
    one = untrained(
        KEPT - 2 * EXACT, LATENT, size=SIZE, kept=KEPT, exact=EXACT, random=np.random.default_rng(0)
    )
    held = sum(part.numel() for layer in one.layers for part in layer)
    assert held == weights_of(49_500, 50) == 12_744_718
    coder = AutoencoderCoder.of(one, layout(SIZE))
    body = coder.encode({"weights": random_weights(SIZE)}, {}, seed=0)
    assert 8 * len(body) == 1_017_632


def test_pruning_keeps_the_largest_squares_exactly() -> None:
    values = random_weights(1000)
    coder, _ = small_coders()["pruned"]
    heard = coder.decode(coder.encode({"weights": values}, {}, seed=0), {}, seed=0)
    order = values.square().argsort(descending=True)
    expected = torch.zeros(1000)
    expected[order[:200]] = values[order[:200]]
    assert torch.equal(heard.vectors["weights"], expected)
    assert heard.sent is not None
    assert torch.equal(heard.sent, expected != 0)


def test_equal_squares_are_kept_in_order() -> None:
    assert largest(np.float32([2, -2, 2, 1, -2]), 3).tolist() == [0, 1, 2]
    assert largest(np.zeros(5, np.float32), 2).tolist() == [0, 1]
    assert ascending(np.float32([3, -4, 0, 5, 1]), 3).tolist() == [1, 0, 3]


def test_the_ends_come_back_exactly() -> None:
    values = random_weights(1000)
    ranked = values[torch.from_numpy(ascending(values.numpy(), 200))]
    for name in ("spline", "autoencoder"):
        coder, _ = small_coders()[name]
        heard = coder.decode(coder.encode({"weights": values}, {}, seed=0), {}, seed=0)
        back = heard.vectors["weights"]
        for end in (ranked[:10], ranked[-10:]):
            places = torch.isin(values, end)
            assert torch.equal(back[places], values[places])


def test_an_autoencoder_that_is_exact_gives_all_back() -> None:
    """An identity in the shape of an autoencoder; ReLU lets a positive curve through."""
    kept, exact, size = 40, 4, 100
    between = kept - 2 * exact
    one = torch.eye(between)
    layers = ((one, torch.zeros(between)),) * 6
    coder = AutoencoderCoder.of(Autoencoder(layers, size, kept, exact, {}), layout(size))
    values = random_weights(size).abs()
    heard = coder.decode(coder.encode({"weights": values}, {}, seed=0), {}, seed=0)
    places = torch.from_numpy(largest(values.numpy(), kept))
    assert torch.equal(heard.vectors["weights"][places], values[places])
    assert heard.sent is not None
    assert int(heard.sent.sum()) == kept


def test_what_is_below_the_threshold_is_set_to_zero_and_not_sent() -> None:
    """A decoder that says 0: every value between the ends is below the smallest square."""
    own = small_autoencoder()
    nothing = tuple((torch.zeros_like(w), torch.zeros_like(b)) for w, b in own.layers)
    coder = AutoencoderCoder.of(Autoencoder(nothing, 1000, 200, 10, {}), layout(1000))
    heard = coder.decode(coder.encode({"weights": random_weights(1000)}, {}, seed=0), {}, seed=0)
    assert heard.sent is not None
    assert int(heard.sent.sum()) == 20
    assert not heard.vectors["weights"][~heard.sent].any()


def test_lines_through_all_points_are_exact() -> None:
    curve = np.sort(np.random.default_rng(0).normal(size=30).astype(np.float32))
    below = int((curve < 0).sum())
    ranks = np.arange(30)
    assert (on_lines(ranks, curve, 30, below) == curve).all()


@pytest.mark.parametrize("below", [0, 1, 2, 40, 98, 99, 100])
def test_knots_are_at_the_ends_of_either_sign(below: int) -> None:
    ranks = knot_ranks(100, below, 10)
    assert len(ranks) == 10
    assert (np.diff(ranks) > 0).all()
    assert {0, 99} <= set(ranks)
    if 0 < below < 100:
        assert {below - 1, below} <= set(ranks)
    curve = np.where(np.arange(100) < below, -2.0, 3.0).astype(np.float32)
    assert (on_lines(ranks, curve[ranks], 100, below) == curve).all()


def test_a_spline_is_near_its_curve() -> None:
    """Fifty knots against the quantiles of a Gaussian's tails: a hundredth of the spread."""
    values = random_weights(SIZE)
    coder = Spline().coder(layout(SIZE))
    heard = coder.decode(coder.encode({"weights": values}, {}, seed=0), {}, seed=0)
    assert heard.sent is not None
    error = (heard.vectors["weights"] - values)[heard.sent]
    assert int(heard.sent.sum()) == KEPT
    assert float(error.square().mean().sqrt()) < 0.01 * float(values[heard.sent].std())


@pytest.mark.parametrize(("count", "size"), [(1, 1), (1, 2), (7, 10), (1000, 1000), (5, 2**20 + 1)])
def test_lists_come_back(count: int, size: int) -> None:
    indices = np.random.default_rng(1).permutation(size)[:count]
    body = pack(indices, size)
    assert len(body) == list_bytes(count, size) == -(-count * index_bits(size) // 8)
    assert unpack(body, count, size).tolist() == indices.tolist()


def test_twenty_bits_an_index() -> None:
    assert [index_bits(n) for n in (SIZE, 2, 3, 1024, 1025)] == [20, 1, 2, 10, 11]
    # As a number of 20 binary digits each, the highest first.
    text = "".join(f"{number:020b}" for number in (613_513, 0, 524_288, 1))
    assert pack(np.array([613_513, 0, 524_288, 1]), SIZE) == int(text, 2).to_bytes(10, "big")


@pytest.mark.parametrize("name", ["pruned", "spline", "autoencoder"])
def test_bodies_that_nobody_wrote_are_refused(name: str) -> None:
    coder, _ = small_coders()[name]
    body = coder.encode({"weights": random_weights(1000)}, {}, seed=0)
    twice = body[:5] * 50 + body[250:]  # the first four coordinates, again and again
    infinite = body[:250] + np.float32(np.inf).tobytes() + body[254:]
    for wrong in (b"", body[:-1], body + b"0", twice, b"\xff" * 250 + body[250:], infinite):
        refused("ask for the message again", coder.decode, wrong, {}, seed=0)


def test_a_count_of_negatives_beyond_all_is_refused() -> None:
    coder, _ = small_coders()["spline"]
    body = coder.encode({"weights": random_weights(1000)}, {}, seed=0)
    with pytest.raises(ValueError, match="at most 180 negative numbers"):
        coder.decode(body[:-4] + (181).to_bytes(4, "little"), {}, seed=0)


def test_what_does_not_fit_is_refused() -> None:
    refused("kept: expected at most 100", Pruned(101).coder, layout(100))
    refused("2 · 250 \\+ 50 exact values and knots", Spline, kept=500)
    refused("kept", Pruned, -1)
    beliefs = Layout(
        {"precision": torch.ones(9), "shift": torch.zeros(9)}, (Block("all", 0, (9,)),)
    )
    refused("messages of one vector", Pruned(5).coder, beliefs)
    with pytest.raises(ValueError, match="one trained for nets of 999 weights"):
        AutoencoderCoder.of(small_autoencoder(), layout(999))
    coder, _ = small_coders()["pruned"]
    refused("finite", coder.encode, {"weights": torch.full((1000,), float("nan"))}, {}, seed=0)


def test_a_missing_or_other_file_is_refused(tmp_path: Path) -> None:
    refused("file: expected a trained autoencoder", codec_of("autoencoder").coder, layout(1000))
    with pytest.raises(ValueError, match="no such file"):
        codec_of("autoencoder", file=str(tmp_path / "none")).coder(layout(1000))
    other = tmp_path / "other.safetensors"
    other.write_bytes(b"nothing of the kind")
    refused("a safetensors file", codec_of("autoencoder", file=str(other)).coder, layout(1000))


def test_a_file_keeps_the_autoencoder_and_notices_damage(tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    own = small_autoencoder()
    own.save(path)
    back = load_autoencoder(path)
    assert (back.size, back.kept, back.exact, back.latent, back.between) == (1000, 200, 10, 8, 180)
    curve = random_weights(180)
    assert torch.equal(back.decode(back.encode(curve)), own.decode(own.encode(curve)))
    codec = codec_from_words({"codec": "autoencoder", "file": str(path)})
    body = codec.coder(layout(1000)).encode({"weights": random_weights(1000)}, {}, seed=0)
    assert 8 * len(body) == small_coders()["autoencoder"][1]
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    refused(r"one\.safetensors", load_autoencoder, path)
