"""What messages say without being written, beside what is read of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from empirical.gae import rounds
from empirical.gae.net import SIZE, WEIGHTS
from empirical.gae.recipe import Recipe
from empirical.gae.rounds import check_computed, coder_of, computed, computed_bits, printed_bits
from empirical.messages.autoencoder import untrained
from empirical.messages.codec import Coder
from tests.empirical.gae.test_rounds import SMALL, run, with_codec
from tests.empirical.support import refused

KEPT, EXACT, LATENT = 1000, 20, 8


@pytest.fixture(scope="module", params=["full", "pruned", "autoencoder"])
def case(
    start: Tensor, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Recipe, Coder, Tensor]:
    """A recipe, its coder, and weights of which many are of equal size."""
    path = tmp_path_factory.mktemp("gae") / "autoencoder.safetensors"
    between, random = KEPT - 2 * EXACT, np.random.default_rng(0)
    untrained(between, LATENT, size=SIZE, kept=KEPT, exact=EXACT, random=random).save(Path(path))
    recipe = Recipe(exchange=request.param, kept=KEPT, exact=EXACT, latent=LATENT)
    weights = start.clone()
    weights[:2000] = torch.tensor([0.5, -0.5]).repeat(1000)
    coder = coder_of(recipe, weights, autoencoder=Path(path))
    assert coder is not None
    if recipe.exchange == "autoencoder":
        other = replace(recipe, latent=LATENT + 1)
        refused(
            r"one for \(kept, exact, latent\)", coder_of, other, weights, autoencoder=Path(path)
        )
    return recipe, coder, weights


def test_what_is_computed_is_what_is_read(case: tuple[Recipe, Coder, Tensor]) -> None:
    recipe, coder, weights = case
    heard = computed(weights, coder, recipe)
    body = coder.encode({WEIGHTS: weights}, {}, seed=0)
    read = coder.decode(body, {}, seed=0)
    # The same sums in the same order: on one device there is no rounding between them.
    assert torch.equal(heard.vectors[WEIGHTS], read.vectors[WEIGHTS])
    assert (heard.sent is None) == (read.sent is None)
    assert heard.sent is None or read.sent is None or torch.equal(heard.sent, read.sent)
    check_computed(weights, heard, coder, 8 * len(body))
    refused("message as computed on the device", check_computed, weights, heard, coder, 8)
    heard.vectors[WEIGHTS].mul_(1.01)
    refused("a relative difference of", check_computed, weights, heard, coder, 8 * len(body))


def test_nothing_waits_for_the_device(case: tuple[Recipe, Coder, Tensor]) -> None:
    """A tensor without numbers can be computed with, but nobody can look at it."""
    recipe, coder, weights = case
    nowhere = torch.empty(2, SIZE, device="meta")
    assert computed(nowhere[0], coder, recipe).vectors[WEIGHTS].shape == (SIZE,)
    assert computed_bits(nowhere, recipe) == 8 * len(coder.encode({WEIGHTS: weights}, {}, seed=0))
    assert computed_bits(weights[None], recipe) is None


@pytest.mark.parametrize("exchange", ["full", "pruned"])
def test_nets_do_not_depend_on_whether_messages_are_written(
    start: Tensor, monkeypatch: pytest.MonkeyPatch, exchange: str
) -> None:
    recipe = Recipe(nodes=2, rounds=1, batch=16, kept=KEPT, exchange=exchange)
    written = run(recipe, start)
    bits = computed_bits(torch.empty(2, SIZE, device="meta"), recipe)
    monkeypatch.setattr(rounds, "computed_bits", lambda weights, recipe: bits)
    found = run(recipe, start)
    assert torch.equal(found.weights, written.weights)
    assert found.sent_bits == written.sent_bits


def test_a_codec_of_ours_is_written() -> None:
    assert computed_bits(torch.empty(2, SIZE, device="meta"), SMALL) is not None
    ours = Recipe(exchange="codec", codec={"codec": "topk"})
    assert computed_bits(torch.empty(2, SIZE, device="meta"), ours) is None


def test_more_cannot_be_kept_than_there_is(start: Tensor) -> None:
    with pytest.raises(ValueError, match=f"kept: expected at most {SIZE}"):
        coder_of(Recipe(exchange="pruned", kept=SIZE + 1), start, autoencoder=None)
    refused("a trained autoencoder", coder_of, Recipe(), start, autoencoder=None)
    assert coder_of(Recipe(nodes=1), start, autoencoder=None) is None


def test_printed_bits() -> None:
    found = printed_bits(Recipe(), SIZE)
    assert (found["full"], found["pruned"], found["autoencoder"]) == (
        19_632_448, 2_600_000, 1_017_632,
    )  # fmt: skip


def test_a_codec_that_remembers_wants_the_same_listeners(start: Tensor) -> None:
    recipe = replace(with_codec("topk"), neighbour="random")
    with pytest.raises(ValueError, match="neighbour: expected 'fixed', for 'topk' needs every"):
        coder_of(recipe, start, autoencoder=None)
    free = replace(with_codec("quantised"), neighbour="random")
    assert run(free, start).sent_bits
    refused("codec: expected one of", coder_of, with_codec("pigeon"), start, autoencoder=None)
