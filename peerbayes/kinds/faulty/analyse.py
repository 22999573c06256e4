"""`peerbayes analyse` where agents are faulty: what becomes of each honest agent.

Under plain averaging everything is predicted, except for liars that look at what the honest say
before they speak. Robust rules come with lower bounds on the rates, and with conditions on the
graph (docs: mathematics/faults).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from peerbayes.documents import Natural, Number, PerAgent
from peerbayes.kinds.shared.analyse import NOTES, PROBLEM
from peerbayes.problem.problems import FaultyProblem
from peerbayes.quantities.learning import batches_of
from peerbayes.quantities.network import NETWORK, Count, in_doubles, spectrum_notes
from peerbayes.quantities.quantity import Quantity, Table, entries, entry
from peerbayes.quantities.showing import Result, around
from peerbayes.settings.questions import USUAL, Analyse
from peerbayes.tables import agent_names, figures_table, number
from theory import FiniteModel, LearningRate, Network, learning_rate
from theory.progress import Progress
from theory.robustness import (
    RULES,
    Average,
    Behaviour,
    Clip,
    ClipGuarantee,
    Colluding,
    FaultyAveraging,
    Median,
    PoolingGuarantee,
    RobustnessCheck,
    TrimmedMean,
    clip_guarantee,
    faulty_averaging,
    honest_agents,
    honest_reference,
    is_robust,
    pooling_guarantee,
)
from theory.validation import FloatArray, IntArray

# The numbers of an analysis among faulty agents, each declared once ------------------------------


def _who(value: Any, document: Any) -> str:
    """The faulty agents, by what they do."""
    kinds, names = value.faulty, document.network.names
    groups = {kind: [int(i) for i in kinds if kinds[i] == kind] for kind in kinds.values()}
    told = [f"{agent_names(groups[kind], names)}: {kind}" for kind in sorted(groups)]
    return ", ".join(told) or "nobody"


def _of_wrong(path: str) -> Callable[[Any], Any]:
    """What stands at a path, of shape (M,) or (H, M), at the wrong hypotheses, by name."""

    def named(analysis: Any) -> dict[str, Any] | None:
        values, names = attrgetter(path)(analysis), analysis.problem.model.hypotheses
        return None if values is None else {names[m]: values[..., m] for m in analysis.wrong}

    return named


def _averaging(key: str, meaning: str | None = None) -> Quantity:
    """A number of each honest agent by plain averaging, by hypothesis."""
    return Quantity(key, dict[str, PerAgent], meaning, get=_of_wrong(f"averaging.{key}"))


def _behaviours(analysis: Any) -> dict[str, str]:
    behaviours = analysis.problem.faults.behaviours
    return {str(i): type(fault).__name__ for i, fault in behaviours.items()}


ROBUSTNESS = Table(
    "RobustnessDocument",
    "Whether the graph is r-robust.",
    entries(
        r=entry(Natural),
        status=entry(Literal["holds", "fails", "undecided"]),
    ),
)
AVERAGING = Table(
    "AveragingDocument",
    "What becomes of each honest agent by plain averaging; by hypothesis.",
    entries(
        learns=entry(
            bool,
            "whether every honest agent ends at the truth",
            get="averaging.learns",
            label="by averaging they learn",
            short="averaging learns",
        ),
        rates=_averaging("rates"),
        mean=_averaging("mean", "limit of the mean log belief ratio, less rounds times the rate"),
        standard_deviation=entry(
            dict[str, PerAgent],
            get=lambda found: {
                name: np.sqrt(variance)
                for name, variance in _of_wrong("averaging.variance")(found).items()
            },
        ),
        error_estimates=_averaging("error_estimates", "chance to be wrong in the limit"),
    ),
)
FAULTS = Table(
    "FaultsDocument",
    "What theory says of the honest agents.",
    entries(
        batch=entry(
            list[int] | None,
            "observations a round, agent by agent; only where not all are 1",
            get=lambda analysis: batches_of(analysis.problem.model),
            label="observations a round",
            optional=True,
        ),
        faulty=entry(dict[str, str], "agent: what it does", get=_behaviours, short="faulty"),
        rule=entry(
            str,
            "how the honest pool, with the rule's parameter",
            get=lambda analysis: rule_name(analysis.problem),
            label="rule of the honest",
            short="rule",
        ),
        pool_every=entry(
            Count, "rounds from one pooling to the next", get="problem.faults.pool_every"
        ),
        honest=entry(Annotated[list[Natural], Field(min_length=1)], "agents that are not faulty"),
        optimal_hypotheses=entry(
            list[str],
            "what the honest ought to find",
            get=lambda analysis: [analysis.problem.model.hypotheses[m] for m in analysis.reference],
            label="the truth for the honest",
            words=lambda value, _: ", ".join(value),
            short="ought to find",
        ),
        faultless_rates=entry(
            dict[str, Number],
            "nobody faulty, all averaging",
            get=_of_wrong("faultless.rates"),
            short="rates, faultless",
        ),
        averaging=entry(AVERAGING, get=lambda found: found.averaging and found, may_lack=True),
        robustness=entry(
            ROBUSTNESS,
            meaning="of a trimmed mean alone",
            label="robustness of the graph",
            words=lambda value, _: value and f"{value.r}-robust: {value.status}",
            short="robustness",
            may_lack=True,
        ),
        guaranteed_rates=entry(
            dict[str, Number] | None,
            "lower bounds by the rule",
            get=_of_wrong("guaranteed"),
            short="rates, guaranteed",
            kind="lower",
        ),
    ),
)
FAULTY_ANALYSIS = Table(
    "FaultyAnalysisDocument",
    "What `analyse` prints where agents are faulty.",
    entries(
        problem=PROBLEM,
        network=entry(
            NETWORK,
            get=lambda analysis: in_doubles(analysis.problem.network),
            shown=Table("", "", ()),
            label="agents",
            words=lambda value, d: f"{value.agents}, {len(d.faults.faulty)} of them faulty",
        ),
        faults=entry(FAULTS, get=lambda analysis: analysis, label="faulty", words=_who),
        notes=NOTES,
    ),
)


def rule_name(problem: FaultyProblem) -> str:
    """The rule in the words of a problem file, with its parameter."""
    rule = problem.faults.rule
    name = next(key for key, kind in RULES.items() if isinstance(rule, kind))
    if isinstance(rule, TrimmedMean):
        return f"{name} {rule.tolerate}"
    return f"{name} {rule.radius:g}" if isinstance(rule, Clip) else name


# The result -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FaultyAnalysis(Result):
    """What theory says of honest agents among faulty ones.

    `check_graph`: whether to look at how robust the graph is, which may take a second.
    """

    problem: FaultyProblem
    check_graph: bool = True

    quantities = FAULTY_ANALYSIS

    @property
    def _of(self) -> tuple[Network, FiniteModel, Mapping[int, Behaviour]]:
        problem = self.problem
        return problem.network, problem.model, problem.faults.behaviours

    @property
    def honest(self) -> IntArray:
        """The agents that are not faulty."""
        return honest_agents(self.problem.network, self.problem.faults.behaviours)

    @cached_property
    def reference(self) -> tuple[int, ...]:
        """What the honest agents ought to find."""
        return honest_reference(self.problem.network, self.problem.model, self.honest)

    @cached_property
    def wrong(self) -> list[int]:
        """All other hypotheses."""
        return [m for m in range(len(self.problem.model.hypotheses)) if m not in self.reference]

    @cached_property
    def faultless(self) -> LearningRate:
        """The rates if nobody were faulty and all averaged."""
        return learning_rate(self.problem.network, self.problem.model)

    @cached_property
    def averaging(self) -> FaultyAveraging | None:
        """What plain averaging would come to; None where it is not known, see `notes`."""
        return self._averaging if isinstance(self._averaging, FaultyAveraging) else None

    @cached_property
    def _averaging(self) -> FaultyAveraging | str:
        """The limits under plain averaging, or why there are none."""
        behaviours = self.problem.faults.behaviours.values()
        if any(isinstance(fault, Colluding) for fault in behaviours):
            return "a colluding liar looks first and speaks then: averaging is not predicted"
        try:
            return faulty_averaging(*self._of)
        except ValueError as error:
            return f"averaging: {error}"

    @cached_property
    def pooling(self) -> PoolingGuarantee | None:
        """What trimmed mean and median guarantee; None for other rules, or beyond tolerance."""
        faults = self.problem.faults
        if not isinstance(faults.rule, TrimmedMean | Median) or faults.beyond_tolerance:
            return None
        return pooling_guarantee(*self._of, pool_every=faults.pool_every)

    @cached_property
    def clipping(self) -> ClipGuarantee | None:
        """What clipping guarantees to the honest agents' average; None for other rules."""
        rule = self.problem.faults.rule
        if not isinstance(rule, Clip) or not self.problem.network.is_reversible:
            return None
        return clip_guarantee(*self._of, radius=rule.radius)

    @cached_property
    def robustness(self) -> RobustnessCheck | None:
        """Whether the graph is (2f + 1)-robust, for the f of a trimmed mean; None if not asked."""
        rule = self.problem.faults.rule
        if not self.check_graph or not isinstance(rule, TrimmedMean):
            return None
        return is_robust(self.problem.network, 2 * rule.tolerate + 1)

    @property
    def guaranteed(self) -> FloatArray | None:
        """Lower bounds on the rates by the problem's rule, shape (M,); None where there is none."""
        if self.pooling is not None:
            return self.pooling.rates
        return None if self.clipping is None else self.clipping.lower

    @property
    def notes(self) -> list[str]:
        """What a number rests on, one sentence each."""
        faults, notes = self.problem.faults, spectrum_notes(self.problem.network)
        if isinstance(self._averaging, str):
            notes.append(self._averaging)
        elif not isinstance(faults.rule, Average):
            notes.append("averaging: what would become of the honest agents if they averaged")
        if self.pooling is not None and (self.pooling.rates[self.wrong] <= 0).any():
            notes.append(
                "the guaranteed rate is not above zero: nothing is promised; agents that talk "
                "less often (pool_every) are promised more"
            )
        if faults.beyond_tolerance:
            notes.append("more faulty agents than the rule tolerates may be present: no guarantee")
        if isinstance(faults.rule, Clip) and self.clipping is None:
            notes.append("clipping is bounded on reversible networks only")
        if self.robustness is not None:
            notes.append(f"robustness: {self.robustness.method}")
        return notes

    def tables(self) -> list[RenderableType]:
        """Terminal tables of this result."""
        document = self.document()
        faults, guaranteed = document.faults, document.faults.guaranteed_rates
        columns = ["hypothesis", "nobody faulty", "averaging, lowest", "averaging, highest"]
        columns += ["guaranteed"] if guaranteed else []
        table = figures_table("Rates of rejection, nats a round", *columns)
        for name, rate in faults.faultless_rates.items():
            rates = [] if faults.averaging is None else faults.averaging.rates[name]
            known = [value for value in rates if value is not None]
            row = [rate, min(known, default=None), max(known, default=None)]
            row += [guaranteed[name]] if guaranteed else []
            table.add_row(Text(name), *map(number, row))
        return around(self.table, document, table)


def analyse_faulty(
    problem: FaultyProblem, request: Analyse = USUAL, progress: Progress | None = None
) -> FaultyAnalysis:
    """Predict what becomes of each honest agent; there are no sample sizes."""
    return FaultyAnalysis(problem)
