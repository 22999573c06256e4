"""Nets are computed together only where a trial of the same kind gave each its own bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from empirical.train.kernel_net import Groups

SIZE = 3


class Squares:
    """A likelihood whose loss is half a square."""

    def loss(self, outputs: Any, labels: Any) -> Any:
        return (outputs**2).sum(dim=(1, 2)) / 2, outputs


class Sums:
    """Nets that put out wᵀx; what `spoils` names comes out differently in company."""

    def __init__(self, spoils: Callable[[int, Any], bool]) -> None:
        self._spoils = spoils
        self.sizes: list[int] = []  # of groups that were asked for, trials left out
        self.trials = 0

    def trial(self, count: int, batch: int, seed: int) -> Any:
        self.trials += seed == 0
        generator = torch.Generator().manual_seed(seed)
        weights = torch.randn(count, SIZE, generator=generator)
        return weights, torch.randn(count, batch, SIZE, generator=generator)

    def __call__(
        self, group: slice, weights: Any, inputs: Any, labels: Any, likelihood: Any, into: Any, /
    ) -> Any:
        count, batch = inputs.shape[:2]
        outputs = (inputs * weights[:, None]).sum(dim=2, keepdim=True)
        if count > 1 and self._spoils(batch, weights.dtype):
            outputs = outputs * 1.5
        losses, slopes = likelihood.loss(outputs, labels)
        into.copy_((slopes * inputs).sum(dim=1))
        if isinstance(likelihood, Squares):
            self.sizes.append(count)
        return losses


def gradient(groups: Groups, run: Sums, batch: int, dtype: Any = torch.float32) -> Any:
    """Of four nets, at most four together; how they were grouped, and what came out."""
    generator = torch.Generator().manual_seed(9)
    weights = torch.randn(4, SIZE, generator=generator, dtype=dtype)
    inputs = torch.randn(4, batch, SIZE, generator=generator, dtype=dtype)
    into, run.sizes = torch.empty_like(weights), []
    groups.gradient(run, weights, inputs, torch.zeros(4, batch), Squares(), into, size=4)
    # By hand: each net by itself.
    for net in range(4):
        x, w = inputs[net].double(), weights[net].double()
        assert torch.allclose(into[net].double(), (x * (x @ w)[:, None]).sum(dim=0), rtol=1e-4)
    return run.sizes


def test_each_batch_size_has_a_trial_of_its_own() -> None:
    run = Sums(lambda batch, dtype: batch == 5)
    groups = Groups(run.trial)
    assert gradient(groups, run, 4) == [4]
    assert gradient(groups, run, 5) == [1, 1, 1, 1]
    assert gradient(groups, run, 4) == [4]
    assert run.trials == 2  # a kind is tried once


def test_each_type_of_numbers_has_a_trial_of_its_own() -> None:
    run = Sums(lambda batch, dtype: dtype == torch.float64)
    groups = Groups(run.trial)
    assert gradient(groups, run, 4) == [4]
    assert gradient(groups, run, 4, torch.float64) == [1, 1, 1, 1]
    assert run.trials == 2


def test_each_product_has_a_trial_of_its_own() -> None:
    run = Sums(lambda batch, dtype: torch.is_autocast_enabled("cpu"))
    groups = Groups(run.trial)
    assert gradient(groups, run, 4) == [4]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert gradient(groups, run, 4) == [1, 1, 1, 1]
    assert gradient(groups, run, 4) == [4]
    assert run.trials == 2


def test_two_groups_of_one_family_do_not_share_what_they_found() -> None:
    good, bad = Sums(lambda *_: False), Sums(lambda *_: True)
    assert gradient(Groups(good.trial), good, 4) == [4]
    assert gradient(Groups(bad.trial), bad, 4) == [1, 1, 1, 1]
