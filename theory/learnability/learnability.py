"""What no W can fix, and who matters."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from theory.learnability.departures import Departures, departures, influence_of
from theory.learnability.disputes import Disputes, disputes
from theory.learnability.rejection import Rejection, rejection
from theory.learnability.separation import Separation, separation
from theory.learnability.sufficient import FewestAgents, fewest_agents
from theory.learning import FiniteModel
from theory.network import Network
from theory.rational import RationalModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_position, fail


@dataclass(frozen=True, eq=False)
class Learnability(Shown):
    """What the agents' data can teach a network, and whose data it takes.

    Attributes
    ----------
    hypotheses
        Their names.
    separation
        Who tells apart which hypotheses: no W changes it.
    sufficient
        The fewest agents that tell apart all that all agents tell apart.
    rejection
        Who rejects which wrong hypothesis, for the target; None if there is no target.
    sufficient_for_target
        The fewest agents that reject every hypothesis that anyone rejects; None likewise.
    departures
        K and E with each agent silent or gone; None without a network or a v, or without a target.
    disputes
        Whose data speak for something else; None likewise.
    """

    hypotheses: tuple[str, ...]
    separation: Separation
    sufficient: FewestAgents
    rejection: Rejection | None
    sufficient_for_target: FewestAgents | None
    departures: Departures | None
    disputes: Disputes | None


@typed
def learnability(
    model: FiniteModel,
    network_or_influence: Network | ArrayLike | None = None,
    *,
    target: int | str | None = None,
    exact: RationalModel | None = None,
    exponents: bool = True,
    most_removed: int = 100,
) -> Learnability:
    """What no W can fix and who matters: redundant agents, fewest agents, every departure.

    Parameters
    ----------
    network_or_influence
        The network, or just v, shape (N,); left out, only what does not depend on it is said.
    target
        What the network shall settle on. Left out: the first hypothesis of Θ*, or if Θ* is empty
        the compromise at v; without either, nothing is said that needs a target.
    exact
        The same model in rationals: then who separates and rejects what is decided, and not judged
        by the tolerances of doubles.
    exponents, most_removed
        As for `departures`.

    Raises
    ------
    ValueError
        If there is no such hypothesis, or model, network and `exact` do not go together.

    Examples
    --------
    Two agents, each blind to a difference that the other one sees.

    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> fair, left, right = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]
    >>> first, second = (
    ...     FiniteAgent.from_tables(inputs=[1.0], truth=[fair], likelihood=[[fair], [a], [b]])
    ...     for a, b in ((left, fair), (fair, right))
    ... )
    >>> model = FiniteModel.from_agents(["fair", "left", "right"], [first, second])
    >>> found = learnability(model, Network([[0.9, 0.1], [0.6, 0.4]]))
    >>> found.separation.unseparable_pairs, found.sufficient.agents, found.departures.critical
    ((), (0, 1), (0, 1))
    """
    size = len(model.hypotheses)
    if target is not None:
        target = as_position("target", target, model.hypotheses)
    if exact is not None and (exact.hypotheses != model.hypotheses or exact.agents != model.agents):
        raise fail(
            "exact",
            f"the same {size} hypotheses and {model.agents} agents as the model",
            f"{len(exact.hypotheses)} hypotheses and {exact.agents} agents",
            "give the same model in rationals",
        )
    v = None
    if network_or_influence is not None:
        _, v = influence_of(model, network_or_influence)
    decided = exact or model
    compromise = () if v is None or decided.optimal_hypotheses else model.compromise(v)
    if target is None and (decided.optimal_hypotheses or compromise):
        target = (decided.optimal_hypotheses or compromise)[0]
    who = separation(decided)
    against = None if target is None else rejection(decided, target, who=who)
    if against is None or target is None:
        return Learnability(model.hypotheses, who, fewest_agents(who), None, None, None, None)
    leaving = quarrel = None
    if network_or_influence is not None and v is not None:
        leaving = departures(
            model,
            network_or_influence,
            target=target,
            reference=against.reference,
            tied=compromise if target in compromise else (),
            exponents=exponents,
            most_removed=most_removed,
        )
        quarrel = disputes(model, v, target)
    return Learnability(
        hypotheses=model.hypotheses,
        separation=who,
        sufficient=fewest_agents(who),
        rejection=against,
        sufficient_for_target=fewest_agents(against),
        departures=leaving,
        disputes=quarrel,
    )
