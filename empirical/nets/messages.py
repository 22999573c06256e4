"""What an agent sends where no codec writes it: its belief's natural parameters.

A Gaussian of mean μ and variance σ² has, coordinate by coordinate, the natural parameters

    precision 1/σ²,     shift μ/σ²,

in which pooling is linear (P1 eq. 3). Every agent that listens to j gets its message over a link of
its own: a round's traffic is the sum of the bytes of the messages over the directed links in use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from theory.validation import fail

# Kinds of devices whose memory the compiled kernels reach; torch serves the others.
HAS_KERNEL: tuple[str, ...] = ("cpu",)


@dataclass(frozen=True, eq=False)
class Natural:
    """Natural parameters of Gaussians with independent coordinates.

    Attributes
    ----------
    precision, shift
        1/σ² and μ/σ²; shape (d,), or (agents, d) of several.
    """

    precision: Tensor
    shift: Tensor

    @classmethod
    def from_moments(cls, mean: Tensor, variance: Tensor) -> Natural:
        """Those of given means and variances, rounded to their dtype.

        The shift is the mean times the rounded precision: their quotient, which is what counts,
        is the mean up to one rounding.

        Examples
        --------
        >>> one = Natural.from_moments(torch.tensor([3.0]), torch.tensor([0.5]))
        >>> one.precision.item(), one.shift.item()
        (2.0, 6.0)
        """
        precision = variance.reciprocal()
        return cls(precision, precision * mean)

    def of(self, agent: int) -> Natural:
        """Those of one of several, as views of shape (d,)."""
        return Natural(self.precision[agent], self.shift[agent])

    def check(self, *, agents: Sequence[int], round: int) -> None:
        """Refuse what is no Gaussian; `agents` says whose the rows are.

        Raises
        ------
        ValueError
            If a number is not finite or a precision not above 0; names agent, round and place.
        """
        precision, shift = (
            values.reshape(-1, values.shape[-1]) for values in (self.precision, self.shift)
        )
        row = _first_improper(precision, shift)
        if row < 0:
            return
        wrong = ~((precision[row] > 0) & torch.isfinite(precision[row]))
        name, values, wanted = "precision", precision[row], "finite numbers above 0"
        if not wrong.any():
            name, values, wanted = "shift", shift[row], "finite numbers"
            wrong = ~torch.isfinite(values)
        place = int(wrong.nonzero()[0, 0])
        raise fail(
            f"{name} of agent {agents[row]} in round {round}",
            wanted,
            f"{float(values[place]):g} at parameter {place}",
            "lower the learning rates, or go back to an earlier checkpoint",
        )


@dataclass(frozen=True, eq=False)
class Message:
    """One agent's belief as it is sent.

    Attributes
    ----------
    payload
        Named tensors: what the receiver gets, and all it gets.
    bytes
        What sending it once costs.
    """

    payload: Mapping[str, Tensor]
    bytes: int


def _first_improper(precision: Tensor, shift: Tensor) -> int:
    """The first row that is no Gaussian's; −1 if there is none."""
    if precision.device.type in HAS_KERNEL:
        from empirical.nets.pooling_kernel import first_improper

        return int(first_improper(precision.numpy(), shift.numpy()))
    # NaN is the least and the largest where it occurs.
    low, high = torch.aminmax(precision, dim=1)
    least, most = torch.aminmax(shift, dim=1)
    good = (low > 0) & torch.isfinite(high) & torch.isfinite(least) & torch.isfinite(most)
    bad = (~good).nonzero()
    return int(bad[0, 0]) if len(bad) else -1
