"""Which agent should hold which data: one front door to all methods (docs: mathematics/placement).

``milp``
    K, by mixed-integer programming over counts, with a bound by sorting that needs no solver.
``exhaustive``
    Every class of placements, as with nine agents: K, E, or certified numbers of rounds.
``local``
    Exchanges of pairs from several starts; K and E come with an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from theory.design.placement.bounds import RateBound
from theory.design.placement.local import TIE, Answer, Rates, Settings
from theory.design.placement.methods import Rounds, best_exponent, best_rate, fewest_rounds
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.placement.placement_tilts import Exponents
from theory.design.search import Certificate, Sense, why_stopped
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_positive, as_probability, fail

# A placement -------------------------------------------------------------------------------------


Objective = Literal["rate", "exponent", "samples"]
Method = Literal["auto", "milp", "exhaustive", "local"]
OBJECTIVES: tuple[Objective, ...] = ("rate", "exponent", "samples")
METHODS: tuple[Method, ...] = ("auto", "milp", "exhaustive", "local")


@dataclass(frozen=True, eq=False)
class Placement(Shown):
    """Who should hold which data set.

    Attributes
    ----------
    objective
        ``"rate"`` (K, maximised), ``"exponent"`` (E, maximised) or ``"samples"`` (rounds that are
        enough for δ, minimised).
    model
        The model with the data sets placed: the same kinds, assigned anew.
    assignment
        Shape (N,): the data set at each agent, named by the agent that held it before.
    target
        The hypothesis that the network shall settle on.
    value
        K or E in nats per round, in floating point, E infinite where errors become impossible;
        or a number of rounds that is proved to be enough, infinite if none is known.
    certificate
        The value beside a bound on that of every placement; None if the value is not finite.
    original
        The value of the placement as it was; not above zero if the network then settled on another
        hypothesis, for the rate.
    worst, worst_assignment
        The value of the worst placement, and it; None where finding it takes long.
    binding
        The wrong hypotheses that are rejected last (for the rate), or likeliest to win.
    method
        ``"exhaustive"``, ``"milp"``, ``"local"``, or ``"none"`` if all placements are alike.
    evaluated
        The placements whose value, or a bound on it, was found; by the solver's search excluded.
    placements
        How many placements differ in who holds what; exchanging equal data sets changes nothing.
    classes
        How many of them are left if those count once that the objective cannot tell apart: agents
        of equal influence for the rate and the exponent, symmetries of W for samples. None where
        counting takes long.
    equivalent
        How many placements are in the class of this one; None as for `classes`.
    ties
        How many classes are as good, to rounding; None if not all were looked at.
    proof
        For the rate, if not all placements were tried: multipliers that bound K by sorting, with
        which anyone can check the certificate, but for the part that is the solver's word alone.
    note
        How the answer came about, in a sentence.
    """

    objective: Objective
    model: FiniteModel
    assignment: IntArray
    target: int
    value: float
    certificate: Certificate | None
    original: float
    worst: float | None
    worst_assignment: IntArray | None
    binding: tuple[int, ...]
    method: str
    evaluated: int
    placements: int
    classes: int | None
    equivalent: int | None
    ties: int | None
    proof: RateBound | None
    note: str

    @property
    def moved(self) -> tuple[int, ...]:
        """The agents that hold another data set than before."""
        return tuple(
            int(i) for i in np.flatnonzero(self.assignment != np.arange(self.model.agents))
        )


# Which agent should hold which data --------------------------------------------------------------


@typed
def place(
    network: Network | ArrayLike,
    model: FiniteModel,
    *,
    objective: Objective = "rate",
    delta: float = 0.05,
    method: Method = "auto",
    fixed: Iterable[int] = (),
    target: int | str | None = None,
    seed: int = 0,
    tolerance: float = 1e-6,
    seconds: float = 20.0,
    restarts: int = 4,
    progress: Callable[[int, int], None] | None = None,
) -> Placement:
    """The best placement of a model's data sets on a network's agents.

    Data set d is what agent d of `model` observes; its law and its prior move together. The value
    is exact up to rounding for the placement returned; the certificate says how much better another
    could be.

    Parameters
    ----------
    network
        The network, or the influence of each agent, shape (N,), in place of v: for networks that
        change, with which K is a sum over agents too. Numbers of rounds need a network.
    objective
        ``"rate"``, ``"exponent"`` or ``"samples"``.
    delta
        In (0, 1); for ``"samples"``.
    method
        ``"auto"``, or one of those above; ``"milp"`` is for the rate.
    fixed
        Agents that keep their data.
    target
        The hypothesis that the network shall settle on; to be given where no hypothesis is best
        for every agent. Placements that make the network prefer another are passed over.
    seed, restarts
        Of the local search: random starts besides the sensible ones.
    tolerance, seconds
        When the integer program may stop: at this relative gap, or after so long. Runs that the
        clock ends need not be reproducible; the certificate holds all the same.
    progress
        Called with (steps done, all steps).

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, an argument is out of range, no
        placement makes the network settle on the target, or nothing is to be rejected; if all
        placements are asked for and are too many.

    Examples
    --------
    One agent of three can tell the coins apart. On a path the middle is heard most:

    >>> from theory import FiniteAgent
    >>> seeing, blind = (
    ...     FiniteAgent.from_tables(
    ...         inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [claim]]
    ...     )
    ...     for claim in ([0.75, 0.25], [0.5, 0.5])
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [seeing, blind], counts=[1, 2])
    >>> path = Network.from_topology("path", agents=3)
    >>> found = place(path, model)
    >>> found.assignment.tolist(), round(found.value / found.original, 9), found.certificate.gap
    ([1, 0, 2], 1.5, 0.0)
    """
    if objective not in OBJECTIVES:
        raise fail("objective", f"one of {', '.join(OBJECTIVES)}", repr(objective), "choose one")
    if method not in METHODS:
        raise fail("method", f"one of {', '.join(METHODS)}", repr(method), "choose one")
    if method == "milp" and objective != "rate":
        raise fail(
            "method",
            f"exhaustive or local for the objective {objective}",
            "milp",
            "the integer program is for the rate, which is linear in the placement",
        )
    settings = Settings(
        method=method,
        seed=as_integer("seed", seed, minimum=0),
        restarts=as_integer("restarts", restarts, minimum=0),
        tolerance=as_positive("tolerance", tolerance),
        seconds=as_positive("seconds", seconds),
        progress=progress,
    )
    delta = as_probability("delta", delta)
    if objective == "samples" and not isinstance(network, Network):
        raise fail(
            "network",
            "a Network for the objective samples",
            "the influence of each agent",
            "give the network, or choose rate or exponent",
        )
    influence = network.stationary_distribution if isinstance(network, Network) else network
    problem = PlacementProblem(
        model, np.asarray(influence), target, tuple(fixed), joins_influence=objective != "samples"
    )
    if objective == "samples":
        assert isinstance(network, Network)
        rounds = Rounds(network, problem, delta)
        original = rounds.enclosed(problem.original)[1]
    else:
        original = float(_by_hypothesis(problem, problem.original, objective).min())
    if problem.is_trivial:
        answer = _as_it_is(problem, original, settings)
    elif objective == "rate":
        answer = best_rate(problem, settings)
    elif objective == "exponent":
        answer = best_exponent(problem, settings)
    else:
        answer = fewest_rounds(rounds, settings)
    return _placement(problem, answer, objective, original, settings.tolerance)


def _as_it_is(problem: PlacementProblem, value: float, settings: Settings) -> Answer:
    """Where there is nothing to place."""
    if problem.free.size < 2:
        why = "fewer than two agents may change their data"
    elif int((problem.stock > 0).sum()) < 2:
        why = "all data sets that may move are alike"
    else:
        why = "all agents that may change their data have the same influence"
    best_rate(problem, replace(settings, method="exhaustive"))  # is it learnt?
    return Answer(
        filling=problem.original,
        value=value,
        bound=value,
        kind="rounded",
        method="none",
        evaluated=1,
        note=f"nothing to place: {why}",
        worst=value,
        worst_filling=problem.original,
        classes=1,
        equivalent=problem.placements,
        ties=1,
    )


def _placement(
    problem: PlacementProblem,
    answer: Answer,
    objective: Objective,
    original: float,
    tolerance: float,
) -> Placement:
    filling, value = answer.filling, answer.value
    minimises = objective == "samples"
    as_good = original <= answer.value if minimises else original >= answer.value * (1 - TIE)
    if as_good and value > 0:  # no reason to move anything
        filling, value = problem.original, original
    assignment = problem.assignment(filling)
    certificate = None
    if np.isfinite(value):
        bound = (-np.inf if minimises else np.inf) if answer.bound is None else answer.bound
        proved = abs(bound - value) <= tolerance * abs(value)
        stopped = why_stopped(proved=proved, timed_out=answer.timed_out)
        sense: Sense = "minimise" if minimises else "maximise"
        certificate = Certificate(value, bound, sense, answer.kind, answer.note, stopped)
    return Placement(
        objective=objective,
        model=problem.placed(assignment),
        assignment=assignment,
        target=problem.best,
        value=value,
        certificate=certificate,
        original=original,
        worst=answer.worst,
        worst_assignment=(
            None if answer.worst_filling is None else problem.assignment(answer.worst_filling)
        ),
        binding=_binding(problem, filling, objective),
        method=answer.method,
        evaluated=answer.evaluated,
        placements=problem.placements,
        classes=answer.classes if minimises or answer.classes else problem.classes,
        equivalent=answer.equivalent if minimises else problem.equivalent(filling),
        ties=answer.ties,
        proof=answer.proof,
        note=answer.note,
    )


def _binding(problem: PlacementProblem, filling: IntArray, objective: Objective) -> tuple[int, ...]:
    """The wrong hypotheses of the smallest rate or exponent, ties to rounding included."""
    values = _by_hypothesis(problem, filling, objective)
    least = float(values.min())
    if not np.isfinite(least):
        return ()
    near = values <= least + TIE * max(abs(least), 1e-300)
    return tuple(problem.wrong[h] for h in np.flatnonzero(near))


def _by_hypothesis(
    problem: PlacementProblem, filling: IntArray, objective: Objective
) -> FloatArray:
    """The rate or the exponent of each wrong hypothesis."""
    return (Rates if objective == "rate" else Exponents)(problem).by_hypothesis(filling)
