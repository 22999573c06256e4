"""The ``[model]`` table of a problem file, and the statistical model it describes.

Agents see an input x and then an observation y. *Finite* agents have finitely many y, and tables
of probabilities; *Gaussian* agents have a real y, with a mean for each hypothesis and x. *Outcomes*
are what is left of a finite agent when x and y are counted together, as data sets and problems
built in Python give them. Checked here, with the place in the file: tables fit the hypotheses and
each other, no likelihood is zero where the truth is positive, priors are positive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from peerbayes.messages import TAG, Place, describe, input_error, nearest, problem_error, shorten
from peerbayes.problem.entries import (
    Distribution,
    Names,
    Number,
    PositiveNumber,
    Rational,
    Row,
    Section,
    Table,
    by_agent,
)

if TYPE_CHECKING:
    from theory.learning import FiniteAgent, FiniteModel, GaussianAgent
    from theory.rational import RationalFiniteAgent, RationalGaussianAgent, RationalModel


# The ``[model]`` table of a problem file, and the statistical model it describes -----------------


TruthTable = Annotated[
    Annotated[str, Tag(TAG + "name")] | Annotated[Table, Tag(TAG + "table")],
    Discriminator(lambda value: TAG + ("name" if isinstance(value, str) else "table")),
]
# Of exponentials of logarithms that were rounded.
_LOG_SUM = 1e-9
_GAUSSIAN_KEYS = ("likelihood_mean", "likelihood_std", "truth_mean", "truth_std")


class AgentSection(Section):
    """What every kind of agent has in common."""

    count: int = Field(default=1, ge=1, description="How many agents in a row share this entry.")
    inputs: Distribution | None = Field(
        default=None, description="P(x), the law of the inputs; left out: one input."
    )
    prior: Distribution | None = Field(
        default=None, description="Prior over the hypotheses; left out: uniform."
    )
    log_prior: Row[Number] | None = Field(
        default=None, description="Its natural logarithms, in place of the prior."
    )
    batch: int | None = Field(
        default=None, ge=1, description="Observations a round; left out: that of [learning], or 1."
    )

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """What the outcomes are called; empty if they go by number, or have inputs besides."""
        return (getattr(self, "outcomes", None) or ()) if len(self.input_law) == 1 else ()

    @property
    def input_law(self) -> tuple[Rational, ...]:
        """P(x), one entry for each input."""
        return self.inputs if self.inputs is not None else (Fraction(1),)

    def _check_prior(self, hypotheses: Sequence[str]) -> None:
        if self.log_prior is not None:
            _check_length(("log_prior",), self.log_prior, len(hypotheses), "one a hypothesis")
            if self.prior is not None:
                wanted = "at most one of prior, log_prior"
                raise problem_error((), wanted, "both", "keep one of them")
            size = math.fsum(math.exp(float(value)) for value in self.log_prior)
            if abs(size - 1) > _LOG_SUM:
                wanted = "logarithms of numbers that sum to 1"
                raise problem_error(("log_prior",), wanted, f"a sum of {size:.12g}", "mend it")
        if self.prior is None:
            return
        _check_length(("prior",), self.prior, len(hypotheses), "one for each hypothesis")
        for k, share in enumerate(self.prior):
            if share == 0:
                raise problem_error(
                    ("prior", k),
                    "a prior above 0",
                    0,
                    f"give {describe(hypotheses[k])} some prior, or strike it from the hypotheses",
                )


class FiniteAgentSection(AgentSection):
    """Agents with finitely many inputs x and observations y."""

    truth: TruthTable = Field(
        description="f(y|x), a row for each x; or the name of the hypothesis that is true."
    )
    likelihood: Row[Table] = Field(
        description="For each hypothesis a table of f(y|x, hypothesis), a row for each x."
    )
    outcomes: Names | None = Field(
        default=None, description="What the observations y are called, in the tables' order."
    )

    def truth_table(self, hypotheses: Sequence[str]) -> tuple[tuple[Rational, ...], ...]:
        """f(y|x), a row for each x."""
        if isinstance(self.truth, str):
            return self.likelihood[hypotheses.index(self.truth)]
        return self.truth

    def check(self, hypotheses: Sequence[str]) -> None:
        """Whether the tables fit the hypotheses and each other."""
        _check_length(
            ("likelihood",), self.likelihood, len(hypotheses), "one table for each hypothesis"
        )
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
            _check_length(place, table, len(self.input_law), "one row for each input")
            for x, row in enumerate(table):
                _check_length((*place, x), row, outcomes, "as in the first row of the truth")
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
                    raise problem_error(
                        ("likelihood", k, x, y),
                        f"a likelihood above 0, as the truth there is {float(true_value):g}",
                        0,
                        f"give {describe(name)} a positive likelihood there",
                    )

    def build(self, hypotheses: Sequence[str]) -> FiniteAgent:
        """The agent described."""
        from theory.learning import FiniteAgent

        return FiniteAgent.from_tables(
            inputs=np.array(self.input_law, dtype=np.float64),
            truth=np.array(self.truth_table(hypotheses), dtype=np.float64),
            likelihood=np.array(self.likelihood, dtype=np.float64),
        )

    def build_rational(self, hypotheses: Sequence[str]) -> RationalFiniteAgent:
        """The agent described, exactly; doubles are read as the binary fractions they are."""
        from theory.rational import RationalFiniteAgent

        return RationalFiniteAgent.from_tables(
            inputs=self.input_law, truth=self.truth_table(hypotheses), likelihood=self.likelihood
        )


class OutcomesAgentSection(AgentSection):
    """Agents with finitely many outcomes, inputs and observations counted together."""

    probabilities: Distribution = Field(description="Of the outcomes.")
    log_likelihoods: Row[Row[Number]] = Field(
        description="For each hypothesis the log-likelihood of the observation in each outcome."
    )
    entropy: Number = Field(
        default=0.0, description="Mean entropy of the observation given the input, in nats."
    )
    true_hypotheses: tuple[str, ...] = Field(
        default=(), strict=False, description="Hypotheses whose claims are the truth, by name."
    )
    outcomes: Names | None = Field(default=None, description="What the outcomes are called.")

    def check(self, hypotheses: Sequence[str]) -> None:
        """Whether the tables fit the hypotheses and each other."""
        wanted = "a row for each hypothesis"
        _check_length(("log_likelihoods",), self.log_likelihoods, len(hypotheses), wanted)
        for k, row in enumerate(self.log_likelihoods):
            outcomes = len(self.probabilities)
            _check_length(("log_likelihoods", k), row, outcomes, "one for each outcome")
        for name in self.true_hypotheses:
            if name not in hypotheses:
                wanted = f"hypotheses ({shorten(', '.join(hypotheses), length=100)})"
                raise problem_error(("true_hypotheses",), wanted, describe(name), "correct it")
        _check_outcomes(self.outcomes, len(self.probabilities))
        if self.inputs is not None:
            wanted = "no inputs, which are counted with the outcomes"
            raise problem_error(("inputs",), wanted, "some", "leave them out")
        self._check_prior(hypotheses)

    def build(self, hypotheses: Sequence[str]) -> FiniteAgent:
        """The agent described."""
        from theory.learning import FiniteAgent

        return FiniteAgent(
            np.array(self.probabilities, dtype=np.float64),
            np.array(self.log_likelihoods, dtype=np.float64),
            float(self.entropy),
            tuple(hypotheses.index(name) for name in self.true_hypotheses),
        )

    def build_rational(self, hypotheses: Sequence[str]) -> RationalFiniteAgent:
        """The agent described, exactly, its numbers as the doubles that they are."""
        from theory.rational import RationalFiniteAgent

        return RationalFiniteAgent.from_agent(self.build(hypotheses))


class GaussianAgentSection(AgentSection):
    """Agents with finitely many inputs x, and real y with Gaussian likelihoods."""

    likelihood_mean: Row[Row[Number]] = Field(
        description="For each hypothesis the means of y, one for each x."
    )
    likelihood_std: PositiveNumber = Field(
        description="Standard deviation of y under every hypothesis."
    )
    truth: str | None = Field(
        default=None, description="Name of the hypothesis that is true; or give truth_mean."
    )
    truth_mean: Row[Number] | None = Field(
        default=None, description="The true means of y, one for each x."
    )
    truth_std: PositiveNumber | None = Field(
        default=None, description="True standard deviation of y; left out: likelihood_std."
    )

    def truth_means(self, hypotheses: Sequence[str]) -> tuple[Rational, ...]:
        """The true means of y, one for each x."""
        if self.truth is not None:
            return self.likelihood_mean[hypotheses.index(self.truth)]
        assert self.truth_mean is not None
        return self.truth_mean

    def check(self, hypotheses: Sequence[str]) -> None:
        """Whether the tables fit the hypotheses and each other."""
        _check_length(
            ("likelihood_mean",), self.likelihood_mean, len(hypotheses), "a row for each hypothesis"
        )
        if (self.truth is None) == (self.truth_mean is None):
            got = "neither" if self.truth is None else "both"
            remedy = "add one of them" if self.truth is None else "keep one of them"
            raise problem_error(
                (), "exactly one of truth (a hypothesis) and truth_mean", got, remedy
            )
        if self.truth is not None:
            _check_truth_name(self.truth, hypotheses)
            if self.truth_std is not None:
                raise problem_error(
                    (),
                    "truth_std only beside truth_mean",
                    f"it beside truth = {describe(self.truth)}",
                    "leave truth_std out, or give truth_mean in place of truth",
                )
        else:
            assert self.truth_mean is not None
            _check_length(
                ("truth_mean",), self.truth_mean, len(self.input_law), "one for each input"
            )
        for k, row in enumerate(self.likelihood_mean):
            _check_length(("likelihood_mean", k), row, len(self.input_law), "one for each input")
        self._check_prior(hypotheses)

    def build(self, hypotheses: Sequence[str]) -> GaussianAgent:
        """The agent described."""
        from theory.learning import GaussianAgent

        true_std = self.likelihood_std if self.truth_std is None else self.truth_std
        return GaussianAgent(
            inputs=np.array(self.input_law, dtype=np.float64),
            truth_means=np.array(self.truth_means(hypotheses), dtype=np.float64),
            truth_std=float(true_std),
            means=np.array(self.likelihood_mean, dtype=np.float64),
            std=float(self.likelihood_std),
        )

    def build_rational(self, hypotheses: Sequence[str]) -> RationalGaussianAgent:
        """The agent described, exactly; doubles are read as the binary fractions they are."""
        from theory.rational import RationalGaussianAgent

        true_std = self.likelihood_std if self.truth_std is None else self.truth_std
        return RationalGaussianAgent.from_tables(
            inputs=self.input_law,
            truth_means=self.truth_means(hypotheses),
            truth_std=true_std,
            means=self.likelihood_mean,
            std=self.likelihood_std,
        )


def _check_length(place: Place, row: Sequence[object], size: int, meaning: str) -> None:
    if len(row) != size:
        raise problem_error(
            place, f"a list of {size} ({meaning})", len(row), f"make it {size} long"
        )


def _check_outcomes(names: Sequence[str] | None, count: int) -> None:
    if names is None:
        return
    _check_length(("outcomes",), names, count, "one for each observation")
    for k, name in enumerate(names):
        if name in names[:k]:
            remedy = "rename one of the two"
            raise problem_error(("outcomes", k), "names that differ", describe(name), remedy)


def _check_truth_name(truth: str, hypotheses: Sequence[str]) -> None:
    if truth not in hypotheses:
        guess = nearest(truth, hypotheses)
        raise problem_error(
            ("truth",),
            f"a hypothesis ({shorten(', '.join(hypotheses), length=100)}) or a table",
            describe(truth),
            f"did you mean {describe(guess)}?" if guess else "name a hypothesis",
        )


def _form(value: object) -> str:
    if isinstance(value, GaussianAgentSection):
        return TAG + "gaussian"
    if isinstance(value, OutcomesAgentSection):
        return TAG + "outcomes"
    if isinstance(value, Mapping) and "log_likelihoods" in value:
        return TAG + "outcomes"
    if isinstance(value, Mapping) and "likelihood" not in value:
        return TAG + ("gaussian" if any(key in value for key in _GAUSSIAN_KEYS) else "finite")
    return TAG + "finite"


AnyAgentSection = Annotated[
    Annotated[FiniteAgentSection, Tag(TAG + "finite")]
    | Annotated[GaussianAgentSection, Tag(TAG + "gaussian")]
    | Annotated[OutcomesAgentSection, Tag(TAG + "outcomes")],
    Discriminator(_form),
]


class ModelSection(Section):
    """The hypotheses, and what the agents see."""

    hypotheses: Names = Field(description="Names of the hypotheses, two or more, each once.")
    agents: Row[AnyAgentSection] = Field(description="The agents, in the network's order.")

    @model_validator(mode="after")
    def _consistent(self) -> ModelSection:
        for k, name in enumerate(self.hypotheses):
            if name in self.hypotheses[:k]:
                raise problem_error(
                    ("hypotheses", k), "names that differ", describe(name), "rename one of the two"
                )
        for k, agent in enumerate(self.agents):
            try:
                agent.check(self.hypotheses)
            except PydanticCustomError as error:
                context = dict(error.context or {})
                place = ("agents", k, *context.pop("place"))
                raise problem_error(place, **context) from None
        return self

    @property
    def agent_count(self) -> int:
        """Number of agents that the entries describe together."""
        return sum(agent.count for agent in self.agents)

    def build(self) -> FiniteModel:
        """The model described."""
        from theory.learning import FiniteModel

        priors = [
            None if agent.prior is None else np.array(agent.prior, dtype=np.float64)
            for agent in self.agents
        ]
        agents: list[FiniteAgent | GaussianAgent] = []
        for k, agent in enumerate(self.agents):
            try:
                agents.append(agent.build(self.hypotheses))
            except ValueError as error:
                raise ValueError(f"agents[{k}]: {error}") from None
        model = FiniteModel.from_agents(
            self.hypotheses,
            agents,
            counts=[agent.count for agent in self.agents],
            priors=priors,
        )
        if all(agent.log_prior is None for agent in self.agents):
            return model
        logs = model.log_priors.copy()
        for k, agent in enumerate(self.agents):
            if agent.log_prior is not None:
                logs[k] = np.array(agent.log_prior, dtype=np.float64)
        return replace(model, log_priors=logs)

    def build_rational(self) -> RationalModel:
        """The model described, exactly; doubles are read as the binary fractions they are."""
        from theory.rational import RationalModel

        if any(agent.log_prior is not None for agent in self.agents):
            return RationalModel.from_model(self.build())
        return RationalModel.from_agents(
            self.hypotheses,
            [agent.build_rational(self.hypotheses) for agent in self.agents],
            counts=[agent.count for agent in self.agents],
            priors=[agent.prior for agent in self.agents],
        )


# The ``[learning]`` table of a problem file ------------------------------------------------------


Count = Annotated[int, Field(ge=1)]
Counts = Annotated[tuple[Count, ...], Field(strict=False)]


def _batch_form(value: Any) -> str:
    return TAG + ("list" if isinstance(value, list | tuple) else "number")


Batch = Annotated[
    Annotated[Count, Tag(TAG + "number")] | Annotated[Counts, Tag(TAG + "list")],
    Discriminator(_batch_form),
]


def _by_name(schema: dict[str, Any]) -> None:
    """Change the JSON schema of batches: a table by agent will do."""
    schema["anyOf"].append(by_agent({"type": "integer", "minimum": 1}))


class LearningSection(Section):
    """What holds for all agents, or agent by agent."""

    batch: Batch | None = Field(
        default=None,
        description="Independent observations a round: of every agent that has no batch of its "
        "own; a list, one number an agent; or by name, 1 of those left out.",
        json_schema_extra=_by_name,
    )


class AgentEntry(Protocol):
    """An entry of ``[[model.agents]]`` or ``[[regression.agents]]``."""

    @property
    def count(self) -> int:
        """How many agents in a row share the entry."""
        ...

    @property
    def batch(self) -> int | None:
        """Observations a round, if the entry says."""
        ...


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
