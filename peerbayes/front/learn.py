"""`pb.learn`: the algorithm on observations of one's own, in place of drawn ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from peerbayes.documents import Numbers, Rounds
from peerbayes.front.problems import as_problem
from peerbayes.kinds.shared.analyse import PROBLEM
from peerbayes.problem.problems import ChangingProblem, FaultyProblem, Problem
from peerbayes.quantities.quantity import Quantity, Table
from peerbayes.quantities.showing import Result
from theory.frames import frame, long_columns
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from peerbayes.live.evidence import Claims
    from peerbayes.problem.problems import AnyProblem, FiniteProblem


# What `pb.learn` comes to ------------------------------------------------------------------------


LEARNED = Table(
    "LearnedDocument",
    "What each agent settles on, its beliefs, and log-ratios of all rounds.",
    (
        PROBLEM,
        Quantity("rounds", Rounds, get=lambda found: len(found.log_ratios)),
        Quantity("hypotheses", list[str], get=attrgetter("problem.model.hypotheses")),
        Quantity("agents", list[str]),
        Quantity("reference", str, get=lambda f: f.problem.model.hypotheses[f.reference]),
        Quantity("settles_on", list[str], "after the last round, agent by agent"),
        Quantity("beliefs", list[Numbers], "of each agent in the end", lambda f: f.beliefs[-1]),
        Quantity("log_ratios", list[list[Numbers]], "round by round, agent by agent"),
    ),
)


@dataclass(frozen=True, eq=False)
class Learned(Result):
    """Beliefs of N agents after each of T rounds, from observations that were given.

    Attributes
    ----------
    problem
        What was observed.
    reference
        The hypothesis that log-ratios are taken against: the first that theory says the network
        settles on, if the problem's truth is the truth.
    log_ratios
        Shape (T, N, M), in nats: log of the private belief in `reference` over that in each
        hypothesis. Rows of faulty agents that do not learn stay those of the priors.
    """

    problem: FiniteProblem
    reference: int
    log_ratios: FloatArray

    quantities = LEARNED

    def _title(self) -> str:
        rounds, agents, _ = self.log_ratios.shape
        return f"Learned of {self.problem.name!r}, {rounds} rounds, {agents} agents"

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "hypotheses", self.problem.model.hypotheses
        yield "settles on", dict(zip(self.agents, self.settles_on, strict=True))
        strongest = self.beliefs[-1].max(axis=1)
        yield "belief in it", dict(zip(self.agents, strongest.tolist(), strict=True))

    @property
    def agents(self) -> tuple[str, ...]:
        """What the agents are called; their numbers, if they have no names."""
        network = self.problem.network
        return network.names or tuple(str(i) for i in range(network.agents))

    @cached_property
    def beliefs(self) -> FloatArray:
        """Private beliefs after each round, shape (T, N, M)."""
        return read_only(np.exp(self.log_beliefs))

    @cached_property
    def log_beliefs(self) -> FloatArray:
        """Their logarithms, which do not underflow, shape (T, N, M), in nats."""
        from exact.beliefs import normalise

        return read_only(normalise(-self.log_ratios))

    @cached_property
    def estimates(self) -> IntArray:
        """Index of each agent's most believed hypothesis after each round, shape (T, N).

        The first one listed at a tie.
        """
        return read_only(self.log_ratios.argmin(axis=-1))

    @property
    def settles_on(self) -> tuple[str, ...]:
        """The hypothesis that each agent believes most after the last round, by name."""
        hypotheses = self.problem.model.hypotheses
        return tuple(hypotheses[m] for m in self.estimates[-1].tolist())

    def to_frame(self) -> pd.DataFrame:
        """A table of pandas: a row for each round, agent and hypothesis.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        axes = {
            "round": range(1, len(self.log_ratios) + 1),
            "agent": self.agents,
            "hypothesis": self.problem.model.hypotheses,
        }
        return frame(long_columns(axes, belief=self.beliefs, log_ratio=self.log_ratios))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Log belief ratios over the rounds, averaged over agents.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.curves import measured_plot
        from peerbayes.measured import MeasuredDocument

        hypotheses = self.problem.model.hypotheses
        mean = self.log_ratios.mean(axis=1)
        trajectory = MeasuredDocument(
            rounds=list(range(1, len(mean) + 1)),
            hypotheses=list(hypotheses),
            network_mean=mean.tolist(),
            network_standard_error=np.zeros_like(mean).tolist(),
            errors=[0] * len(mean),
        )
        reference = hypotheses[self.reference]
        return on_axes(lambda axes: measured_plot(trajectory, reference=reference, axes=axes), ax)


# `pb.learn` --------------------------------------------------------------------------------------


Missing = Literal["refuse", "skip"]


def learn(
    problem: AnyProblem | str | Path,
    observations: ArrayLike | Any,
    *,
    missing: Missing = "refuse",
    seed: int = 0,
) -> Learned:
    """What every agent comes to believe, round by round, from observations that are given.

    Agents pool as the problem says: on a network that stays or changes, among liars, or by
    quantised messages. What is random about that is drawn with the seed.

    Parameters
    ----------
    problem
        One with finitely many hypotheses, or the name or the file of one. Its truth does not count.
    observations
        Shape (rounds, agents), or (rounds, agents, B) for B observations an agent and round; or
        lists of lists, in which agents may have different numbers of them. An observation is the
        number of an outcome, from 0 in the order of the tables, or its name, or with normal
        likelihoods the label; with several inputs ``[x, y]``; or ``{"log_likelihood": [...]}``, one
        number a hypothesis, in nats.
    missing
        None and NaN are no observation: ``"refuse"`` them, or ``"skip"`` them, so that the agent
        learns from its neighbours alone.
    seed
        Of a network that changes, lies and messages; at least 0.

    Raises
    ------
    ValueError
        If the problem is a regression, the shape does not fit, or something is no observation of
        its agent; the message says of which agent and round.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> from peerbayes.front.problems import problem_of
    >>> coin = FiniteAgent.from_tables(truth=[[.5, .5]], likelihood=[[[.5, .5]], [[.75, .25]]])
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> coins = problem_of(Network([[.9, .1], [.6, .4]]), model)
    >>> learned = learn(coins, [[0, 1], [0, 0], [1, 0]])
    >>> learned.settles_on, learned.beliefs.shape
    (('loaded', 'loaded'), (3, 2, 2))
    """
    from exact.results import Run
    from exact.simulation import learn_given
    from peerbayes.kinds.registry import kind_of

    found = as_problem(problem)
    if not isinstance(found, Problem | ChangingProblem | FaultyProblem):
        wanted, remedy = "a problem with finitely many hypotheses", "use exact.learn_regression"
        raise fail("problem", wanted, type(found).__name__, remedy)
    if missing not in ("refuse", "skip"):
        raise fail("missing", "refuse or skip", repr(missing), "name one of them")
    rows = _log_likelihoods(found, observations, missing)
    seed = as_integer("seed", seed, minimum=0)
    run = Run(rounds=len(rows), replicates=1, seed=seed)
    task = kind_of(found).simulation(found, run)
    return Learned(found, task.reference[0], learn_given(task, rows))


def _log_likelihoods(problem: FiniteProblem, observations: Any, missing: Missing) -> FloatArray:
    """Log-likelihoods of observations, shape (T, N, M), in nats; zeros where there are none."""
    from peerbayes.live.evidence import Claims
    from peerbayes.live.preparing import claims_of

    model = problem.model
    claims = [Claims(one, hypotheses=len(model.hypotheses)) for one in claims_of(problem)]
    names = problem.network.names or [str(i) for i in range(model.agents)]
    table = _as_rounds(observations, agents=model.agents)
    rows = np.zeros((len(table), model.agents, len(model.hypotheses)))
    known: list[dict[str, FloatArray]] = [{} for _ in claims]
    for t, entries in enumerate(table):
        for i, entry in enumerate(entries):
            kind = model.assignment[i]
            for one in _single(entry, claims[kind]):
                if one is None or one != one:
                    if missing == "refuse":
                        remedy = 'leave missing ones out, or say missing="skip"'
                        place = f"none in round {t + 1} of agent {names[i]}"
                        raise fail("observations", "an observation", place, remedy)
                    continue
                rows[t, i] += _row(one, claims[kind], known[kind], f"{names[i]} in round {t + 1}")
    return rows


def _as_rounds(observations: Any, *, agents: int) -> list[list[Any]]:
    """Observations as lists of one entry for each agent, of each round."""
    listed = getattr(observations, "to_numpy", lambda: observations)()  # of a table of pandas
    listed = listed.tolist() if isinstance(listed, np.ndarray) else listed
    wanted = f"rounds of one entry for each of {agents} agents"
    remedy = "give an array of shape (rounds, agents), or (rounds, agents, observations)"
    if not isinstance(listed, list | tuple) or not listed:
        raise fail("observations", wanted, type(observations).__name__, remedy)
    rounds = [row.tolist() if isinstance(row, np.ndarray) else row for row in listed]
    for t, row in enumerate(rounds):
        if not isinstance(row, list | tuple) or len(row) != agents:
            got = f"{len(row)} of them" if isinstance(row, list | tuple) else repr(row)
            raise fail("observations", wanted, f"{got} in round {t + 1}", remedy)
    return [list(row) for row in rounds]


def _single(entry: Any, claims: Claims) -> list[Any]:
    """An agent's observations of one round, one by one."""
    entry = entry.tolist() if isinstance(entry, np.ndarray) else entry
    if not isinstance(entry, list | tuple):
        return [entry]
    pair = claims.inputs > 1 and len(entry) == 2
    if pair and not any(isinstance(part, list | tuple | Mapping) for part in entry):
        return [list(entry)]
    return [list(one) if isinstance(one, tuple | np.ndarray) else one for one in entry]


def _row(one: Any, claims: Claims, known: dict[str, FloatArray], where: str) -> FloatArray:
    """Log-likelihoods of one observation, shape (M,), read once of those that come again."""
    from peerbayes.live.evidence import UnreadableError

    key = repr(one)  # by which True is not 1
    if key not in known:
        try:
            known[key] = claims.of_value(one)
        except UnreadableError as error:
            remedy = "outcomes count from 0, in the order of the tables, or go by their names"
            if claims.form == "normal":
                remedy = "give the measured value as a number, such as float(cell)"
            wanted = f"an observation of agent {where}"
            raise fail("observations", wanted, str(error), remedy) from None
    return known[key]
