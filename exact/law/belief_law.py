"""The exact law of all agents' beliefs after some rounds (docs: mathematics/laws)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from exact.law.law_problem import Model, Weights, problem
from exact.law.terms import BoolArray, prepare
from theory.numbers import Enclosure
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, fail, read_only

LIMIT = 2_000_000
"""States that are followed unless another limit is given: some 100 MB, some seconds."""


@dataclass(frozen=True, eq=False)
class JointErrors(Shown):
    """Which agents are wrong together, and how often.

    Attributes
    ----------
    agents
        The agents, length A.
    patterns
        Shape (Q, A): whether each agent is wrong; the patterns that occur, each once.
    probabilities
        Shape (Q,): they sum to one.
    fractions
        The same as fractions; None unless asked for.
    """

    agents: tuple[int, ...]
    patterns: BoolArray
    probabilities: FloatArray
    fractions: tuple[Fraction, ...] | None


@dataclass(frozen=True, eq=False)
class BeliefLaw(Shown):
    """The joint law of A agents' log-ratios against C hypotheses, on S states.

    Attributes
    ----------
    rounds
        n.
    agents
        The agents, length A.
    best
        Log-ratios are Λ_i(best, θ) = log ρ_i(best)/ρ_i(θ).
    hypotheses
        The θ of the columns, length C.
    log_ratios
        Shape (S, A, C), in nats: within `displacement` of the true ones, and some roundings.
    probabilities
        Shape (S,), to rounding; they sum to one.
    wrong
        Shape (S, A): whether the agent's arg max is wrong, ties included; where log-ratios are
        displaced, log-ratios as near to a tie as that count as ties.
    surely_wrong
        Shape (S, A): the same, less all states that rounding may have made wrong.
    displacement
        In nats. 0.0: states are merged exactly and ties are decided.
    rounding
        A bound on the relative rounding of any of the probabilities.
    fractions
        The probabilities as fractions; None unless asked for.
    """

    rounds: int
    agents: tuple[int, ...]
    best: int
    hypotheses: tuple[int, ...]
    log_ratios: FloatArray
    probabilities: FloatArray
    wrong: BoolArray
    surely_wrong: BoolArray
    displacement: float
    rounding: float
    fractions: tuple[Fraction, ...] | None

    @property
    def states(self) -> int:
        """S, the number of different states."""
        return int(self.probabilities.size)

    @cached_property
    def log_ratio_mean(self) -> FloatArray:
        """E Λ, shape (A, C), in nats."""
        return read_only(np.tensordot(self.probabilities, self.log_ratios, axes=1))

    @cached_property
    def log_ratio_covariance(self) -> FloatArray:
        """Cov(Λ_i(best, θ), Λ_j(best, θ')), shape (A, C, A, C), in nats²."""
        shape = self.log_ratios.shape[1:]
        centred = (self.log_ratios - self.log_ratio_mean).reshape(self.states, -1)
        return read_only(((self.probabilities * centred.T) @ centred).reshape(shape + shape))

    @cached_property
    def log_ratio_variance(self) -> FloatArray:
        """Var Λ, shape (A, C), in nats²."""
        centred = self.log_ratios - self.log_ratio_mean
        return read_only(np.tensordot(self.probabilities, centred * centred, axes=1))

    def beliefs(self) -> FloatArray:
        """Beliefs in `best` and then `hypotheses`, given that it is one: shape (S, A, 1 + C)."""
        logs = np.concatenate([np.zeros((*self.log_ratios.shape[:2], 1)), -self.log_ratios], axis=2)
        logs -= logs.max(axis=2, keepdims=True)
        values = np.exp(logs)
        return np.asarray(values / values.sum(axis=2, keepdims=True))

    def error_probability(self, agent: int | None = None) -> float:
        """P(the arg max of `agent`, by default of some of `agents`, is wrong), ties included.

        To rounding if nothing was displaced; otherwise the upper end of `error_enclosure`.
        """
        return min(1.0, float(self.probabilities[self._event(self.wrong, agent)].sum()))

    def error_fraction(self, agent: int | None = None) -> Fraction:
        """The same as a fraction.

        Raises
        ------
        ValueError
            If the law was computed in doubles.
        """
        if self.fractions is None:
            raise fail("exact", "a law in fractions", "doubles", "ask for it: exact=True")
        event = self._event(self.wrong, agent)
        return sum((self.fractions[s] for s in np.flatnonzero(event)), Fraction(0))

    def error_enclosure(self, agent: int | None = None) -> Enclosure:
        """An interval around the true probability, whatever displacement and rounding have done.

        Its ends are the probabilities that the agent errs by more than the displacement, and that
        it errs or is as near to it, moved by a bound on rounding.
        """
        lower = float(self.probabilities[self._event(self.surely_wrong, agent)].sum())
        upper = self.error_probability(agent)
        # The final sum is of positive numbers, too; what underflows is below 1e-300 in all.
        slack = self.rounding + (self.states + 2) * 2.0**-53
        return Enclosure(lower * (1 - slack), min(1.0, upper * (1 + slack) + 1e-300))

    def joint_errors(self) -> JointErrors:
        """The law of who is wrong together with whom."""
        patterns, inverse = np.unique(self.wrong, axis=0, return_inverse=True)
        sums = np.bincount(inverse.ravel(), weights=self.probabilities, minlength=len(patterns))
        fractions: tuple[Fraction, ...] | None = None
        if self.fractions is not None:
            totals = [Fraction(0)] * len(patterns)
            for index, value in zip(inverse.ravel().tolist(), self.fractions, strict=True):
                totals[index] += value
            fractions = tuple(totals)
        shares = read_only(np.minimum(sums, 1.0))
        return JointErrors(self.agents, read_only(patterns), shares, fractions)

    def _event(self, table: BoolArray, agent: int | None) -> BoolArray:
        if agent is None:
            return np.asarray(table.any(axis=1))
        if agent not in self.agents:
            raise fail("agent", f"one of {list(self.agents)}", agent, "ask for a law with it")
        return np.asarray(table[:, self.agents.index(agent)])


@typed
def belief_law(
    network: Weights,
    model: Model,
    rounds: int,
    *,
    agents: Sequence[int] | None = None,
    hypotheses: Sequence[int] | None = None,
    exact: bool = False,
    reference: Sequence[int] | None = None,
    merge_within: float = 1e-9,
    limit: int = LIMIT,
) -> BeliefLaw:
    """The joint law of the agents' log-ratios after `rounds` rounds, by enumeration.

    Histories that lead to the same log-ratios are merged as they arise. With a `RationalModel` two
    log-ratios are known to be equal or different, and ties are decided; with a `FiniteModel` every
    observation's share of every log-ratio is rounded to a grid, and `error_enclosure` says what
    that may have done.

    Parameters
    ----------
    network
        N agents: a `Network`, a `RationalNetwork`, or the weights of each round (the first round's
        first), as matrices whose rows sum to one; they may differ from round to round, and need
        not be connected.
    model
        N agents with finitely many outcomes.
    rounds
        n ≥ 1.
    agents
        Those whose log-ratios are followed together; all if left out. Fewer agents have fewer
        different states.
    hypotheses
        The wrong hypotheses that are looked at; all if left out.
    exact
        Whether the probabilities are wanted as fractions too; for a `RationalModel` alone.
    reference
        The hypotheses that are no error; by default Θ*, or the network's compromise if Θ* is empty.
    merge_within
        For a `FiniteModel`: how far, in nats, rounding may move a log-ratio in all. The coarser,
        the fewer states.
    limit
        The largest number of states to follow.

    Returns
    -------
    BeliefLaw
        Exact up to the rounding of doubles, with a `RationalModel`.

    Raises
    ------
    ValueError
        If an agent has infinitely many outcomes, numbers disagree or are out of range, fractions
        are asked of a model of doubles, or there are too many states.

    Examples
    --------
    Two agents average all they hear of a fair coin that might be loaded (3/4 heads). After two
    rounds both are wrong if at least three of four tosses showed heads.

    >>> from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    ... )
    >>> model = RationalModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> pair = RationalNetwork([["1/2", "1/2"], ["1/2", "1/2"]])
    >>> law = belief_law(pair, model, 2, exact=True)
    >>> law.states, law.error_fraction()
    (5, Fraction(5, 16))
    """
    rounds = as_integer("rounds", rounds, minimum=1)
    found = problem(network, model, agents=agents, hypotheses=hypotheses, reference=reference)
    if found.network is None and len(found.sequence) < rounds:
        raise fail(
            "rounds",
            f"at most {len(found.sequence)}, the rounds that weights are given for",
            rounds,
            "give more",
        )
    enumeration = prepare(found, rounds, exact=exact, merge_within=merge_within, limit=limit)
    state = deque(enumeration.states(), maxlen=1)[0]
    masses, decoder = state.masses, enumeration.decoder
    verdict = decoder.verdict(masses.keys, state.zero)
    fractions: tuple[Fraction, ...] | None = None
    if exact:
        fractions = tuple(Fraction(int(w), masses.denominator) for w in masses.weights)
        probabilities = np.array([float(p) for p in fractions])
    else:
        probabilities = masses.weights.astype(np.float64)
    return BeliefLaw(
        rounds=rounds,
        agents=found.agents,
        best=found.reference.best,
        hypotheses=found.reference.columns,
        log_ratios=read_only(decoder.log_ratios(masses.keys, state.zero)),
        probabilities=read_only(np.minimum(probabilities, 1.0)),
        wrong=read_only(verdict.wrong),
        surely_wrong=read_only(verdict.surely),
        displacement=enumeration.terms.displacement,
        rounding=enumeration.rounding(rounds),
        fractions=fractions,
    )


@typed
def pair_law(
    network: Weights,
    model: Model,
    rounds: int,
    *,
    agent: int,
    hypothesis: int,
    exact: bool = False,
    reference: Sequence[int] | None = None,
    merge_within: float = 1e-9,
    limit: int = LIMIT,
) -> BeliefLaw:
    """The law of one agent's log-ratio against one wrong hypothesis.

    A single number has far fewer different values than a vector: where `belief_law` ends after
    tens of rounds this goes on for hundreds, the more so the coarser `merge_within`.

    Raises
    ------
    ValueError
        As `belief_law`, or if the hypothesis is no wrong one.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> pair = Network([[0.9, 0.1], [0.6, 0.4]])
    >>> law = pair_law(pair, model, 30, agent=0, hypothesis=1, merge_within=1e-2)
    >>> found = law.error_enclosure()
    >>> round(found.lower, 9), round(found.upper, 9)
    (0.049413117, 0.049413117)
    """
    return belief_law(
        network,
        model,
        rounds,
        agents=[agent],
        hypotheses=[hypothesis],
        exact=exact,
        reference=reference,
        merge_within=merge_within,
        limit=limit,
    )
