"""What nodes send: the coders of the paper's exchanges, and the bits of eqs 4 to 6."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from empirical.gae.net import layout
from empirical.gae.recipe import Recipe
from empirical.messages.autoencoder import load_autoencoder
from empirical.messages.codec import Coder
from empirical.messages.codecs import codec_from_words
from empirical.messages.codecs.autoencoder import AutoencoderCoder
from empirical.messages.codecs.plain import Plain
from empirical.messages.codecs.pruned import Pruned
from empirical.messages.codecs.spline import Spline
from empirical.messages.index_lists import index_bits
from theory.validation import fail

FLOAT_BITS = 32
# Each message also carries its sender's loss (eq. 3), which eqs 4 to 6 leave out.
LOSS_BITS = FLOAT_BITS


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
    nets = layout(begin)
    if recipe.exchange == "none" or recipe.nodes == 1:
        return None
    if recipe.exchange == "full":
        return Plain().coder(nets)
    if recipe.exchange == "pruned":
        return Pruned(recipe.kept).coder(nets)
    if recipe.exchange == "spline":
        return Spline(recipe.kept, recipe.exact, recipe.latent).coder(nets)
    if recipe.codec is not None:
        coder = codec_from_words(recipe.codec).coder(nets)
        if recipe.neighbour == "random" and coder.memory():
            wanted = f"'fixed', for {recipe.codec['codec']!r} needs every message of a sender"
            raise fail("neighbour", wanted, "'random'", "use a codec that remembers nothing")
        return coder
    if autoencoder is None:
        remedy = "train it by 'peerbayes run gae --part autoencoder'"
        raise fail("autoencoder", "a trained autoencoder", "none", remedy)
    own = load_autoencoder(autoencoder)
    got = (own.kept, own.exact, own.latent)
    if got != (recipe.kept, recipe.exact, recipe.latent):
        wanted = f"one for (kept, exact, latent) = {recipe.kept, recipe.exact, recipe.latent}"
        raise fail(str(autoencoder), wanted, got, "train one by this recipe")
    return AutoencoderCoder.of(own, nets)


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
