"""The local net's passes beside a torch module, in double precision; codecs of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from empirical.data import Images
from empirical.gae.net import SIZE, Passes, as_inputs, blocks, initial, scores, windows_of
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

# The local net's passes beside a torch module, in double precision -------------------------------


def module_of(weights: Tensor) -> nn.Sequential:
    """The net as modules, in double precision; channels first, so that dense-1's rows move."""
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(9216, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
        nn.Linear(64, 10),
    ).double()  # fmt: skip
    with torch.no_grad():
        for parameter, values in zip(net.parameters(), as_module(weights.double()), strict=True):
            parameter.copy_(values)
    return net


def as_module(flat: Tensor) -> list[Tensor]:
    """A vector of the net's order as the module's parameters."""
    parts = [
        part.view(one.shape)
        for one, part in zip(
            blocks(), flat.split([int(np.prod(one.shape)) for one in blocks()]), strict=True
        )
    ]
    moved = []
    for one, part in zip(blocks(), parts, strict=True):
        if one.name == "dense-1.weight":
            part = part.view(12, 12, 64, 64).permute(2, 0, 1, 3).reshape(9216, 64)
        if part.ndim == 4:
            part = part.permute(3, 2, 0, 1)
        moved.append(part.T if part.ndim == 2 else part)
    return moved


@pytest.fixture(scope="module")
def some() -> tuple[Tensor, Images]:
    generator = np.random.default_rng(3)
    weights = initial(generator)
    weights += torch.from_numpy(generator.normal(0, 0.02, SIZE).astype(np.float32))  # biases too
    # More than two chunks of images, the last of them not full.
    pixels = generator.integers(0, 256, (150, 28, 28)).astype(np.uint8)
    return weights, Images(pixels, generator.integers(0, 10, 150), "", tuple("0123456789"))


def test_windows_that_a_gpu_multiplies_are_the_images() -> None:
    random = np.random.default_rng(3)
    pixels, weights = random.integers(0, 256, (5, 28, 28)).astype(np.uint8), initial(random)
    windows = windows_of(pixels, device="cpu")
    assert windows.shape == (5, 26, 26, 16)
    whole = torch.from_numpy(pixels)
    assert torch.equal(windows[2, 4, 7, :9].reshape(3, 3), whole[2, 4:7, 7:10].bfloat16())
    assert not windows[..., 9:].any()
    said, expected = scores(weights, windows), scores(weights, as_inputs(pixels))
    assert torch.allclose(said, expected, rtol=1e-4, atol=1e-5)


def test_sizes_are_those_of_the_paper() -> None:
    assert [int(np.prod(one.shape)) for one in blocks()] == [
        288, 32, 18_432, 64, 589_824, 64, 4_096, 64, 640, 10,
    ]  # fmt: skip
    assert SIZE == 613_514


def test_weights_begin_as_glorot_says() -> None:
    weights = initial(np.random.default_rng(0))
    parts = as_module(weights)
    for part, inner, outer in ((parts[0], 9, 288), (parts[2], 288, 576), (parts[4], 9216, 64)):
        limit = np.sqrt(6 / (inner + outer))
        assert part.abs().max() <= limit
        # The variance of a uniform number; 288 numbers of the smallest tell it to 20 %.
        assert float(part.var()) == pytest.approx(limit**2 / 3, rel=0.2)
    assert all(float(part.abs().max()) == 0 for part in parts[1::2])


def test_scores_and_gradients_are_those_of_modules(some: tuple[Tensor, Images]) -> None:
    weights, images = some
    net = module_of(weights)
    inputs, labels = torch.from_numpy(images.pixels / 255.0), torch.tensor(images.labels)
    said = net(inputs[:, None])
    loss = nn.functional.cross_entropy(said, labels)
    loss.backward()
    passes = Passes(images)
    total, found = passes.gradient(weights, torch.arange(150), 0.0, np.random.default_rng(0))
    # Sums of up to 9216 products in float32: relative errors of some 1e-6 of the largest.
    assert float((scores(weights, inputs.float()) - said.detach()).abs().max()) < 1e-4
    assert total / len(labels) == pytest.approx(float(loss.detach()), rel=1e-6)
    assert passes.accuracy(weights) == float((said.argmax(1) == labels).double().mean())
    for own, parameter in zip(as_module(found.double()), net.parameters(), strict=True):
        assert parameter.grad is not None
        # A largest of four that ties but for rounding may be another: hence not 1e-6.
        assert float((own - parameter.grad).norm() / parameter.grad.norm()) < 1e-3


def test_dropout_drops_a_quarter_and_keeps_the_mean(some: tuple[Tensor, Images]) -> None:
    """Of a net whose loss is linear in what is dropped, the mean gradient is that without it."""
    flat, passes = some[0].clone(), Passes(some[1])
    parts = dict(zip([one.name for one in blocks()], flat.split(
        [int(np.prod(one.shape)) for one in blocks()]), strict=True))  # fmt: skip
    parts["dense-3.weight"].zero_()  # all scores are 0: the gradient of dense-3 is linear in them
    parts["dense-1.bias"].fill_(1e3)  # both ReLUs open
    parts["dense-2.weight"].abs_()

    def found(dropout: float, seed: int) -> np.ndarray:
        _, out = passes.gradient(flat, torch.arange(32), dropout, np.random.default_rng(seed))
        start = next(one.start for one in blocks() if one.name == "dense-3.weight")
        return out[start : start + 640].double().numpy()

    plain = found(0.0, 0)
    draws = np.array([found(0.25, seed) for seed in range(20)])
    assert (draws[0] == found(0.25, 0)).all()
    assert (draws.std(axis=0) > 0).any()
    error = draws.std(axis=0, ddof=1) / np.sqrt(20)
    # Twenty draws: a t distribution; of 640 entries none should be beyond 6 standard errors.
    assert (np.abs(draws.mean(axis=0) - plain) <= 6 * error + 1e-4 * np.abs(plain).max()).all()


# Codecs of the paper on GAE ----------------------------------------------------------------------


CODED_SIZE, KEPT, EXACT, LATENT = 613_514, 50_000, 250, 50


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
    said = {"weights": random_weights(CODED_SIZE)}
    pruned = Pruned().coder(layout(CODED_SIZE)).encode(said, {}, seed=0)
    spline = Spline().coder(layout(CODED_SIZE)).encode(said, {}, seed=0)
    assert 8 * len(pruned) == KEPT * (20 + 32) == 2_600_000
    assert 8 * len(spline) == KEPT * 20 + (2 * EXACT + LATENT + 1) * 32 == 1_017_632


def test_the_autoencoder_has_the_papers_weights() -> None:
    one = untrained(
        KEPT - 2 * EXACT,
        LATENT,
        size=CODED_SIZE,
        kept=KEPT,
        exact=EXACT,
        random=np.random.default_rng(0),
    )
    held = sum(part.numel() for layer in one.layers for part in layer)
    assert held == weights_of(49_500, 50) == 12_744_718
    coder = AutoencoderCoder.of(one, layout(CODED_SIZE))
    body = coder.encode({"weights": random_weights(CODED_SIZE)}, {}, seed=0)
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
    values = random_weights(CODED_SIZE)
    coder = Spline().coder(layout(CODED_SIZE))
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
    assert [index_bits(n) for n in (CODED_SIZE, 2, 3, 1024, 1025)] == [20, 1, 2, 10, 11]
    # As a number of 20 binary digits each, the highest first.
    text = "".join(f"{number:020b}" for number in (613_513, 0, 524_288, 1))
    assert pack(np.array([613_513, 0, 524_288, 1]), CODED_SIZE) == int(text, 2).to_bytes(10, "big")


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
