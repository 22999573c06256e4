"""What a loop of rounds asks of an agent's learning, whatever is learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from exact.changing.peer_state import Receipt
from peerbayes.live.frames import Frame, Shapes, Tensors
from peerbayes.live.members import Members


@dataclass(frozen=True)
class Used:
    """Which messages one pooling used.

    Attributes
    ----------
    weights
        What each agent's message counted, by name, the agent's own included; they sum to one.
        Agents whose message was not used are missing.
    rounds
        The round of the message that was used, by name.
    """

    weights: Mapping[str, float]
    rounds: Mapping[str, int]


@dataclass(frozen=True)
class Saved:
    """A learner's state: what JSON holds, and arrays beside it."""

    meta: Mapping[str, Any]
    tensors: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class Learner(Protocol):
    """One agent's learning: a state machine that neither sends nor waits.

    A round is `learn`, any number of `take`, `pool`.

    Attributes
    ----------
    kind
        "finite" or "net": what its frames say.
    round
        Rounds begun so far; strictly increasing.
    members
        The list by which it goes.
    replays
        Whether `learn`, `take`, `pool`, `skip`, `lose` and `reweigh`, called again on the same
        input after `restore`, lead to the same state, bit for bit, and quickly: then a journal of
        them keeps it; it has a `log_belief` then, in an open round what it said, numbers
        for names (`number`, `name`), and `deliver` for what was taken. Otherwise its state is kept
        whole whenever that is cheap.
    """

    kind: str
    replays: bool

    @property
    def round(self) -> int: ...

    @property
    def members(self) -> Members: ...

    def learn(self, evidence: Any) -> Tensors:
        """Begin the next round with the agent's own evidence; what is to be sent.

        `evidence` is what the learner's evidence source gives; None where there is none.
        """
        ...

    def take(self, frame: Frame) -> Receipt:
        """A neighbour's message."""
        ...

    def missing(self) -> frozenset[str]:
        """Present neighbours of whom there is no message of this round (lock-step)."""
        ...

    def pool(self) -> Used:
        """Pool what is held; the end of the round."""
        ...

    def skip(self, round: int) -> None:
        """Be away until `round`, which is the next to begin; an open round ends unpooled."""
        ...

    def lose(self, name: str) -> None:
        """A neighbour is gone, until its next new message."""
        ...

    def reweigh(self, members: Members) -> None:
        """A new list of members."""
        ...

    def save(self) -> Saved:
        """Everything that `restore` needs."""
        ...

    def restore(self, saved: Saved) -> None:
        """Go back to a saved state.

        Raises
        ------
        ValueError
            If it is that of another network, agent or model.
        """
        ...

    def summary(self) -> dict[str, Any]:
        """What the agent believes, as JSON takes it: the report's "belief"."""
        ...

    def shapes(self) -> Shapes:
        """What its frames hold."""
        ...
