"""Coordinates in which a belief may be written with any loss and stays a belief.

A Gaussian's message is its precision and its shift, which is precision times mean. A precision that
was rounded may be zero or negative, and a mean that is a quotient of two rounded numbers is off by
more than either. Mean and log precision have neither fault: any real numbers are a Gaussian.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from empirical.messages.codec import Layout, Said

PRECISION, SHIFT = "precision", "shift"
MEAN, LOG_PRECISION = "mean", "log precision"


def is_belief(names: tuple[str, ...]) -> bool:
    """Whether messages of these names are natural parameters of Gaussians."""
    return PRECISION in names and SHIFT in names


def free(said: Said) -> Said:
    """Mean and log precision in place of shift and precision; all else as it is.

    Vectors of shape (d,); a message without a precision is returned as it is.
    """
    if not is_belief(tuple(said)):
        return said
    precision, shift = said[PRECISION], said[SHIFT]
    new = {PRECISION: (LOG_PRECISION, precision.log()), SHIFT: (MEAN, shift / precision)}
    return dict(new.get(name, (name, values)) for name, values in said.items())


def bound(vectors: Said, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """The inverse of :func:`free`, up to rounding; precisions are positive normal numbers.

    `names` are those before :func:`free`, which changed nothing if they are of no belief.
    """
    if not is_belief(names):
        return dict(vectors)
    precision = vectors[LOG_PRECISION].clamp(-80.0, 80.0).exp()
    new = {LOG_PRECISION: (PRECISION, precision), MEAN: (SHIFT, vectors[MEAN] * precision)}
    return dict(new.get(name, (name, values)) for name, values in vectors.items())


def free_layout(layout: Layout) -> Layout:
    """The layout of messages in the free coordinates."""
    return replace(layout, begin=free(layout.begin))
