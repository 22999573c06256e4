"""Who is faulty and who is not: checks, the honest agents' truth, and what a rule tolerates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.network import Network
from theory.network.structure import off_diagonal
from theory.robustness.behaviours import (
    BEHAVIOURS,
    Behaviour,
    Colluding,
    StuckData,
)
from theory.robustness.rules import RULES, Average, Median, Rule
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_position, fail

Faults = Mapping[int, Behaviour]


def checked_faults(network: Network, model: FiniteModel, faults: Faults) -> dict[int, Behaviour]:
    """The faults in order of the agents, each fit for network and model.

    Raises
    ------
    ValueError
        If network and model do not fit, an agent does not exist, nobody is honest, or a behaviour
        does not fit the model.
    """
    check_same_agents(network, model)
    known = tuple(BEHAVIOURS.values())
    checked: dict[int, Behaviour] = {}
    for agent, behaviour in faults.items():
        index = as_integer("faults", agent, minimum=0, maximum=network.agents - 1)
        if not isinstance(behaviour, known):
            raise fail(
                f"faults[{index}]",
                f"one of {sorted(kind.__name__ for kind in known)}",
                type(behaviour).__name__,
                "describe what the agent does",
            )
        if isinstance(behaviour, StuckData):
            behaviour.datum(model, index)
        elif isinstance(behaviour, Colluding):
            as_position("hypothesis", behaviour.hypothesis, model.hypotheses)
        else:
            behaviour.speech(model, 1)
        checked[index] = behaviour
    if len(checked) == network.agents:
        raise fail("faults", "at least one honest agent", "none", "leave one agent out of faults")
    return dict(sorted(checked.items()))


@typed
def honest_agents(network: Network, faults: Faults) -> IntArray:
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
def check_tolerance(network: Network, faults: Faults, rule: Rule | str) -> None:
    """Check that no honest agent hears more faulty ones than the rule tolerates.

    :class:`Average` and :class:`Clip` promise nothing about a number of liars and pass.

    Raises
    ------
    ValueError
        Naming the honest agent, how many it hears, and the faulty ones among them.
    """
    rule = as_rule(rule)
    links = off_diagonal(network.weights)
    faulty = np.isin(links.column, np.array(list(faults), dtype=np.int64))
    heard = np.bincount(links.row, minlength=network.agents)
    for agent in np.unique(links.row[faulty]):
        if int(agent) in faults:
            continue
        liars = links.column[faulty & (links.row == agent)].tolist()
        most = rule.tolerates(int(heard[agent]))
        if most is not None and len(liars) > most:
            raise fail(
                "faults",
                f"at most {most} faulty among the {heard[agent]} agents that agent {agent} hears, "
                f"which is what {rule} tolerates",
                f"{len(liars)} (agents {', '.join(map(str, liars))})",
                "tolerate more, add honest neighbours, or allow what no theorem covers",
            )
