"""Rounds of GAE: splits, Adam, merges and variants, against their definitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from empirical.data import Images
from empirical.gae.fitting import SnapshotPlan, snapshots
from empirical.gae.net import SIZE, WEIGHTS, Passes, begin, epoch, step, stream
from empirical.gae.recipe import Recipe
from empirical.gae.rounds import (
    Gossip,
    closing_coder_of,
    coder_of,
    merge,
    prune,
    sources,
    split_of,
    towards,
)
from empirical.messages.codec import Heard, Memory, Replicating
from tests.empirical.support import refused

SMALL = Recipe(rounds=1, batch=16, kept=1000, dropout=0.25, exchange="pruned")


def few_images(number: int = 64) -> Images:
    random = np.random.default_rng(5)
    pixels = random.integers(0, 256, (number, 28, 28)).astype(np.uint8)
    return Images(pixels, np.arange(number) % 10, "made up", tuple("0123456789"))


# Splits -----------------------------------------------------------------------------------------


def test_balanced_nodes_hold_consecutive_chunks() -> None:
    split = split_of("balanced", np.arange(60) % 10, 4, np.random.default_rng(0))
    assert [share.tolist() for share in split.shares] == [
        list(range(k, k + 15)) for k in (0, 15, 30, 45)
    ]
    with pytest.raises(ValueError, match="nodes: expected a number that divides 60 images"):
        split_of("balanced", np.arange(60) % 10, 7, np.random.default_rng(0))


@pytest.mark.parametrize("nodes", [4, 16])
def test_unbalanced_nodes_hold_eight_digits_and_equal_sizes(nodes: int) -> None:
    """With MNIST's rarest digit: 10 840 and 2 704 images a node."""
    labels = np.concatenate([np.repeat(np.arange(10), 5421), np.arange(9)])
    split = split_of("unbalanced", labels, nodes, np.random.default_rng(3))
    assert set(split.sizes) == {8 * (5421 // nodes)} == {{4: 10_840, 16: 2_704}[nodes]}
    for share, digits in zip(split.shares, split.digits, strict=True):
        counts = np.bincount(labels[share], minlength=10)
        assert len(digits) == 8
        assert {int(d) for d in np.flatnonzero(counts)} == set(digits)
    assert not any(
        set(a) & set(b) for a, b in combinations(map(np.ndarray.tolist, split.shares), 2)
    )


def test_every_image_is_held_where_none_is_wasted() -> None:
    labels = np.random.default_rng(0).integers(0, 10, 2000)
    split = split_of("unbalanced-all", labels, 16, np.random.default_rng(1))
    assert split.missing == ()
    assert sorted(np.concatenate(split.shares).tolist()) == list(range(2000))
    for share, digits in zip(split.shares, split.digits, strict=True):
        assert set(labels[share].tolist()) == set(digits)


def test_sometimes_a_digit_is_held_by_nobody() -> None:
    """By inclusion and exclusion .016 of all draws with four nodes."""
    labels = np.repeat(np.arange(10), 4)
    random = np.random.default_rng(0)
    found = [bool(split_of("unbalanced", labels, 4, random).missing) for _ in range(4000)]
    share = 10 * (1 / 5) ** 4 - comb(10, 2) * (1 / 45) ** 4
    assert share == pytest.approx(0.016, abs=1e-4)
    # Five standard errors of a share of 4 000 draws.
    assert np.mean(found) == pytest.approx(share, abs=5 * np.sqrt(share / 4000))


def test_splits_refuse_what_they_cannot_deal() -> None:
    with pytest.raises(ValueError, match="split: expected 'balanced'"):
        split_of("fair", np.arange(10), 2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="nodes: expected at most 1"):
        split_of("unbalanced", np.arange(10), 2, np.random.default_rng(0))


# Recipes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mixing": 0.0}, "mixing: expected a number above 0 and at most 1"),
        ({"mixing": 1.5}, "mixing"),
        ({"nodes": 0}, "nodes"),
        ({"exchange": "pigeon"}, "exchange: expected 'none' or"),
        ({"merge": "both"}, "merge"),
        ({"dropout": 0.3}, "a multiple of 1/256"),
        ({"dropout": 1.0}, "dropout"),
        ({"kept": 500}, "exact: expected at most 249"),
        ({"moments": "reset"}, "moments"),
        ({"products": "exact"}, "products: expected 'highest' or"),
        ({"every": 0}, "every: expected a whole number"),
        ({"closing": -1}, "closing: expected a whole number"),
        ({"exchange": "codec"}, "codec: expected the words of a codec with the exchange 'codec'"),
        ({"codec": {"codec": "topk"}}, "codec: expected the words of a codec"),
        ({"exchange": "codec", "codec": "topk"}, "codec: expected the words of a codec"),
    ],
)
def test_recipes_refuse_what_makes_no_sense(change: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Recipe(**change)  # type: ignore[arg-type]


def test_steps_are_those_of_the_authors() -> None:
    recipe = Recipe()
    assert [recipe.steps(n) for n in (60_000, 15_000, 3_750, 10_840, 2_704)] == [30, 8, 2, 6, 2]


# Adam -------------------------------------------------------------------------------------------


def test_adam_is_torchs_where_epsilon_does_not_matter() -> None:
    """The libraries differ in where ε is added; with gradients near 1 that is 1e-7."""
    generator = torch.Generator().manual_seed(0)
    gradients = torch.randn(5, 20, generator=generator) + 2
    state = begin(torch.zeros(2, 20))
    own, other = state["weights"], torch.zeros(20, requires_grad=True)
    optimiser = torch.optim.Adam([other], lr=1e-3, betas=(0.9, 0.999), eps=1e-7)
    for gradient in gradients:
        step(state, 1, gradient, Recipe())
        other.grad = gradient.clone()
        optimiser.step()
    assert not own[0].any()
    # Five steps of 1e-3: ε against gradients of .1 and more is 1e-5 of a step where √v's bias is
    # not corrected, as it is after the first steps (√.001).
    assert float((own[1] - other.detach()).abs().max()) < 5e-3 * 5e-5
    assert state["steps"].tolist() == [0, 5]


def test_epsilon_is_added_to_the_root_as_it_is() -> None:
    state = begin(torch.zeros(1, 1))
    step(state, 0, torch.tensor([1e-7]), Recipe())
    root = np.sqrt(0.001 * 1e-14)
    expected = -1e-3 * np.sqrt(0.001) / 0.1 * 0.1e-7 / (root + 1e-7)
    assert float(state["weights"]) == pytest.approx(expected, rel=1e-5)


def test_factors_may_be_rounded(start: Tensor) -> None:
    """Two steps by bfloat16: weights in float32, a few of whose 8 digits are the same."""
    plain, rounded = (run(replace(SMALL, nodes=2, batch=16, exchange="none", products=one), start)
                      for one in ("highest", "bfloat16"))  # fmt: skip
    assert rounded.weights.dtype == torch.float32
    assert rounded.losses != plain.losses
    assert np.allclose(rounded.losses, plain.losses, rtol=0.02)
    assert not torch.is_autocast_enabled("cpu")


# Merges -----------------------------------------------------------------------------------------


def test_what_is_not_sent_halves_or_stays() -> None:
    heard = Heard({WEIGHTS: torch.tensor([4.0, 0.0])}, torch.tensor([True, False]))
    for kind, expected in (("zeros", [3.0, 3.0]), ("masked", [3.0, 6.0])):
        own = torch.tensor([2.0, 6.0])
        merge(own, heard, Recipe(merge=kind))
        assert own.tolist() == expected
    own = torch.tensor([2.0, 6.0])
    merge(own, heard, Recipe(mixing=1.0))
    assert own.tolist() == [4.0, 0.0]


def test_whom_nodes_hear() -> None:
    random = np.random.default_rng(0)
    assert sources(Recipe(nodes=4), random) == [3, 0, 1, 2]
    found = [sources(Recipe(nodes=16, neighbour="random"), random) for _ in range(200)]
    for node in range(16):
        heard = [one[node] for one in found]
        assert set(heard) == {(node - 1) % 16, (node + 1) % 16}
        # Five standard errors of 200 fair tosses.
        assert np.mean([s == (node + 1) % 16 for s in heard]) == pytest.approx(0.5, abs=0.18)


@dataclass
class Ran:
    """A run after some rounds, and what each came to."""

    gossip: Gossip
    losses: list[list[float]]
    sent_bits: list[int]

    @property
    def weights(self) -> Tensor:
        return self.gossip.nodes["weights"]


def gossip_of(recipe: Recipe, first: Tensor, workers: int = 1, coder: Any = None) -> Gossip:
    images = few_images()
    shares = split_of("balanced", images.labels, recipe.nodes, stream(0)).shares
    coder = coder or coder_of(recipe, first, autoencoder=None)
    return Gossip(
        Passes(images), shares, coder, recipe, begin=first, seed=3, workers=workers,
        closing_coder=closing_coder_of(recipe, first, coder),
    )  # fmt: skip


def run(
    recipe: Recipe,
    first: Tensor,
    rounds: int = 2,
    workers: int = 1,
    look: Callable[[int, Tensor], None] = lambda done, weights: None,
) -> Ran:
    ran = Ran(gossip_of(recipe, first, workers), [], [])
    for number in range(1, rounds + 1):
        report = ran.gossip.run_round(before=lambda done: look(done, ran.weights))
        assert (report.round, 8 * report.bytes_sent) == (number, ran.gossip.sent_bits)
        assert report.local_steps == recipe.nodes * recipe.steps(64 // recipe.nodes)
        ran.losses.append(report.loss.tolist())
        ran.sent_bits.append(ran.gossip.sent_bits)
    return ran


def test_a_round_is_training_then_all_at_once(start: Tensor) -> None:
    """One round by hand: every node trains, all encode, and each merges its predecessor's."""
    images = few_images()
    recipe = replace(SMALL, nodes=4)
    own = Passes(images)
    state = begin(start.repeat(4, 1))
    rows = state["weights"]
    losses = [
        epoch(own, state, m, np.arange(16 * m, 16 * m + 16), recipe, stream(3, 0, 0, m))
        for m in range(4)
    ]
    pruned = rows.clone()
    for row in pruned:
        prune(row, recipe)
    expected = torch.stack([0.5 * rows[m] + 0.5 * pruned[m - 1] for m in range(4)])
    found = run(recipe, start, rounds=1)
    assert torch.allclose(found.weights, expected, rtol=0, atol=1e-8)
    assert torch.equal(found.gossip.nodes["first"], state["first"])
    assert found.losses == [losses]
    assert found.sent_bits == [4 * 1000 * (20 + 32)]


def test_the_aliasing_bug_prunes_node_zero_alone(start: Tensor) -> None:
    right = run(replace(SMALL, nodes=4), start, rounds=1)
    wrong = run(replace(SMALL, nodes=4, aliased=True), start, rounds=1)
    same = [torch.equal(a, b) for a, b in zip(right.weights, wrong.weights, strict=True)]
    assert same == [False, True, True, True]
    # Node 0 is the mean of two pruned vectors: at most 2 000 weights are left.
    assert int((wrong.weights[0] != 0).sum()) <= 2000 < int((right.weights[0] != 0).sum())


def test_moments_survive_a_merge(start: Tensor) -> None:
    alone = run(replace(SMALL, nodes=4, exchange="none"), start, rounds=1)
    merged = run(replace(SMALL, nodes=4), start, rounds=1)
    assert torch.equal(alone.gossip.nodes["second"], merged.gossip.nodes["second"])
    assert merged.gossip.nodes["steps"].tolist() == [1] * 4


def test_full_exchange_with_equal_nodes_changes_nothing(start: Tensor) -> None:
    nodes = run(replace(SMALL, nodes=2, exchange="full"), start, rounds=1)
    alone = run(replace(SMALL, nodes=2, exchange="none"), start, rounds=1)
    mean = alone.weights.mean(dim=0)
    assert torch.allclose(nodes.weights, mean.expand(2, -1), rtol=0, atol=1e-7)
    assert nodes.sent_bits == [2 * 32 * SIZE]


def test_runs_repeat_and_learn(start: Tensor) -> None:
    recipe = replace(SMALL, nodes=2, batch=8)
    first, again = (run(recipe, start, rounds=6) for _ in range(2))
    assert torch.equal(first.weights, again.weights)
    assert first.losses[-1][0] < first.losses[0][0]
    images = few_images()
    shares = first.gossip.accuracies(Passes(images))
    assert len(shares) == 2
    assert all(0 <= share <= 1 for share in shares)


# Threads ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [3, 8])
def test_no_bit_depends_on_who_shares_the_work(start: Tensor, workers: int) -> None:
    recipe = replace(SMALL, nodes=4, batch=8)
    alone, shared = run(recipe, start), run(recipe, start, workers=workers)
    assert torch.equal(alone.weights, shared.weights)
    states = alone.gossip.state(), shared.gossip.state()
    assert all(torch.equal(values, states[1][name]) for name, values in states[0].items())
    assert (alone.losses, alone.gossip.nodes["steps"].tolist()) == (shared.losses, [4] * 4)
    tested = Passes(few_images())
    assert alone.gossip.accuracies(tested) == shared.gossip.accuracies(tested)


def test_trajectories_made_side_by_side_are_the_same(tmp_path: Path) -> None:
    images = few_images()
    plan = SnapshotPlan(trajectories=3, epochs=2, batch=16, kept=500)
    said: list[tuple[int, int]] = []

    def made(folder: str, workers: int) -> Tensor:
        own = Passes(images)
        return snapshots(
            plan, own, images, tmp_path / folder, recipe=SMALL, workers=workers,
            progress=lambda done, total: said.append((done, total)),
        )  # fmt: skip

    alone, shared = made("alone", 1), made("shared", 2)
    assert torch.equal(alone, shared)
    assert len({float(one) for one in alone[:, -1, 0]}) == 3
    # What is there is read, and what is missing made again.
    (tmp_path / "shared" / "trajectory-001.safetensors").unlink()
    assert torch.equal(made("shared", 2), alone)
    assert said == [(0, 3), (1, 3), (2, 3), (3, 3), (0, 3), (2, 3), (3, 3), (2, 3), (3, 3)]


def test_an_error_in_one_thread_ends_the_round(start: Tensor) -> None:
    broken = gossip_of(replace(SMALL, nodes=4, exchange="none"), start, workers=2)
    broken.nodes["weights"][2] = float("nan")
    with pytest.raises(ValueError, match="loss of node 2: expected a finite number"):
        broken.run_round()


# Codecs -----------------------------------------------------------------------------------------


def with_codec(codec: str, **settings: Any) -> Recipe:
    return replace(SMALL, nodes=4, exchange="codec", codec={"codec": codec, **settings})


def test_no_bit_depends_on_who_writes_and_reads_messages(start: Tensor) -> None:
    """Of a codec whose messages are entropy coded, with a memory around it."""
    recipe = with_codec("difference", inner={"codec": "quantised"})
    alone, shared = run(recipe, start), run(recipe, start, workers=3)
    assert torch.equal(alone.weights, shared.weights)
    assert alone.sent_bits == shared.sent_bits
    memories = alone.gossip.memories, shared.gossip.memories
    for own, others in zip(*memories, strict=True):
        assert all(torch.equal(own[name], values) for name, values in others.items())
    assert len(memories[0]) == 4


def test_all_weights_in_float32_are_full_exchange(start: Tensor) -> None:
    found = run(with_codec("plain"), start)
    assert torch.equal(found.weights, run(replace(SMALL, nodes=4, exchange="full"), start).weights)
    assert found.sent_bits == [4 * 32 * SIZE] * 2


def test_the_coded_baseline_is_the_baseline_for_fewer_bits(start: Tensor) -> None:
    """As many weights in float32, the set coded: the same nets to the last bit."""
    pruned = run(replace(SMALL, nodes=4), start)
    coded = run(with_codec("topk", share=1000 / SIZE, values="float32"), start)
    assert torch.equal(coded.weights, pruned.weights)
    assert coded.sent_bits[1] < coded.sent_bits[0] < pruned.sent_bits[0]


def test_differences_in_small_steps_are_full_exchange(start: Tensor) -> None:
    """θ + α γ (ŷ_{m−1} − ŷ_m) with exact replicas is (1 − α γ) θ + α γ θ_{m−1}."""
    inner = {"codec": "quantised", "step": 1e-4}
    ours = with_codec("difference", inner=inner, mixing=1.0)
    theirs = replace(SMALL, nodes=4, exchange="full")
    # Three exchanges after a round of training: every weight agrees.
    fine, full = (run(replace(one, closing=2), start, rounds=1) for one in (ours, theirs))
    moved, gap = full.weights - start, fine.weights - full.weights
    assert float(gap.abs().max()) < 1e-3 * float(moved.abs().max())
    none = run(replace(SMALL, nodes=4, exchange="none"), start, rounds=1)
    assert float((fine.weights - none.weights).norm()) > 0.1 * float(moved.norm())
    assert float((fine.weights - none.weights).abs().max()) > 0.1 * float(moved.abs().max())


def test_what_differences_leave_out_stays_in_the_network(start: Tensor) -> None:
    """However coarse the steps, an exchange keeps the sum of all nodes' weights (ring: v is flat).

    float32 sums of four: within 4 · 2⁻²³ of the largest weight.
    """
    recipe = with_codec("difference", inner={"codec": "quantised", "step": 8.0}, mixing=0.5)
    coder = coder_of(recipe, start, autoencoder=None)
    assert isinstance(coder, Replicating)
    generator = torch.Generator().manual_seed(1)
    rows = start + 0.01 * torch.randn(4, SIZE, generator=generator)
    memories = [coder.memory() for _ in rows]
    for row, memory in zip(rows, memories, strict=True):
        coder.encode({WEIGHTS: row}, memory, seed=0)
    before = rows.sum(dim=0)
    for node in range(4):
        towards(rows[node], memories, node, (node - 1) % 4, coder, recipe)
    assert float((rows.sum(dim=0) - before).abs().max()) < 8 * 2.0**-23 * float(rows.abs().max())


def test_nodes_may_exchange_now_and_then(start: Tensor) -> None:
    """Every third round: two rounds alone, and the third as any other."""
    recipe = replace(with_codec("quantised"), every=3)
    found = run(recipe, start, rounds=3)
    assert found.sent_bits[:2] == [0, 0] != found.sent_bits[2:]
    alone = run(replace(SMALL, nodes=4, exchange="none"), start, rounds=3)
    assert alone.sent_bits == [0, 0, 0]
    assert found.losses == alone.losses  # which are from before the exchange
    assert not torch.equal(found.weights, alone.weights)
    assert run(recipe, start, rounds=4).sent_bits[3] == 0


def test_after_the_last_round_nodes_may_exchange_again_and_again(start: Tensor) -> None:
    """Full weights, α = 1/2: k more exchanges multiply what the rounds left by ((1 + P) / 2)ᵏ."""
    plain = replace(SMALL, nodes=4, exchange="full", rounds=2)
    left = run(plain, start).weights.double()
    found = run(replace(plain, closing=5), start)
    ring = (torch.eye(4) + torch.eye(4).roll(1, dims=0)).double() / 2
    wanted = torch.linalg.matrix_power(ring, 5) @ left
    largest = float(left.abs().max())
    assert float((found.weights - wanted).abs().max()) < 5 * 2.0**-23 * largest
    assert float((left - wanted).abs().max()) > 1e-3 * largest
    assert found.sent_bits == [4 * 32 * SIZE, 6 * 4 * 32 * SIZE]
    seen: list[tuple[int, Tensor]] = []
    run(replace(plain, closing=5), start, look=lambda done, rows: seen.append((done, rows.clone())))
    assert [done for done, _ in seen] == [0, 1, 2, 3, 4]
    assert torch.equal(seen[0][1].double(), left)
    assert torch.equal(seen[2][1], run(replace(plain, closing=2), start).weights)
    rare = replace(plain, closing=5, every=2, rounds=3)
    bits = run(rare, start, rounds=3).sent_bits
    assert sum(bits) == rare.exchanges * 4 * 32 * SIZE
    assert bits[0] == 0 < bits[1] < bits[2]
    shorter = replace(plain, closing=5, rounds=3)  # these two are not its last
    assert torch.equal(run(shorter, start).weights.double(), left)


def test_closing_messages_may_be_written_by_another_codec(start: Tensor) -> None:
    """Few weights on the way, and at last all that replicas lack: plain averaging."""
    few = with_codec("replica", inner={"codec": "topk", "share": 0.001})
    left = run(few, start, rounds=1).weights.double()
    whole = {"codec": "replica", "inner": {"codec": "plain"}}
    found = run(replace(few, closing=2, closing_codec=whole), start, rounds=1)
    for _ in range(2):
        left = 0.5 * left + 0.5 * left.roll(1, 0)
    # Float32, of weights below 1/2, twice: a difference, its sum and a mean.
    assert torch.allclose(found.weights.double(), left, rtol=0, atol=6 * 2.0**-25)
    assert found.sent_bits[0] > 2 * 4 * 32 * SIZE
    same = run(replace(few, closing=2), start, rounds=1)
    assert not torch.allclose(same.weights, found.weights, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"closing": 0}, "closing_codec: expected none without the exchange 'codec' and closing"),
        ({"codec": None, "exchange": "full"}, "closing_codec: expected none without"),
        ({"codec": {"codec": "plain"}}, "closing_codec: expected one that remembers no more than"),
        ({"closing_codec": {"codec": "pigeon"}}, "codec: expected one of"),
    ],
)
def test_a_closing_codec_that_does_not_fit(
    start: Tensor, change: dict[str, Any], words: str
) -> None:
    codec = {"codec": "replica", "inner": {"codec": "quantised"}}
    settings = {"codec": codec, "exchange": "codec", "closing": 2, "closing_codec": codec, **change}
    refused(words, lambda: run(replace(SMALL, nodes=4, **settings), start, rounds=1))


def test_replicas_that_part_are_a_fault_of_the_codec(start: Tensor) -> None:
    recipe = with_codec("topk", share=0.01)
    coder = coder_of(recipe, start, autoencoder=None)
    assert coder is not None

    class Forgetful:
        memory, encode = coder.memory, coder.encode

        def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
            heard = coder.decode(body, memory, seed=seed)
            memory["said weights"][0] += 1
            return heard

    with pytest.raises(ValueError, match="memory of node 0: expected the same at both ends"):
        gossip_of(recipe, start, workers=2, coder=Forgetful()).run_round()


def test_a_run_goes_on_from_any_round(start: Tensor) -> None:
    """With moments, and with what a codec remembers."""
    recipe = replace(with_codec("difference", inner={"codec": "quantised"}), batch=8)
    whole = run(recipe, start, rounds=3).gossip
    half = run(recipe, start, rounds=1).gossip
    again = gossip_of(recipe, start)
    again.run_round(), again.run_round()
    again.restore({name: values.clone() for name, values in half.state().items()})
    assert again.round == 1
    again.run_round(), again.run_round()
    assert again.round == 3
    states = whole.state(), again.state()
    assert all(torch.equal(values, states[1][name]) for name, values in states[0].items())
