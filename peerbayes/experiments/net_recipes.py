"""How each experiment with neural nets is trained: by row and by name, in plain values.

``paper``: the settings as printed. What is not printed is chosen as is usual and said here: σ = .05
at the beginning, one draw of the weights a batch (Blundell et al. 2015), Adam's own β and ε; for
P1, which prints none, batch 50, learning rate .001, decay .99 a round, an epoch of 600 steps a
round, 100 rounds. The divergence from the last consensus has the weight 1/n_i, n_i the number of
examples that the agent holds (1/47 335 at the centre of `star-mnist-1`): neither paper prints one.

``best``: this program's. ``once``: the same with a prior that stays, so that each datum counts
once (:class:`empirical.nets.recipe.Recipe`).

The numbers are those of `empirical.nets.recipe.Recipe`; federated averaging has its own
(`empirical.nets.recipe`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

Values = Mapping[str, Any]

RECIPE_NAMES = ("paper", "best", "once")
RECIPE_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "paper": "settings as printed",
        "best": "this program's settings",
        "once": "each datum counted once",
    }
)


def _paper(*, batch: int, local_steps: int, rounds: int, decay: float = 0.99) -> Values:
    return MappingProxyType(
        {
            "rounds": rounds,
            "local_steps": local_steps,
            "batch": batch,
            "estimator": "weights",
            "initial_std": 0.05,
            "mean_rate": 1e-3,
            "scale_rate": 1e-3,
            "schedule": "geometric",
            "decay": decay,
        }
    )


def _best(*, rounds: int, local_steps: int, batch: int = 100, **others: Any) -> Values:
    return MappingProxyType(
        {
            "rounds": rounds,
            "local_steps": local_steps,
            "batch": batch,
            "estimator": "local",
            "initial_std": 0.03,
            "mean_rate": 1e-2,
            "scale_rate": 1e-2,
            "mean_epsilon": 1e-2,
            "scale_epsilon": 1e-8,
            "schedule": "cosine",
            **others,
        }
    )


_TWO = _paper(batch=50, local_steps=600, rounds=100)
_STAR = _paper(batch=50, local_steps=155, rounds=800)

PAPER: Mapping[str, Values] = MappingProxyType(
    {
        "fmnist-central": _paper(batch=50, local_steps=1200, rounds=100),
        "fmnist-2-iid": _TWO,
        "fmnist-2-balanced-a": _TWO,
        "fmnist-2-balanced-b": _TWO,
        "fmnist-2-unbalanced": _TWO,
        "star-mnist-1": _STAR,
        "star-mnist-2": _paper(batch=50, local_steps=145, rounds=800),
        "star-mnist-3": _paper(batch=50, local_steps=145, rounds=800),
        "star-fmnist-1": _paper(batch=100, local_steps=150, rounds=800),
        "star-fmnist-2": _paper(batch=100, local_steps=150, rounds=800),
        "grid-mnist": _paper(batch=50, local_steps=155, rounds=1200),
        "timevarying-25": _paper(batch=50, local_steps=47, rounds=1000),
        "timevarying-100": _paper(batch=10, local_steps=120, rounds=1000, decay=0.998),
    }
)

_TWO_BEST = _best(rounds=6000, local_steps=1)
_STAR_BEST = _best(
    rounds=500,
    local_steps=5,
    batch=48,
    batches="proportional",
    mean_rate=3e-2,
    scale_rate=2e-2,
)

BEST: Mapping[str, Values] = MappingProxyType(
    {
        "fmnist-central": _best(rounds=12_000, local_steps=1),
        "fmnist-2-iid": _TWO_BEST,
        "fmnist-2-balanced-a": _TWO_BEST,
        "fmnist-2-balanced-b": _TWO_BEST,
        "fmnist-2-unbalanced": _TWO_BEST,
        "star-mnist-1": _STAR_BEST,
        "star-mnist-2": _STAR_BEST,
        "star-mnist-3": _STAR_BEST,
        "star-fmnist-1": _STAR_BEST,
        "star-fmnist-2": _STAR_BEST,
        "grid-mnist": _STAR_BEST,
        "timevarying-25": _best(rounds=1000, local_steps=10, batch=50, mean_rate=2e-2),
        "timevarying-100": _best(rounds=1000, local_steps=20, batch=25, mean_rate=2e-2),
    }
)

ONCE: Values = MappingProxyType({"prior": "fixed", "prior_std": 0.1, "divergence": 1.0})
"""What ``once`` changes of ``best``."""


def recipe_values(row: str, name: str) -> dict[str, Any]:
    """All numbers of a recipe that differ from a :class:`~empirical.nets.recipe.Recipe`'s own.

    Examples
    --------
    >>> recipe_values("star-mnist-1", "paper")["local_steps"]
    155
    """
    if name == "paper":
        return dict(PAPER[row])
    return {**BEST[row], **(ONCE if name == "once" else {})}


def batchwise(values: Values, batches: int) -> dict[str, Any]:
    """As many steps with a consensus after every few, the rate falling as it did over all.

    `batches` divides the local steps of a round.

    Examples
    --------
    >>> batchwise({"rounds": 10, "local_steps": 4, "decay": 0.81}, 2)
    {'rounds': 20, 'local_steps': 2, 'decay': 0.9}
    """
    shorter = values["local_steps"] // batches
    decay = values["decay"] ** (1 / shorter)
    return {**values, "rounds": values["rounds"] * shorter, "local_steps": batches, "decay": decay}


def quick(values: Values, *, active: int) -> dict[str, Any]:
    """A recipe for a look of seconds: a few hundred steps of `active` agents together.

    Ten rounds at least, so that a rotating star goes round once.

    Examples
    --------
    >>> quick({"rounds": 1000, "local_steps": 20}, active=11)
    {'rounds': 13, 'local_steps': 2}
    """
    local_steps = min(values["local_steps"], 10, max(1, 30 // active))
    rounds = max(10, 300 // (active * local_steps))
    return {**values, "local_steps": local_steps, "rounds": min(rounds, values["rounds"])}
