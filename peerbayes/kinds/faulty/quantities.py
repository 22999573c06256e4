"""The numbers of an analysis among faulty agents, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from peerbayes.documents import Number, PerAgent
from peerbayes.problem.problems import FaultyProblem
from peerbayes.quantities.learning import batches_of
from peerbayes.quantities.network import NETWORK, in_doubles
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part
from peerbayes.tables import agent_names
from theory.robustness import (
    RULES,
    Clip,
    TrimmedMean,
    honest_agents,
)


def _who(value: Any, document: Any) -> str:
    """The faulty agents, by what they do."""
    kinds, names = value.faulty, document.network.names
    groups = {kind: [int(i) for i in kinds if kinds[i] == kind] for kind in kinds.values()}
    told = [f"{agent_names(groups[kind], names)}: {kind}" for kind in sorted(groups)]
    return ", ".join(told) or "nobody"


def _of_wrong(get: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What `get` gives, of shape (M,) or (H, M), at the wrong hypotheses, by name."""

    def named(analysis: Any) -> dict[str, Any] | None:
        values, names = get(analysis), analysis.problem.model.hypotheses
        return None if values is None else {names[m]: values[..., m] for m in analysis.wrong}

    return named


def _averaging(key: str, get: Callable[[Any], Any], meaning: str | None = None) -> Quantity:
    """A number of each honest agent by plain averaging, by hypothesis."""
    named = _of_wrong(lambda analysis: get(analysis.averaging))
    return Quantity(key, dict[str, PerAgent], meaning, get=named)


ROBUSTNESS = Table(
    "RobustnessDocument",
    "Whether the graph is r-robust.",
    (
        Quantity("r", Annotated[int, Field(ge=0)]),
        Quantity("status", Literal["holds", "fails", "undecided"]),
    ),
)


AVERAGING = Table(
    "AveragingDocument",
    "What becomes of each honest agent by plain averaging; by hypothesis.",
    (
        Quantity(
            "learns",
            bool,
            "whether every honest agent ends at the truth",
            get=lambda analysis: analysis.averaging.learns,
            label="by averaging they learn",
            short="averaging learns",
        ),
        _averaging("rates", lambda found: found.rates),
        _averaging(
            "mean",
            lambda found: found.mean,
            "limit of the mean log belief ratio, less rounds times the rate",
        ),
        _averaging("standard_deviation", lambda found: np.sqrt(found.variance)),
        _averaging(
            "error_estimates",
            lambda found: found.error_estimates,
            "chance to be wrong in the limit",
        ),
    ),
)


FAULTS = Table(
    "FaultsDocument",
    "What theory says of the honest agents.",
    (
        Quantity(
            "batch",
            list[int] | None,
            "observations a round, agent by agent; only where not all are 1",
            get=lambda analysis: batches_of(analysis.problem.model),
            label="observations a round",
            optional=True,
        ),
        Quantity(
            "faulty",
            dict[str, str],
            "agent: what it does",
            get=lambda analysis: {
                str(i): type(fault).__name__
                for i, fault in analysis.problem.faults.behaviours.items()
            },
            short="faulty",
        ),
        Quantity(
            "rule",
            str,
            "how the honest pool, with the rule's parameter",
            get=lambda analysis: rule_name(analysis.problem),
            label="rule of the honest",
            short="rule",
        ),
        Quantity(
            "pool_every",
            Annotated[int, Field(ge=1)],
            "rounds from one pooling to the next",
            get=lambda analysis: analysis.problem.faults.pool_every,
        ),
        Quantity(
            "honest",
            Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)],
            "agents that are not faulty",
            get=lambda analysis: honest_agents(
                analysis.problem.network, analysis.problem.faults.behaviours
            ),
        ),
        Quantity(
            "optimal_hypotheses",
            list[str],
            "what the honest ought to find",
            get=lambda analysis: [analysis.problem.model.hypotheses[m] for m in analysis.reference],
            label="the truth for the honest",
            words=lambda value, _: ", ".join(value),
            short="ought to find",
        ),
        Quantity(
            "faultless_rates",
            dict[str, Number],
            "nobody faulty, all averaging",
            get=_of_wrong(lambda analysis: analysis.faultless.rates),
            short="rates, faultless",
        ),
        part(
            "averaging",
            AVERAGING,
            lambda analysis: None if analysis.averaging is None else analysis,
            may_lack=True,
        ),
        part(
            "robustness",
            ROBUSTNESS,
            lambda analysis: analysis.robustness,
            meaning="of a trimmed mean alone",
            label="robustness of the graph",
            words=lambda value, _: value and f"{value.r}-robust: {value.status}",
            short="robustness",
            may_lack=True,
        ),
        Quantity(
            "guaranteed_rates",
            dict[str, Number] | None,
            "lower bounds by the rule",
            get=_of_wrong(lambda analysis: analysis.guaranteed),
            short="rates, guaranteed",
            kind="lower",
        ),
    ),
)


FAULTY_ANALYSIS = Table(
    "FaultyAnalysisDocument",
    "What `analyse` prints where agents are faulty.",
    (
        Quantity("problem", str, get=lambda analysis: analysis.problem.name),
        part(
            "network",
            NETWORK,
            lambda analysis: in_doubles(analysis.problem.network),
            shown=Table("", "", ()),
            label="agents",
            words=lambda value, d: f"{value.agents}, {len(d.faults.faulty)} of them faulty",
        ),
        part("faults", FAULTS, lambda analysis: analysis, label="faulty", words=_who),
        Quantity("notes", list[str], label=NOTE),
    ),
)


def rule_name(problem: FaultyProblem) -> str:
    """The rule in the words of a problem file, with its parameter."""
    name = next(key for key, kind in RULES.items() if isinstance(problem.faults.rule, kind))
    if isinstance(problem.faults.rule, TrimmedMean):
        return f"{name} {problem.faults.rule.tolerate}"
    return (
        f"{name} {problem.faults.rule.radius:g}" if isinstance(problem.faults.rule, Clip) else name
    )
