"""`peerbayes analyse` where agents are faulty: what becomes of each honest agent.

Under plain averaging everything is predicted, except for liars that look at what the honest say
before they speak. Robust rules come with lower bounds on the rates, and with conditions on the
graph (docs: mathematics/faults).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.faulty.quantities import FAULTY_ANALYSIS
from peerbayes.problem.problems import FaultyProblem
from peerbayes.quantities.network import spectrum_notes
from peerbayes.quantities.result import Result
from peerbayes.quantities.showing import facts
from peerbayes.tables import facts_table, figures_table, notes_text, number
from theory import LearningRate, learning_rate
from theory.robustness import (
    Average,
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
from theory.validation import FloatArray

# What is said of it -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FaultyAnalysis(Result):
    """What theory says of honest agents among faulty ones.

    `check_graph`: whether to look at how robust the graph is, which may take a second.
    """

    problem: FaultyProblem
    check_graph: bool = True

    quantities = FAULTY_ANALYSIS

    @cached_property
    def reference(self) -> tuple[int, ...]:
        """What the honest agents ought to find."""
        problem = self.problem
        honest = honest_agents(problem.network, problem.faults.behaviours)
        return honest_reference(problem.network, problem.model, honest)

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
        problem = self.problem
        if any(isinstance(fault, Colluding) for fault in problem.faults.behaviours.values()):
            return "a colluding liar looks first and speaks then: averaging is not predicted"
        try:
            return faulty_averaging(problem.network, problem.model, problem.faults.behaviours)
        except ValueError as error:
            return f"averaging: {error}"

    @cached_property
    def pooling(self) -> PoolingGuarantee | None:
        """What trimmed mean and median guarantee; None for other rules, or beyond tolerance."""
        problem = self.problem
        if (
            not isinstance(problem.faults.rule, TrimmedMean | Median)
            or problem.faults.beyond_tolerance
        ):
            return None
        return pooling_guarantee(
            problem.network,
            problem.model,
            problem.faults.behaviours,
            pool_every=problem.faults.pool_every,
        )

    @cached_property
    def clipping(self) -> ClipGuarantee | None:
        """What clipping guarantees to the honest agents' average; None for other rules."""
        problem = self.problem
        if not isinstance(problem.faults.rule, Clip) or not problem.network.is_reversible:
            return None
        return clip_guarantee(
            problem.network,
            problem.model,
            problem.faults.behaviours,
            radius=problem.faults.rule.radius,
        )

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
        notes = spectrum_notes(self.problem.network)
        plain = isinstance(self.problem.faults.rule, Average)
        if isinstance(self._averaging, str):
            notes.append(self._averaging)
        elif not plain:
            notes.append("averaging: what would become of the honest agents if they averaged")
        if self.pooling is not None and (self.pooling.rates[self.wrong] <= 0).any():
            notes.append(
                "the guaranteed rate is not above zero: nothing is promised; agents that talk "
                "less often (pool_every) are promised more"
            )
        if self.problem.faults.beyond_tolerance:
            notes.append("more faulty agents than the rule tolerates may be present: no guarantee")
        if isinstance(self.problem.faults.rule, Clip) and self.clipping is None:
            notes.append("clipping is bounded on reversible networks only")
        if self.robustness is not None:
            notes.append(f"robustness: {self.robustness.method}")
        return notes

    def tables(self) -> list[RenderableType]:
        """Terminal tables of this result."""
        document = self.document()
        faults, guaranteed = document.faults, document.faults.guaranteed_rates
        columns = ["nobody faulty", "averaging, lowest", "averaging, highest"]
        table = figures_table(
            "Rates of rejection, nats a round",
            "hypothesis",
            *columns,
            *(["guaranteed"] if guaranteed else []),
        )
        for name, rate in faults.faultless_rates.items():
            rates = [] if faults.averaging is None else faults.averaging.rates[name]
            known = [value for value in rates if value is not None]
            row = [rate, min(known, default=None), max(known, default=None)]
            row += [guaranteed[name]] if guaranteed else []
            table.add_row(Text(name), *map(number, row))
        shown = facts_table(document.problem, facts(self.table, document))
        return [shown, Text(), table, notes_text(document.notes)]
