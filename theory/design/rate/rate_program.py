"""max_v min_θ of linear functions: the linear program behind the best rate.

    maximise t  subject to  Σ_j x_j G_jθ ≥ t for every θ,  x in a polytope.

Of thousands of hypotheses few bind. So rows are generated: the program starts with the hypotheses
that are rejected last at the centre, and those that its solution violates most are added until
none is. What is left out is satisfied, so that the solution is that of the whole program.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from theory.design.influences.flow_rows import LinearRows, LinearSolution, simplex
from theory.design.influences.influence_set import InfluenceSet
from theory.learning.model import FiniteModel
from theory.rational.model import RationalModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_position, fail, read_only

# Which hypothesis a design is to make the network settle on, and which are wrong then ------------


Model: TypeAlias = FiniteModel | RationalModel

_NAMED = 4


@dataclass(frozen=True, eq=False)
class RateTarget:
    """What is to win, and against what.

    Attributes
    ----------
    target
        The hypothesis that the network shall settle on.
    reference
        Θ*; if it is empty the target, and what no agent tells from it.
    wrong
        The hypotheses to be rejected, sorted; not empty.
    """

    target: int
    reference: tuple[int, ...]
    wrong: IntArray


def as_target(model: Model, target: int | str | None) -> RateTarget:
    """The target, and what is wrong if the network settles on it.

    Raises
    ------
    ValueError
        If no target is named and Θ* is empty; if the target is outside a Θ* that is not; if all
        hypotheses are optimal.
    """
    names = model.hypotheses
    optimal = model.optimal_hypotheses
    if target is None:
        if not optimal:
            raise fail(
                "target",
                "the hypothesis to settle on, as none is best for every agent",
                None,
                "name one; reachable_targets() lists those that some network settles on",
            )
        target = optimal[0]
    target = as_position("target", target, names)
    if optimal and target not in optimal:
        raise fail(
            "target",
            f"{named(names, optimal)}, on which every network settles",
            repr(names[target]),
            "leave the target out",
        )
    reference = as_good(model, target)
    wrong = np.array([m for m in range(len(names)) if m not in reference], dtype=np.int64)
    if not wrong.size:
        raise fail(
            "hypotheses",
            "one that fits worse than another for some agent",
            f"{len(names)} that fit equally well: no agent tells {names[0]!r} from {names[1]!r}",
            "no network separates them: change the hypotheses or the data",
        )
    return RateTarget(target, reference, read_only(wrong))


def rate_target(model: Model, target: int | str | None) -> RateTarget:
    """The same, checked: some agent has evidence for the target against every wrong hypothesis.

    Raises
    ------
    ValueError
        As for `as_target`; and if no agent's data favour the target over some wrong hypothesis.
    """
    aim = as_target(model, target)
    if not model.optimal_hypotheses:
        signs = evidence_signs(model, aim.target)
        _check_separated(model.hypotheses, signs, aim.target, aim.wrong)
    return aim


def as_good(model: Model, target: int) -> tuple[int, ...]:
    """What is right whenever the target is, sorted: Θ*, or else what no agent tells from it."""
    if target in model.optimal_hypotheses:
        return model.optimal_hypotheses
    alike = {m for pair in model.ambiguous_pairs if target in pair for m in pair}
    return tuple(sorted({target, *alike}))


def evidence_signs(model: Model, target: int) -> IntArray:
    """The sign of I(target, θ) of each kind that occurs, shape (K', M); decided if rational.

    In doubles, differences within their own rounding error count as none.
    """
    if isinstance(model, RationalModel):
        kinds = sorted(set(model.assignment))
        table = model.kind_divergences
        return np.array([[(d - table[k][target]).sign() for d in table[k]] for k in kinds])
    present = np.unique(model.assignment)
    return model.comparison(target).signs[present].astype(np.int64)


def wins(model: FiniteModel, aim: RateTarget, influence: FloatArray) -> bool:
    """Whether the network rejects every wrong hypothesis at this v: told by doubles for certain."""
    signs = model.weighted_comparison(influence, aim.target).signs
    return bool((signs[aim.wrong] > 0).all())


def named(names: tuple[str, ...], which: tuple[int, ...] | list[int]) -> str:
    """Some hypotheses by name, cut short."""
    shown = ", ".join(repr(names[m]) for m in which[:_NAMED])
    return f"{shown}, …" if len(which) > _NAMED else shown


def _check_separated(names: tuple[str, ...], signs: IntArray, target: int, wrong: IntArray) -> None:
    best = signs[:, wrong].max(axis=0)
    blind = [int(m) for m in wrong[best <= 0] if not signs[:, m].any()]
    if blind:
        raise fail(
            "model",
            "some agent that tells the target from every other hypothesis",
            f"no agent tells {names[target]!r} from {names[blind[0]]!r}",
            "the rate is 0 for every network: drop one of the two, or add an agent that sees the "
            "difference",
        )
    better = [int(m) for m in wrong[best <= 0]]
    if better:
        raise fail(
            "target",
            "a hypothesis that some agent's data favour over every other",
            f"{names[target]!r}, which {named(names, better)} fits at least as well everywhere",
            f"no network settles on it: choose {names[better[0]]!r}, say",
        )


# Agents that may be exchanged, and what a design sees of them ------------------------------------


@dataclass(frozen=True, eq=False)
class Groups:
    """Agents that may be exchanged: those with equal rows of I, if v is from a simplex.

    Attributes
    ----------
    membership
        Shape (N,): the group of each agent.
    kinds
        Shape (G,): a kind of agent in each group.
    counts
        Shape (G,).
    payoffs
        Shape (G, M'): I against every wrong hypothesis.
    rows
        The polytope of the groups' shares (and of flows), shares first.
    centre
        Shares far from its boundary, shape (G,).
    """

    membership: IntArray
    kinds: IntArray
    counts: FloatArray
    payoffs: FloatArray
    rows: LinearRows
    centre: FloatArray

    def program(self) -> LeastProgram:
        """The program of the largest least payoff over the groups' shares."""
        return LeastProgram(self.rows, self.payoffs, start=self.centre)


def influences_for(model: Model, influences: InfluenceSet | None) -> InfluenceSet:
    """The influences given, or all above 1/(10N).

    Raises
    ------
    ValueError
        If model and influences have different numbers of agents.
    """
    allowed = InfluenceSet(model.agents) if influences is None else influences
    if allowed.agents != model.agents:
        raise fail(
            "influences",
            f"as many agents as the model, {model.agents}",
            allowed.agents,
            "build them for the model's agents",
        )
    return allowed


def group_agents(allowed: InfluenceSet, model: FiniteModel, aim: RateTarget) -> Groups:
    """Agents with equal rows of I in one group; each by itself if rows of W are fixed."""
    information = model.comparison(aim.target).values[:, aim.wrong]
    keys = [row.tobytes() for row in information]
    return group_rows(allowed, model.assignment, information, keys)


def group_rows(
    allowed: InfluenceSet, assignment: IntArray, information: FloatArray, keys: Sequence[Hashable]
) -> Groups:
    """The same from the rows of I of each kind, shape (K, M'); equal keys tell equal rows."""
    agents = assignment.size
    if not allowed.is_simple:
        return Groups(
            membership=np.arange(agents),
            kinds=assignment,
            counts=np.ones(agents),
            payoffs=information[assignment],
            rows=allowed.rows,
            centre=allowed.centre,
        )
    # Of kinds with equal keys the first stands for all.
    present, which = np.unique(assignment, return_inverse=True)
    first: dict[Hashable, int] = {}
    leader = [first.setdefault(keys[kind], kind) for kind in present.tolist()]
    kinds, group = np.unique(leader, return_inverse=True)
    membership = group[which]
    counts = np.bincount(membership).astype(np.float64)
    return Groups(
        membership=membership,
        kinds=kinds,
        counts=counts,
        payoffs=information[kinds],
        rows=simplex(counts * allowed.lowest),
        centre=counts / agents,
    )


# max_v min_θ of linear functions -----------------------------------------------------------------


# Rows added at a time: few make many rounds, many make large programs; between 25 and 500 the time
# at 500 agents and 5000 hypotheses varies by a fifth (docs: benchmarks).
_FEWEST_ROWS = 16


@dataclass(frozen=True, eq=False)
class RateSolution:
    """A basic optimal solution.

    Attributes
    ----------
    point
        Shape (V,): the variables of the polytope; the first are those that G weighs.
    multipliers
        λ, shape (M,), at least 0, sums to one.
    value
        t, in floating point.
    solution
        As HiGHS has it, with its basis: t is the last variable; first come the polytope's rows,
        and then those of hypotheses, as they came into the program.
    generated
        All hypotheses that were in the program.
    row_multipliers
        Of the polytope's rows, in the same order, in the units of G.
    """

    point: FloatArray
    multipliers: FloatArray
    value: float
    solution: LinearSolution
    generated: IntArray
    row_multipliers: FloatArray


class LeastProgram:
    """Maximise min_θ Σ_j x_j G_jθ over a polytope that is not empty; may be asked for several.

    Parameters
    ----------
    payoffs
        G, shape (J, M): the first J variables are weighed.
    start
        Shape (J,): where the first hypotheses are chosen.
    """

    def __init__(self, rows: LinearRows, payoffs: FloatArray, *, start: FloatArray) -> None:
        self.rows, self.payoffs = rows, payoffs
        weighed, hypotheses = payoffs.shape
        # HiGHS's tolerances are absolute: each row is scaled to entries of at most one, and t is
        # measured in the size of the smallest row, which no min_θ exceeds.
        sizes = np.abs(payoffs).max(axis=0, initial=0.0)
        unit = float(sizes[sizes > 0].min(initial=np.inf))
        self.unit = unit if np.isfinite(unit) else 1.0
        self.sizes = np.where(sizes == 0, self.unit, sizes)
        objective = np.zeros(rows.variables + 1)
        objective[-1] = 1.0
        self.program = rows.program(objective)
        self.step = max(_FEWEST_ROWS, weighed // 2)
        self.generated: list[int] = []
        self.missing = np.ones(hypotheses, dtype=bool)
        self.add(_smallest(start @ payoffs, np.arange(hypotheses), self.step))

    def solve(self, lower: FloatArray | None = None) -> RateSolution:
        """The optimum above `lower`, shape (V,), in place of the polytope's own lower bounds.

        Raises
        ------
        DesignFailed
            If HiGHS fails.
        """
        weighed = len(self.payoffs)
        if lower is not None:
            self.program.bound(lower)
        least = self.rows.lower if lower is None else lower
        # Rounding of a sum of J products, with a margin: rows that are violated by less are met.
        slack = 4 * (weighed + 2) * np.finfo(float).eps * self.sizes
        while True:
            found = self.program.solve()
            assert found is not None  # the polytope is not empty, and t is free
            x = np.maximum(found.x[:-1], least)
            values = x[:weighed] @ self.payoffs
            short = values < values[self.generated].min() - slack
            violated = np.flatnonzero(self.missing & short)
            if not violated.size:
                return self._solution(found, x, values)
            self.add(_smallest(values, violated, self.step))

    def add(self, new: IntArray) -> None:
        """Take more hypotheses into the program."""
        wide = np.zeros((new.size, self.rows.variables + 1))
        wide[:, : len(self.payoffs)] = (self.payoffs[:, new] / self.sizes[new]).T
        wide[:, -1] = -self.unit / self.sizes[new]
        self.program.add(wide, 0.0, np.inf)
        self.generated += new.tolist()
        self.missing[new] = False

    def _solution(self, found: LinearSolution, x: FloatArray, values: FloatArray) -> RateSolution:
        multipliers = np.zeros(values.size)
        generated, fixed = np.array(self.generated), self.rows.count
        # Rows that are at least their lower side have multipliers of at most 0.
        multipliers[generated] = np.maximum(-found.multipliers[fixed:], 0.0)
        multipliers[generated] *= self.unit / self.sizes[generated]
        total = float(multipliers.sum())
        return RateSolution(
            point=x,
            multipliers=multipliers / total if total > 0 else multipliers,
            value=float(values.min()),
            solution=found,
            generated=np.sort(generated),
            row_multipliers=self.unit * found.multipliers[:fixed],
        )


def _smallest(values: FloatArray, among: IntArray, count: int) -> IntArray:
    """The indices of the smallest values among some."""
    if among.size <= count:
        return among
    return np.sort(among[np.argpartition(values[among], count)[:count]])


# Which hypotheses a network can be made to settle on, by choice of v -----------------------------


@dataclass(frozen=True, eq=False)
class ReachableTargets(Shown):
    """The best rate of each hypothesis as the target.

    Attributes
    ----------
    rates
        Shape (M,), in floating point: max_v min_θ Σ_j v_j I_j(m, θ) over the other hypotheses.
        Where it is not above zero, no allowed v makes m win by itself; −inf where some θ fits no
        agent worse than m does, so that the number need not be known. If Θ* is not empty, its
        members have one rate, and all others −inf.
    reachable
        The hypotheses of positive rate, the largest first.
    """

    rates: FloatArray
    reachable: tuple[int, ...]


@typed
def reachable_targets(
    model: FiniteModel, influences: InfluenceSet | None = None
) -> ReachableTargets:
    """Which hypotheses some allowed v makes the network settle on, and how fast at best.

    One linear program for each hypothesis that some agent favours over every other.

    Raises
    ------
    ValueError
        If model and influences have different numbers of agents.

    Examples
    --------
    Two agents disagree; a compromise between their hypotheses pleases both somewhat, a fourth
    hypothesis neither:

    >>> from theory import GaussianAgent
    >>> means = [[-1.0], [1.0], [0.0], [5.0]]
    >>> agents = [GaussianAgent([1.0], [truth], 1.0, means, 1.0) for truth in (-1.0, 1.0)]
    >>> model = FiniteModel.from_agents(["left", "right", "middle", "far"], agents)
    >>> found = reachable_targets(model, InfluenceSet(2, 0))
    >>> sorted(found.reachable), found.rates.round(9).tolist()
    ([0, 1, 2], [0.5, 0.5, 0.5, -inf])
    """
    allowed = influences_for(model, influences)
    count = len(model.hypotheses)
    rates, won = np.full(count, -np.inf), np.zeros(count, dtype=bool)
    optimal = model.optimal_hypotheses
    for m in optimal[:1] if optimal else range(count):
        reference = as_good(model, m)
        wrong = np.array([t for t in range(count) if t not in reference], dtype=np.int64)
        if not optimal and evidence_signs(model, m)[:, wrong].max(axis=0).min() <= 0:
            continue
        if wrong.size:
            aim = RateTarget(m, reference, wrong)
            groups = group_agents(allowed, model, aim)
            found = groups.program().solve()
            rates[list(reference)] = found.value
            shares = found.point[: groups.counts.size] / groups.counts
            won[list(reference)] = bool(optimal) or wins(model, aim, shares[groups.membership])
        else:
            rates[list(reference)], won[list(reference)] = np.inf, True
    order = np.argsort(-rates, kind="stable")
    reachable = tuple(int(m) for m in order if won[m] and rates[m] > 0)
    return ReachableTargets(read_only(rates), reachable)
