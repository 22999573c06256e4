"""`peerbayes analyse` where agents are faulty: what becomes of each honest agent.

Under plain averaging everything is predicted, except for liars that look at what the honest say
before they speak. Robust rules come with lower bounds on the rates, and with conditions on the
graph (docs: mathematics/faults).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rich.console import RenderableType

from peerbayes.documents import Documented, number, numbers
from peerbayes.kinds.faulty.documents import (
    AveragingDocument,
    FaultsDocument,
    FaultyAnalysisDocument,
    RobustnessDocument,
)
from peerbayes.kinds.faulty.tables import faulty_parts
from peerbayes.problem.faulty import FaultyProblem
from peerbayes.quantities.learning import batches_of
from peerbayes.quantities.network import NETWORK, in_doubles, spectrum_notes
from theory import LearningRate, learning_rate
from theory.robustness import (
    RULES,
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


@dataclass(frozen=True, eq=False)
class FaultyAnalysis(Documented):
    """What theory says of honest agents among faulty ones.

    `check_graph`: whether to look at how robust the graph is, which may take a second.
    """

    problem: FaultyProblem
    check_graph: bool = True

    def _facts(self) -> Iterator[tuple[str, object]]:
        names = self.problem.model.hypotheses
        yield "faulty", tuple(self.problem.faults.behaviours)
        yield "rule", rule_name(self.problem)
        yield "ought to find", tuple(names[m] for m in self.reference)
        yield "rate K, faultless", self.faultless.rate
        if self.averaging is not None:
            yield "averaging learns", self.averaging.learns
        if self.guaranteed is not None:
            yield "rate, guaranteed", min((self.guaranteed[m] for m in self.wrong), default=None)
        if self.robustness is not None:
            yield "robustness", self.robustness

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

    def document(self) -> FaultyAnalysisDocument:
        """What `analyse` prints where agents are faulty."""
        problem, names = self.problem, self.problem.model.hypotheses
        averaging, guaranteed, check = self.averaging, self.guaranteed, self.robustness
        return FaultyAnalysisDocument(
            problem=problem.name,
            network=NETWORK.document(in_doubles(problem.network)),
            faults=FaultsDocument(
                batch=None if (drawn := batches_of(problem.model)) is None else [*drawn],
                rule=rule_name(problem),
                pool_every=problem.faults.pool_every,
                faulty={
                    str(i): type(fault).__name__ for i, fault in problem.faults.behaviours.items()
                },
                honest=honest_agents(problem.network, problem.faults.behaviours).tolist(),
                robustness=None
                if check is None
                else RobustnessDocument(r=check.r, status=check.status),
                optimal_hypotheses=[names[m] for m in self.reference],
                faultless_rates=self._by_hypothesis(self.faultless.rates),
                averaging=None if averaging is None else self._averaging_document(averaging),
                guaranteed_rates=None if guaranteed is None else self._by_hypothesis(guaranteed),
            ),
            notes=self.notes,
        )

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return faulty_parts(self.document())

    def _by_hypothesis(self, values: FloatArray) -> dict[str, float | None]:
        """The entries of `values`, shape (M,), at the wrong hypotheses, by name."""
        return {self.problem.model.hypotheses[m]: number(values[m]) for m in self.wrong}

    def _by_agent(self, values: FloatArray) -> dict[str, list[float | None]]:
        """The columns of `values`, shape (H, M), at the wrong hypotheses, by name."""
        return {self.problem.model.hypotheses[m]: numbers(values[:, m]) for m in self.wrong}

    def _averaging_document(self, averaging: FaultyAveraging) -> AveragingDocument:
        return AveragingDocument(
            learns=averaging.learns,
            rates=self._by_agent(averaging.rates),
            mean=self._by_agent(averaging.mean),
            standard_deviation=self._by_agent(np.sqrt(averaging.variance)),
            error_estimates=self._by_agent(averaging.error_estimates),
        )


def rule_name(problem: FaultyProblem) -> str:
    """The rule in the words of a problem file, with its parameter."""
    name = next(key for key, kind in RULES.items() if isinstance(problem.faults.rule, kind))
    if isinstance(problem.faults.rule, TrimmedMean):
        return f"{name} {problem.faults.rule.tolerate}"
    return (
        f"{name} {problem.faults.rule.radius:g}" if isinstance(problem.faults.rule, Clip) else name
    )
