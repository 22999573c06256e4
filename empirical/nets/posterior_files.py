"""Beliefs of all agents on disk, in one file of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from empirical.keeping import load_tensors, save_tensors
from empirical.nets.architecture import Architecture
from empirical.nets.posterior import Posterior
from theory.validation import fail


def save_posterior(path: Path, posterior: Posterior, words: Mapping[str, Any]) -> str:
    """Keep beliefs as two tensors of shape (N, d), ``mean`` and ``variance``.

    Raises
    ------
    ValueError
        As :func:`empirical.keeping.save_tensors`.
    """
    return save_tensors(path, {"mean": posterior.mean, "variance": posterior.variance}, words)


def load_posterior(path: Path, architecture: Architecture) -> Posterior:
    """Read beliefs back, for the architecture they were trained with.

    Raises
    ------
    ValueError
        As :func:`empirical.keeping.load_tensors`, or if the tensors are not those of such beliefs.
    """
    tensors = load_tensors(path).tensors
    if tensors.keys() != {"mean", "variance"}:
        names = ", ".join(sorted(tensors)) or "none"
        raise fail(str(path), "the tensors mean and variance", names, "name a kept posterior")
    return Posterior(architecture, tensors["mean"], tensors["variance"])
