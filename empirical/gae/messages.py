"""What nodes send: the coder of an exchange, and what its messages say without being written.

On a GPU what a message of the paper's exchanges says is computed where the weights are, and its
bits are those of eqs 4 to 6; in the exchanges 1, 2, 4, 8, ... of a run one of them is written and
read, and must say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from empirical.gae.net import WEIGHTS, layout
from empirical.gae.recipe import Recipe
from empirical.messages.autoencoder import Autoencoder
from empirical.messages.codec import Coder, Heard
from empirical.messages.codecs import codec_from_words
from empirical.messages.codecs.pruned import AutoencoderCoder, index_bits
from theory.validation import fail

FLOAT_BITS = 32
# Each message also carries its sender's loss (eq. 3), which eqs 4 to 6 leave out.
LOSS_BITS = FLOAT_BITS
# Of a message on two devices: the largest difference, over the size of what it says.
_ROUNDING = 1e-3


def coder_of(recipe: Recipe, begin: Tensor, *, autoencoder: Path | None) -> Coder | None:
    """The coder of a recipe's exchange; None where nothing is sent.

    Parameters
    ----------
    begin
        The weights that all nodes begin with, shape (d,).
    autoencoder
        The file of a trained autoencoder, where the exchange needs one.

    Raises
    ------
    ValueError
        If it is missing, or made for other nets or another recipe; more weights are to be kept
        than there are; or a codec does not fit, or remembers what was said to nodes that change.
    """
    if recipe.exchange == "none" or recipe.nodes == 1:
        return None
    if recipe.exchange == "autoencoder" and autoencoder is None:
        remedy = "train it by 'peerbayes run gae --part autoencoder'"
        raise fail("autoencoder", "a trained autoencoder", "none", remedy)
    kept, exact, latent = recipe.kept, recipe.exact, recipe.latent
    words: Any = {
        "full": {"codec": "plain"},
        "pruned": {"codec": "pruned", "kept": kept},
        "spline": {"codec": "spline", "kept": kept, "exact": exact, "knots": latent},
        "autoencoder": {"codec": "autoencoder", "file": str(autoencoder)},
        "codec": recipe.codec,
    }[recipe.exchange]
    coder = codec_from_words(words).coder(layout(begin))
    if isinstance(coder, AutoencoderCoder):
        own = coder.autoencoder
        if (own.kept, own.exact, own.latent) != (kept, exact, latent):
            wanted = f"one for (kept, exact, latent) = {kept, exact, latent}"
            got = own.kept, own.exact, own.latent
            raise fail(str(autoencoder), wanted, got, "train one by this recipe")
    if recipe.neighbour == "random" and coder.memory():
        wanted = f"'fixed', for {words['codec']!r} needs every message of a sender"
        raise fail("neighbour", wanted, "'random'", "use a codec that remembers nothing")
    return coder


def closing_coder_of(recipe: Recipe, begin: Tensor, coder: Coder | None) -> Coder | None:
    """The coder of the exchanges after the last round; that of the others, if none is named.

    Raises
    ------
    ValueError
        If it does not fit, or remembers something that the other does not.
    """
    if recipe.closing_codec is None or coder is None:
        return coder
    closing = codec_from_words(recipe.closing_codec).coder(layout(begin))
    kept = coder.memory().keys()
    if not closing.memory().keys() <= kept:
        wanted = f"one that remembers no more than {sorted(kept)}, as 'codec' does"
        remedy = "put both into the same outer codec, such as 'replica'"
        raise fail("closing_codec", wanted, sorted(closing.memory()), remedy)
    return closing


def printed_bits(recipe: Recipe, size: int) -> Mapping[str, int]:
    """Bits of a message of a net of `size` weights, by exchange, as eqs 4 to 6 count them.

    A codec's are counted when it has written; eq. 5, which it competes with, stands for it.
    """
    index, few = index_bits(size), 2 * recipe.exact + recipe.latent + 1
    coded = recipe.kept * index + few * FLOAT_BITS
    pruned = recipe.kept * (index + FLOAT_BITS)
    return {
        "none": 0,
        "full": size * FLOAT_BITS,
        "pruned": pruned,
        "codec": pruned,
        "autoencoder": coded,
        "spline": coded,
    }


# What messages say, computed on the device -------------------------------------------------------


def computed_bits(weights: Tensor, recipe: Recipe) -> int | None:
    """Bits of each message where none has to be written to be heard; None elsewhere."""
    if weights.device.type == "cpu" or recipe.exchange not in ("full", "pruned", "autoencoder"):
        return None
    return -(-printed_bits(recipe, weights.shape[1])[recipe.exchange] // 8) * 8


def computed(own: Tensor, coder: Coder, recipe: Recipe) -> Heard:
    """What a node's message says, computed on its device, for which nothing here waits."""
    if recipe.exchange == "full":
        return Heard({WEIGHTS: own.clone()})
    places = largest_places(own, recipe.kept)
    curve, w = own[places], recipe.exact
    sent = torch.ones_like(curve, dtype=torch.bool)
    if isinstance(coder, AutoencoderCoder):
        curve, order = curve.sort(stable=True)
        places, least = places[order], curve.square().min()
        autoencoder = _placed(coder.autoencoder, own.device)
        middle = autoencoder.decode(autoencoder.encode(curve[w : recipe.kept - w]))
        curve = torch.cat([curve[:w], middle, curve[recipe.kept - w :]])
        sent = curve.square() >= least
    vector = torch.zeros_like(own).scatter(0, places, torch.where(sent, curve, 0.0))
    return Heard(
        {WEIGHTS: vector}, torch.zeros_like(own, dtype=torch.bool).scatter(0, places, sent)
    )


@lru_cache(maxsize=1)
def _placed(autoencoder: Autoencoder, device: torch.device) -> Autoencoder:
    layers = tuple(
        (weights.to(device), biases.to(device)) for weights, biases in autoencoder.layers
    )
    return replace(autoencoder, layers=layers)


def check_computed(own: Tensor, heard: Heard, coder: Coder, bits: int) -> None:
    """Write and read one message: it must say the same within rounding, in as many bits.

    Raises
    ------
    ValueError
        If it does not.
    """
    body = coder.encode({WEIGHTS: own.cpu()}, {}, seed=0)
    read = coder.decode(body, {}, seed=0).vectors[WEIGHTS]
    # The smallest values of a decoded curve may be sent or not by their last digit.
    apart = float((read - heard.vectors[WEIGHTS].cpu()).norm() / read.norm())
    if 8 * len(body) != bits or not apart <= _ROUNDING:
        got = f"{8 * len(body)} bits and a relative difference of {apart:.1g}"
        wanted = f"{bits} bits and at most {_ROUNDING:g}"
        raise fail("message as computed on the device", wanted, got, "use --device cpu")


def largest_places(own: Tensor, count: int) -> Tensor:
    """Coordinates of the `count` largest squares, ascending; of equal ones the first."""
    order = own.square().sort(descending=True, stable=True).indices
    return order[:count].sort().values
