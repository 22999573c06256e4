"""The tables ``[model]`` and ``[learning]`` of a problem file, and the model they describe.

Agents see an input x and then an observation y. *Finite* agents have finitely many y, and tables
of probabilities; *Gaussian* agents have a real y, with a mean for each hypothesis and x. *Outcomes*
are what is left of a finite agent when x and y are counted together, as data sets and problems
built in Python give them. Checked here, with the place in the file: tables fit the hypotheses and
each other, no likelihood is zero where the truth is positive, priors are positive.

``[learning]`` says how agents learn from what they observe, in problems of every kind.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from peerbayes.messages import TAG, Place, describe, input_error, nearest, problem_error, shorten
from peerbayes.problem.entries import (
    Distribution,
    Name,
    Names,
    Number,
    PositiveNumber,
    Rational,
    Row,
    Section,
    Several,
    Table,
    by_agent,
    check_distinct,
    check_length,
    check_one,
    entry,
    inside,
    key,
    tagged,
)

TruthTable = Annotated[
    Annotated[str, Tag(TAG + "name")] | Annotated[Table, Tag(TAG + "table")],
    Discriminator(lambda value: TAG + ("name" if isinstance(value, str) else "table")),
]
# Of exponentials of logarithms that were rounded.
_LOG_SUM = 1e-9
_GAUSSIAN_KEYS = ("likelihood_mean", "likelihood_std", "truth_mean", "truth_std")


COUNT = key("How many agents in a row share this entry.", 1, ge=1)
NAME = key("Which agent this is; left out of all entries: they are in the network's order.", None)


class AgentEntry(Section):
    """An entry of ``[[model.agents]]`` or ``[[regression.agents]]``."""

    if TYPE_CHECKING:
        count: int
        name: str | None
        batch: int | None


class AgentSection(AgentEntry):
    """What every kind of agent with hypotheses has in common."""

    count: int = COUNT
    name: Name | None = NAME
    inputs: Distribution | None = key("P(x), the law of the inputs; left out: one input.", None)
    prior: Distribution | None = key("Prior over the hypotheses; left out: uniform.", None)
    log_prior: Row[Number] | None = key("Its natural logarithms, in place of the prior.", None)
    batch: int | None = key("Observations a round; left out: that of [learning], or 1.", None, ge=1)

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """What the outcomes are called; empty if they go by number, or have inputs besides."""
        return (getattr(self, "outcomes", None) or ()) if len(self.input_law) == 1 else ()

    @property
    def input_law(self) -> tuple[Rational, ...]:
        """P(x), one entry for each input."""
        return self.inputs if self.inputs is not None else (Fraction(1),)

    @abstractmethod
    def check(self, hypotheses: Sequence[str]) -> None:
        """Refuse tables that do not fit the hypotheses and each other."""

    @abstractmethod
    def build(self, hypotheses: Sequence[str], *, exact: bool = False) -> Any:
        """The agent described; `exact`: of fractions, as which doubles are read too."""

    def _check_prior(self, hypotheses: Sequence[str]) -> None:
        if self.log_prior is not None:
            check_length(("log_prior",), self.log_prior, len(hypotheses), "one a hypothesis")
            if self.prior is not None:
                wanted = "at most one of prior, log_prior"
                raise problem_error((), wanted, "both", "keep one of them")
            size = math.fsum(math.exp(float(value)) for value in self.log_prior)
            if abs(size - 1) > _LOG_SUM:
                wanted = "logarithms of numbers that sum to 1"
                raise problem_error(("log_prior",), wanted, f"a sum of {size:.12g}", "mend it")
        if self.prior is None:
            return
        check_length(("prior",), self.prior, len(hypotheses), "one for each hypothesis")
        if 0 in self.prior:
            k = self.prior.index(0)
            name = describe(hypotheses[k])
            remedy = f"give {name} some prior, or strike it from the hypotheses"
            raise problem_error(("prior", k), "a prior above 0", 0, remedy)


class FiniteAgentSection(AgentSection):
    """Agents with finitely many inputs x and observations y."""

    truth: TruthTable = key("f(y|x), a row for each x; or the name of the hypothesis that is true.")
    likelihood: Row[Table] = key(
        "For each hypothesis a table of f(y|x, hypothesis), a row for each x."
    )
    outcomes: Names | None = key("What the observations y are called, in the tables' order.", None)

    def truth_table(self, hypotheses: Sequence[str]) -> tuple[tuple[Rational, ...], ...]:
        """f(y|x), a row for each x."""
        if isinstance(self.truth, str):
            return self.likelihood[hypotheses.index(self.truth)]
        return self.truth

    def check(self, hypotheses: Sequence[str]) -> None:
        wanted = "one table for each hypothesis"
        check_length(("likelihood",), self.likelihood, len(hypotheses), wanted)
        if isinstance(self.truth, str):
            _check_truth_name(self.truth, hypotheses)
        truth = self.truth_table(hypotheses)
        outcomes = len(truth[0])
        tables: dict[Place, Sequence[Sequence[Rational]]] = {
            ("likelihood", k): table for k, table in enumerate(self.likelihood)
        }
        if not isinstance(self.truth, str):
            tables = {("truth",): truth, **tables}
        for place, table in tables.items():
            check_length(place, table, len(self.input_law), "one row for each input")
            for x, row in enumerate(table):
                check_length((*place, x), row, outcomes, "as in the first row of the truth")
        for k, table in enumerate(self.likelihood):
            self._check_support(k, table, truth, name=hypotheses[k])
        _check_outcomes(self.outcomes, outcomes)
        self._check_prior(hypotheses)

    def _check_support(
        self,
        k: int,
        table: Sequence[Sequence[Rational]],
        truth: Sequence[Sequence[Rational]],
        *,
        name: str,
    ) -> None:
        """No zero where the truth is positive: one such observation would end every belief."""
        for x, (row, true_row) in enumerate(zip(table, truth, strict=True)):
            for y, (value, true_value) in enumerate(zip(row, true_row, strict=True)):
                if value == 0 and true_value > 0 and self.input_law[x] > 0:
                    wanted = f"a likelihood above 0, as the truth there is {float(true_value):g}"
                    remedy = f"give {describe(name)} a positive likelihood there"
                    raise problem_error(("likelihood", k, x, y), wanted, 0, remedy)

    def build(self, hypotheses: Sequence[str], *, exact: bool = False) -> Any:
        truth = self.truth_table(hypotheses)
        inputs, likelihood = self.input_law, self.likelihood
        tables: dict[str, Any] = {"inputs": inputs, "truth": truth, "likelihood": likelihood}
        if exact:
            from theory.rational import RationalFiniteAgent

            return RationalFiniteAgent.from_tables(**tables)
        from theory.learning import FiniteAgent

        return FiniteAgent.from_tables(**tables)


class OutcomesAgentSection(AgentSection):
    """Agents with finitely many outcomes, inputs and observations counted together."""

    probabilities: Distribution = key("Of the outcomes.")
    log_likelihoods: Row[Row[Number]] = key(
        "For each hypothesis the log-likelihood of the observation in each outcome."
    )
    entropy: Number = key("Mean entropy of the observation given the input, in nats.", 0.0)
    true_hypotheses: Several[str] = key("Hypotheses whose claims are the truth, by name.", ())
    outcomes: Names | None = key("What the outcomes are called.", None)

    def check(self, hypotheses: Sequence[str]) -> None:
        rows, outcomes = self.log_likelihoods, len(self.probabilities)
        check_length(("log_likelihoods",), rows, len(hypotheses), "a row for each hypothesis")
        for k, row in enumerate(rows):
            check_length(("log_likelihoods", k), row, outcomes, "one for each outcome")
        for name in self.true_hypotheses:
            if name not in hypotheses:
                wanted = f"hypotheses ({shorten(', '.join(hypotheses), length=100)})"
                raise problem_error(("true_hypotheses",), wanted, describe(name), "correct it")
        _check_outcomes(self.outcomes, outcomes)
        if self.inputs is not None:
            wanted = "no inputs, which are counted with the outcomes"
            raise problem_error(("inputs",), wanted, "some", "leave them out")
        self._check_prior(hypotheses)

    def build(self, hypotheses: Sequence[str], *, exact: bool = False) -> Any:
        from theory.learning import FiniteAgent

        agent = FiniteAgent(
            np.array(self.probabilities, dtype=np.float64),
            np.array(self.log_likelihoods, dtype=np.float64),
            float(self.entropy),
            tuple(hypotheses.index(name) for name in self.true_hypotheses),
        )
        if not exact:
            return agent
        from theory.rational import RationalFiniteAgent

        return RationalFiniteAgent.from_agent(agent)


class GaussianAgentSection(AgentSection):
    """Agents with finitely many inputs x, and real y with Gaussian likelihoods."""

    likelihood_mean: Row[Row[Number]] = key("For each hypothesis the means of y, one for each x.")
    likelihood_std: PositiveNumber = key("Standard deviation of y under every hypothesis.")
    truth: str | None = key("Name of the hypothesis that is true; or give truth_mean.", None)
    truth_mean: Row[Number] | None = key("The true means of y, one for each x.", None)
    truth_std: PositiveNumber | None = key(
        "True standard deviation of y; left out: likelihood_std.", None
    )

    def check(self, hypotheses: Sequence[str]) -> None:
        means, inputs = self.likelihood_mean, len(self.input_law)
        check_length(("likelihood_mean",), means, len(hypotheses), "a row for each hypothesis")
        wanted = "exactly one of truth (a hypothesis) and truth_mean"
        check_one(wanted, self.truth, self.truth_mean, neither="add one of them")
        if self.truth is not None:
            _check_truth_name(self.truth, hypotheses)
            if self.truth_std is not None:
                got = f"it beside truth = {describe(self.truth)}"
                remedy = "leave truth_std out, or give truth_mean in place of truth"
                raise problem_error((), "truth_std only beside truth_mean", got, remedy)
        if self.truth_mean is not None:
            check_length(("truth_mean",), self.truth_mean, inputs, "one for each input")
        for k, row in enumerate(means):
            check_length(("likelihood_mean", k), row, inputs, "one for each input")
        self._check_prior(hypotheses)

    def build(self, hypotheses: Sequence[str], *, exact: bool = False) -> Any:
        true_means = self.truth_mean
        if self.truth is not None:
            true_means = self.likelihood_mean[hypotheses.index(self.truth)]
        laws: dict[str, Any] = {
            "inputs": self.input_law,
            "truth_means": true_means,
            "truth_std": self.likelihood_std if self.truth_std is None else self.truth_std,
            "means": self.likelihood_mean,
            "std": self.likelihood_std,
        }
        if exact:
            from theory.rational import RationalGaussianAgent

            return RationalGaussianAgent.from_tables(**laws)
        from theory.learning import GaussianAgent

        return GaussianAgent(**laws)


def _check_outcomes(names: Sequence[str] | None, count: int) -> None:
    if names is not None:
        check_length(("outcomes",), names, count, "one for each observation")
        check_distinct(("outcomes",), names)


def _check_truth_name(truth: str, hypotheses: Sequence[str]) -> None:
    if truth not in hypotheses:
        guess = nearest(truth, hypotheses)
        raise problem_error(
            ("truth",),
            f"a hypothesis ({shorten(', '.join(hypotheses), length=100)}) or a table",
            describe(truth),
            f"did you mean {describe(guess)}?" if guess else "name a hypothesis",
        )


AGENTS: dict[str, type[AgentSection]] = {
    "finite": FiniteAgentSection,
    "gaussian": GaussianAgentSection,
    "outcomes": OutcomesAgentSection,
}
"""The kinds of agents, and their sections."""


def _kind(value: object) -> str:
    """The tag of an agent's kind, by its keys."""
    if isinstance(value, AgentSection):
        return TAG + next(name for name, kind in AGENTS.items() if type(value) is kind)
    keys = value if isinstance(value, Mapping) else ()
    if "log_likelihoods" in keys:
        return TAG + "outcomes"
    is_gaussian = "likelihood" not in keys and any(key in keys for key in _GAUSSIAN_KEYS)
    return TAG + ("gaussian" if is_gaussian else "finite")


if TYPE_CHECKING:
    AnyAgentSection = FiniteAgentSection | GaussianAgentSection | OutcomesAgentSection
else:
    AnyAgentSection = Annotated[tagged(AGENTS), Discriminator(_kind)]


class ModelSection(Section):
    """The hypotheses, and what the agents see."""

    hypotheses: Names = key("Names of the hypotheses, two or more, each once.")
    agents: Row[AnyAgentSection] = key("The agents, in the network's order.")

    @model_validator(mode="after")
    def _consistent(self) -> ModelSection:
        check_distinct(("hypotheses",), self.hypotheses)
        for k, agent in enumerate(self.agents):
            with inside("agents", k):
                agent.check(self.hypotheses)
        return self

    def build(self, *, exact: bool = False) -> Any:
        """The model described; `exact`: of fractions, as which doubles are read too."""
        agents: list[Any] = []
        for k, agent in enumerate(self.agents):
            with entry(k):
                agents.append(agent.build(self.hypotheses, exact=exact))
        counts = [agent.count for agent in self.agents]
        priors = [agent.prior for agent in self.agents]
        given: dict[str, Any] = {"counts": counts, "priors": priors}
        logs = [agent.log_prior for agent in self.agents]
        if exact:
            from theory.rational import RationalModel

            if any(log is not None for log in logs):
                return RationalModel.from_model(self.build())
            return RationalModel.from_agents(self.hypotheses, agents, **given)
        from theory.learning import FiniteModel

        model = FiniteModel.from_agents(self.hypotheses, agents, **given)
        rows = zip(logs, model.log_priors, strict=True)
        mixed: Any = [row if log is None else log for log, row in rows]
        return replace(model, log_priors=mixed)


# How agents learn --------------------------------------------------------------------------------

Count = Annotated[int, Field(ge=1)]
Batch = Annotated[
    Annotated[Count, Tag(TAG + "number")] | Annotated[Several[Count], Tag(TAG + "list")],
    Discriminator(lambda value: TAG + ("list" if isinstance(value, list | tuple) else "number")),
]


class LearningSection(Section):
    """What holds for all agents, or agent by agent."""

    batch: Batch | None = key(
        "Independent observations a round: of every agent that has no batch of its own; a list, "
        "one number an agent; or by name, 1 of those left out.",
        None,
        json_schema_extra=by_agent,
    )


def batches_of(learning: LearningSection | None, agents: Sequence[AgentEntry]) -> tuple[int, ...]:
    """Observations a round, agent by agent: the entry's own, else the table's, else 1."""
    shared = None if learning is None else learning.batch
    if isinstance(shared, tuple):
        return shared
    each = [shared or 1 if agent.batch is None else agent.batch for agent in agents]
    return tuple(b for b, agent in zip(each, agents, strict=True) for _ in range(agent.count))


def check_batches(
    source: str, table: str, learning: LearningSection | None, agents: Sequence[AgentEntry]
) -> None:
    """Whether a list of batches fits the agents.

    Raises
    ------
    ValueError
        If it has not one number an agent, or an entry has a batch of its own besides.
    """
    shared = None if learning is None else learning.batch
    if not isinstance(shared, tuple):
        return
    count = sum(agent.count for agent in agents)
    place = ("learning", "batch")
    if len(shared) != count:
        wanted = f"a number, or a list of {count} (one for each agent)"
        raise input_error(source, place, wanted, f"{len(shared)} of them", f"make it {count} long")
    for k, agent in enumerate(agents):
        if agent.batch is not None:
            wanted = f"one number for all beside a batch of {table}.agents[{k}]"
            raise input_error(source, place, wanted, "a list", "keep one of the two")
