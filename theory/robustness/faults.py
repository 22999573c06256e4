"""Who is faulty and how the others pool: the honest agents' truth, and what a rule tolerates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.network import Network
from theory.network.labels import agent_numbers, called
from theory.network.structure import off_diagonal
from theory.robustness.behaviours import BEHAVIOURS, Behaviour, Colluding, StuckData
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_position, as_positive, fail

# How an agent pools what it hears ----------------------------------------------------------------


LOST = ("own", "renormalise")


@dataclass(frozen=True)
class Average(Shown):
    """Plain pooling: one liar anywhere decides for everybody."""

    def tolerates(self, heard: int) -> int | None:
        """None: the rule makes no promise."""
        return None


@dataclass(frozen=True)
class TrimmedMean(Shown):
    """Drops the f numbers farthest above one's own and the f farthest below (W-MSR).

    Parameters
    ----------
    tolerate
        f, at least 0: how many of an agent's neighbours may be faulty.
    lost
        "own" or "renormalise".

    Notes
    -----
    H. LeBlanc, H. Zhang, X. Koutsoukos, S. Sundaram, *Resilient asymptotic consensus in robust
    networks*, IEEE JSAC 31 (2013).
    """

    tolerate: int
    lost: str = "own"

    def __post_init__(self) -> None:
        as_integer("tolerate", self.tolerate, minimum=0)
        if self.lost not in LOST:
            raise fail("lost", f"one of {list(LOST)}", repr(self.lost), "choose one of them")

    def tolerates(self, heard: int) -> int | None:
        """f, whatever the number of neighbours heard."""
        return self.tolerate


@dataclass(frozen=True)
class Median(Shown):
    """The median of one's own number and all that is heard, unweighted."""

    def tolerates(self, heard: int) -> int | None:
        """As many as are fewer than half of the numbers, one's own included."""
        return heard // 2


@dataclass(frozen=True)
class Clip(Shown):
    """Moves towards each neighbour by at most `radius` (self-centred clipping).

    Parameters
    ----------
    radius
        In nats, positive.

    Notes
    -----
    Coordinate by coordinate; L. He, S. P. Karimireddy, M. Jaggi, *Byzantine-robust decentralized
    learning via ClippedGossip* (2022), clip vectors.
    """

    radius: float

    def __post_init__(self) -> None:
        as_positive("radius", self.radius)

    def tolerates(self, heard: int) -> int | None:
        """None: a liar's pull is bounded, whatever their number."""
        return None


Rule: TypeAlias = Average | TrimmedMean | Median | Clip

RULES: dict[str, type[Rule]] = {
    "average": Average,
    "trimmed-mean": TrimmedMean,
    "median": Median,
    "clip": Clip,
}


# Who is faulty and how the others pool -----------------------------------------------------------


Behaviours = Mapping[Any, Behaviour]
"""What faulty agents do, by number; until they meet their network, by name as well."""


@dataclass(frozen=True)
class Faults(Shown):
    """Who is faulty, and how honest agents protect themselves.

    Attributes
    ----------
    behaviours
        What each faulty agent does, by the agent's number or name
        (:mod:`theory.robustness.behaviours`); in the order of the agents.
    rule
        How honest agents pool (:mod:`theory.robustness.rules`); plain averaging by default.
    against
        Index or name of a hypothesis. Robust rules then act on the log-ratios against it, and
        the outcome depends on the choice; None: on every pair of hypotheses.
    pool_every
        B ≥ 1: agents observe each round, but talk in every B-th alone.
    beyond_tolerance
        Whether more agents may be faulty than the rule tolerates.

    Raises
    ------
    ValueError
        If an agent is neither a name nor a number of at least 0, a behaviour or the rule is none
        that is known, or B is out of range.

    Examples
    --------
    >>> from theory.robustness import Push, TrimmedMean
    >>> faults = Faults({4: Push("loaded", 1.0)}, TrimmedMean(1))
    >>> list(faults.behaviours), faults.pool_every
    ([4], 1)
    """

    behaviours: Behaviours
    rule: Rule = field(default_factory=Average)
    against: int | str | None = None
    pool_every: int = 1
    beyond_tolerance: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "behaviours", _by_agent(self.behaviours))
        object.__setattr__(self, "rule", as_rule(self.rule))
        object.__setattr__(self, "pool_every", as_integer("pool_every", self.pool_every, minimum=1))

    def fitted(self, network: Network, model: FiniteModel) -> Faults:
        """The same faults, known to fit a network and a model.

        Raises
        ------
        ValueError
            If network and model do not fit, an agent does not exist, nobody is honest, a behaviour
            does not fit the model, or, unless `beyond_tolerance`, an honest agent hears more
            faulty ones than the rule tolerates.
        """
        checked = checked_faults(network, model, self.behaviours)
        if not self.beyond_tolerance:
            check_tolerance(network, checked, self.rule)
        return replace(self, behaviours=checked)


def _by_agent(behaviours: object) -> dict[Any, Behaviour]:
    """A copy, in the order of the agents, if it is behaviours by agent."""
    if not isinstance(behaviours, Mapping):
        got = type(behaviours).__name__
        raise fail("faults", "behaviours by agent", got, "write {agent: behaviour, ...}")
    known: dict[Any, Behaviour] = {
        _checked_entry(agent, behaviour): behaviour for agent, behaviour in behaviours.items()
    }
    has_names = any(isinstance(agent, str) for agent in known)
    return known if has_names else dict(sorted(known.items()))


def _checked_entry(agent: int | str, behaviour: object, *, agents: int | None = None) -> int | str:
    """The agent, if it and its behaviour are of the right kind."""
    most = None if agents is None else agents - 1
    index = agent
    if not isinstance(agent, str):
        index = as_integer("faults", agent, minimum=0, maximum=most)
    known = tuple(BEHAVIOURS.values())
    if not isinstance(behaviour, known):
        raise fail(
            f"faults[{index}]",
            f"one of {sorted(kind.__name__ for kind in known)}",
            type(behaviour).__name__,
            "describe what the agent does",
        )
    return index


def checked_faults(
    network: Network, model: FiniteModel, faults: Behaviours
) -> dict[int, Behaviour]:
    """The faults in order of the agents, each fit for network and model.

    Raises
    ------
    ValueError
        If network and model do not fit, an agent does not exist, nobody is honest, or a behaviour
        does not fit the model.
    """
    check_same_agents(network, model)
    checked: dict[int, Behaviour] = {}
    for agent, behaviour in faults.items():
        entry = _checked_entry(agent, behaviour, agents=network.agents)
        (index,) = agent_numbers("faults", [entry], network)
        if isinstance(behaviour, StuckData):
            behaviour.datum(model, index)
        elif isinstance(behaviour, Colluding):
            as_position("hypothesis", behaviour.hypothesis, model.hypotheses)
        else:
            behaviour.speech(model, 1)
        if index in checked:
            got = f"{called(index, network.names)} twice, by name and by number"
            raise fail("faults", "each faulty agent once", got, "keep one of them")
        checked[index] = behaviour
    if len(checked) == network.agents:
        raise fail("faults", "at least one honest agent", "none", "leave one agent out of faults")
    return dict(sorted(checked.items()))


@typed
def honest_agents(network: Network, faults: Behaviours) -> IntArray:
    """The agents that are not faulty, in order; shape (H,)."""
    return np.setdiff1d(np.arange(network.agents), np.array(list(faults), dtype=np.int64))


@typed
def honest_reference(network: Network, model: FiniteModel, honest: IntArray) -> tuple[int, ...]:
    """What the honest agents ought to find: their Θ*, or their compromise if that is empty.

    The compromise is weighted by their share of the stationary distribution.
    """
    part = FiniteModel(model.hypotheses, model.kinds, model.assignment[honest], model.log_priors)
    v: FloatArray = network.stationary_distribution[honest]
    return part.reference_hypotheses(v / v.sum())


def as_rule(rule: object) -> Rule:
    """One of the rules, given as such or, if it takes no setting, by its name in a problem file.

    Raises
    ------
    ValueError
        If it is something else, or a rule that needs a number goes by its name alone.
    """
    if isinstance(rule, str):
        rule = {"average": Average(), "median": Median()}.get(rule, rule)
    if not isinstance(rule, tuple(RULES.values())):
        raise fail(
            "rule",
            f"one of {sorted(kind.__name__ for kind in RULES.values())}",
            repr(rule) if isinstance(rule, str) else type(rule).__name__,
            "choose a rule of theory.robustness, such as TrimmedMean(tolerate=1), or name "
            "average or median",
        )
    return rule  # type: ignore[return-value]


@typed
def check_tolerance(network: Network, faults: Behaviours, rule: Rule) -> None:
    """Check that no honest agent hears more faulty ones than the rule tolerates.

    :class:`Average` and :class:`Clip` promise nothing about a number of liars and pass.

    Raises
    ------
    ValueError
        Naming the honest agent, how many it hears, and the faulty ones among them.
    """
    links = off_diagonal(network.weights)
    faulty = np.isin(links.column, np.array(list(faults), dtype=np.int64))
    heard = np.bincount(links.row, minlength=network.agents)
    names = network.names
    for agent in np.unique(links.row[faulty]):
        if int(agent) in faults:
            continue
        liars = links.column[faulty & (links.row == agent)].tolist()
        most = rule.tolerates(int(heard[agent]))
        if most is not None and len(liars) > most:
            who = liars if names is None else [names[j] for j in liars]
            raise fail(
                "faults",
                f"at most {most} faulty among the {heard[agent]} agents that "
                f"{called(int(agent), names)} hears, which is what {rule} tolerates",
                f"{len(liars)} (agents {', '.join(map(str, who))})",
                "tolerate more, add honest neighbours, or allow what no theorem covers",
            )
