"""How federated averaging is run: everything but data, network shape and seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from empirical.nets.schedule import Schedule, share_of_rate
from theory.validation import as_integer, as_positive, as_probability, fail


@dataclass(frozen=True)
class FedAvgRecipe:
    """FederatedAveraging (McMahan et al. 2017, algorithm 1) and what a server may add to it.

    Parameters
    ----------
    rounds
        Of the whole run; the schedule is stretched over them.
    fraction
        C in (0, 1]: the share of clients in a round; at least one takes part.
    epochs
        E: how often a client goes through its data in a round.
    local_steps
        Steps of each client in a round, in place of `epochs`; 0: as `epochs` says.
    batch
        B: examples in a batch.
    rate
        η of the clients' SGD.
    schedule, decay
        ``"cosine"``: η falls to 0 over the run as ½(1 + cos πt); ``"geometric"``: by the factor
        `decay` each round, 1 for a constant η.
    momentum, server_rate
        With Δ the clients' average less the server's weights w: u ← momentum u + Δ, then
        w ← w + server_rate u (Hsu et al. 2019; 0 and 1 is plain averaging).
    averaging
        What is served is an average over rounds, w̄ ← (1 − c) w̄ + c w with c = (a + 1) / (t + a)
        in round t (Shamir and Zhang 2013, section 4): with a = 8 about the last ninth of the run,
        whenever it ends. None: the last weights.

    Raises
    ------
    ValueError
        If a number is out of its range or a word unknown.
    """

    rounds: int
    fraction: float = 0.1
    epochs: int = 1
    local_steps: int = 0
    batch: int = 10
    rate: float = 0.01
    schedule: Schedule = "geometric"
    decay: float = 1.0
    momentum: float = 0.0
    server_rate: float = 1.0
    averaging: float | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "epochs", "batch"):
            as_integer(name, getattr(self, name), minimum=1)
        as_integer("local_steps", self.local_steps, minimum=0)
        if self.fraction != 1.0:
            as_probability("fraction", self.fraction)
        for name in ("rate", "decay", "server_rate"):
            as_positive(name, getattr(self, name))
        if not 0.0 <= self.momentum < 1.0:
            raise fail(
                "momentum",
                "a number of at least 0 and below 1",
                self.momentum,
                "give such a number",
            )
        if self.averaging is not None and not 0.0 <= self.averaging < math.inf:
            raise fail(
                "averaging",
                "a finite number of at least 0, or None",
                self.averaging,
                "give such a number",
            )
        if self.schedule not in ("cosine", "geometric"):
            raise fail(
                "schedule", "'cosine' or 'geometric'", repr(self.schedule), "choose one of them"
            )

    def clients(self, number: int) -> int:
        """How many of a number of clients take part in a round: max(C K, 1), rounded.

        Examples
        --------
        >>> FedAvgRecipe(rounds=1).clients(100), FedAvgRecipe(rounds=1).clients(3)
        (10, 1)
        """
        return max(1, round(self.fraction * number))

    def rate_in(self, round: int) -> float:
        """η in a round, counted from 1.

        Examples
        --------
        >>> FedAvgRecipe(rounds=100, rate=0.2, schedule="cosine").rate_in(51)
        0.1
        """
        share = share_of_rate(self.schedule, round, rounds=self.rounds, decay=self.decay)
        return self.rate * share

    def as_json(self) -> dict[str, Any]:
        """All settings, in plain values."""
        return asdict(self)


# "paper" is what the slides print; they do not say how many rounds were run. "best" differs in the
# rates and in what is served, not in clients, batches or epochs. P2 prints no more about its FedAvg
# on a star's shares than the accuracy; the batches are those of its section 4.2, and every client
# takes equally many steps: with equal epochs the centre takes 30 times as many as an edge on top of
# weighing 30 times as much, and the edges' labels are learned late or never.
FEDAVG_RECIPES: Mapping[str, FedAvgRecipe] = MappingProxyType(
    {
        "paper, E=1": FedAvgRecipe(rounds=1500, epochs=1),
        "paper, E=5": FedAvgRecipe(rounds=500, epochs=5),
        "best, E=1": FedAvgRecipe(
            rounds=1000, epochs=1, rate=0.2, schedule="cosine", averaging=8.0
        ),
        "best, E=5": FedAvgRecipe(rounds=300, epochs=5, rate=0.1, schedule="cosine", averaging=8.0),
        "star-mnist": FedAvgRecipe(
            rounds=1000,
            fraction=1.0,
            local_steps=20,
            batch=50,
            rate=0.2,
            schedule="cosine",
            averaging=8.0,
        ),
        "star-fmnist": FedAvgRecipe(
            rounds=1000,
            fraction=1.0,
            local_steps=20,
            batch=100,
            rate=0.2,
            schedule="cosine",
            averaging=8.0,
        ),
    }
)
