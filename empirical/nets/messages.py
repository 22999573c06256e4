"""What an agent sends: its belief's natural parameters, encoded and decoded here and nowhere else.

A Gaussian of mean μ and variance σ² has, coordinate by coordinate, the natural parameters

    precision 1/σ²,     shift μ/σ²,

in which pooling is linear (P1 eq. 3). Agent j encodes them once a round, and every agent that
listens to j gets that message over a link of its own: a round's traffic is the sum of the bytes of
the messages over the directed links in use. An agent's own belief is not sent, hence not encoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

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


class Encoding(Protocol):
    """How beliefs become messages and messages beliefs.

    An encoding may remember something of each sender, such as what it left out so far; then it
    says so in :meth:`state_dict`, so that a run can be taken up where it stopped.
    """

    @property
    def broadcast(self) -> bool:
        """Whether every receiver decodes the same; a message is then decoded once."""
        ...

    def encode(self, natural: Natural, *, sender: int, round: int) -> Message:
        """The message of one sender in one round, from a Gaussian's parameters, shape (d,)."""
        ...

    def decode(self, message: Message, *, receiver: int) -> Natural:
        """What a receiver takes the sender's parameters to be, shape (d,)."""
        ...

    def state_dict(self) -> dict[str, Tensor]:
        """What it remembers, as named tensors."""
        ...

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Remember that instead."""
        ...


@dataclass(frozen=True)
class PlainMessages:
    """The natural parameters as they are: 8 d bytes in float32, or 4 d where widths are known.

    Parameters
    ----------
    variance
        The variance of every weight of every agent, where all know it: averaging of nets. The
        shifts alone are sent then. None: it is not known.

    Examples
    --------
    >>> belief = Natural.from_moments(torch.zeros(100), torch.ones(100))
    >>> PlainMessages().encode(belief, sender=0, round=1).bytes
    800
    >>> PlainMessages(variance=1.0).encode(belief, sender=0, round=1).bytes
    400
    """

    variance: float | None = None

    @property
    def broadcast(self) -> bool:
        """True: nothing depends on the receiver."""
        return True

    def encode(self, natural: Natural, *, sender: int, round: int) -> Message:
        """Both vectors, or the shifts alone."""
        payload = {"shift": natural.shift}
        if self.variance is None:
            payload["precision"] = natural.precision
        return Message(payload, self.bytes_of(natural.shift))

    def decode(self, message: Message, *, receiver: int) -> Natural:
        """Both vectors."""
        shift = message.payload["shift"]
        if self.variance is None:
            return Natural(message.payload["precision"], shift)
        return Natural(torch.full_like(shift, self.variance).reciprocal(), shift)

    def bytes_of(self, values: Tensor) -> int:
        """What a message costs whose vectors are like this one, shape (d,)."""
        vectors = 2 if self.variance is None else 1
        return vectors * values.shape[-1] * values.element_size()

    def state_dict(self) -> dict[str, Tensor]:
        """Nothing."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Nothing to remember.

        Raises
        ------
        ValueError
            If there is something: it was another encoding's.
        """
        if state:
            raise fail(
                "state",
                "nothing: plain messages remember nothing",
                ", ".join(sorted(state)),
                "use the encoding that the run began with",
            )


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
