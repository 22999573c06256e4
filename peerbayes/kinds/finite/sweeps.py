"""What moves when one parameter of a problem moves: the star's edge confidence a.

With a on the centre and 1 − a on itself, an edge agent of a star of N gives the centre the weight
v_1 = N a/(N a + N − 1), exactly (docs: mathematics/star). Every rate is affine in v_1 as long as
the reference hypothesis stays the same, so that its direction is predicted by its slope, and the
measured rates must move that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerbayes.comparison import Comparison
from peerbayes.documents import numbers
from peerbayes.kinds.finite.verify import ProblemVerification
from peerbayes.sweep_documents import SlowestDocument, SweepDocument, SweepPoint, SweepSeries
from theory.showing import Shown

PARAMETER = "edge_confidence"


@dataclass(frozen=True, eq=False)
class Sweep(Shown):
    """Verifications of one problem that differ in the star's edge confidence alone."""

    name: str
    members: tuple[ProblemVerification, ...]  # by increasing edge confidence

    @property
    def confidences(self) -> list[float]:
        """The edge confidences a, increasing."""
        return [float(member.problem.parameters[PARAMETER]) for member in self.members]

    @property
    def centre_weights(self) -> list[float]:
        """v_1 of each member, as computed from its W."""
        return [float(m.problem.network.stationary_distribution[0]) for m in self.members]

    def comparisons(self) -> list[Comparison]:
        """The closed form of v_1, and the direction of every rate."""
        return [self._closed_form(), *self._directions()]

    def _closed_form(self) -> Comparison:
        size = self.members[0].problem.network.agents
        formula = np.array([size * a / (size * a + size - 1) for a in self.confidences])
        error = float(np.max(np.abs(np.array(self.centre_weights) / formula - 1)))
        return Comparison(
            problem=self.name,
            statement=f"v₁ = {size}a/({size}a + {size - 1}) for a in {_listed(self.confidences)}",
            predicted=0.0,
            measured=error,
            standard_error=None,
            kind="exact",
            # v is right to a few units in the last place per agent (GTH elimination).
            holds=error <= 4 * size * float(np.finfo(float).eps),
            note="largest relative difference of the computed v₁",
        )

    def _directions(self) -> list[Comparison]:
        """One statement per reference hypothesis, where the network settles on it twice or more."""
        names = self.members[0].problem.model.hypotheses
        groups: dict[tuple[int, ...], list[ProblemVerification]] = {}
        for member in self.members:
            groups.setdefault(member.measured.rates.reference, []).append(member)
        several = {reference: group for reference, group in groups.items() if len(group) > 1}
        statements = []
        for reference, group in several.items():
            where = f" while the network settles on {names[reference[0]]!r}"
            for m in sorted(group[0].measured.wrong):
                statement = self._direction(group, m, names[m], where if len(groups) > 1 else "")
                if statement is not None:
                    statements.append(statement)
        return statements

    def _direction(
        self, group: Sequence[ProblemVerification], m: int, name: str, where: str
    ) -> Comparison | None:
        limits = np.array([float(member.analysis.rate.rates[m]) for member in group])
        means = [member.measured.rate(m) for member in group]
        measured, errors, allowed = (
            np.array([getattr(mean, name) for mean in means])
            for name in ("measured", "standard_error", "allowed")
        )
        steps, measured_steps = np.diff(limits), np.diff(measured)
        step_errors = np.hypot(errors[1:], errors[:-1])
        if np.abs(steps).max() <= 1e-12 * np.abs(limits).max():
            return None  # does not depend on v_1, to rounding
        sign = 1.0 if steps.sum() > 0 else -1.0
        worst = int(np.argmin(sign * measured_steps / np.maximum(step_errors, 1e-300)))
        holds = (sign * steps > 0).all() and (
            sign * measured_steps > -(allowed[1:] + allowed[:-1])
        ).all()
        moves = "rises" if sign > 0 else "falls"
        return Comparison(
            problem=self.name,
            statement=f"rate of rejecting {name!r} {moves} with v₁{where}",
            predicted=float(steps[worst]),
            measured=float(measured_steps[worst]),
            standard_error=float(step_errors[worst]),
            kind="exact",
            holds=bool(holds),
            note=f"the least clear of {len(steps)} steps between neighbouring a",
        )

    def as_record(self) -> SweepDocument:
        """What the report needs."""
        names = self.members[0].problem.model.hypotheses
        return SweepDocument(
            name=self.name,
            edge_confidence=self.confidences,
            centre_weight=self.centre_weights,
            settled=[[names[m] for m in member.analysis.rate.reference] for member in self.members],
            exponent=numbers([member.analysis.exponent.exponent for member in self.members]),
            slowest=[_slowest(member) for member in self.members],
            rates=[self._series(name) for name in names],
            comparisons=self.comparisons(),
        )

    def _series(self, name: str) -> SweepSeries:
        """The rates of rejecting one hypothesis, where it is wrong."""
        points = [
            SweepPoint(
                edge_confidence=a,
                centre_weight=v,
                limit=rate.limit,
                predicted=rate.predicted,
                measured=rate.measured,
                standard_error=rate.standard_error,
            )
            for a, v, member in zip(
                self.confidences, self.centre_weights, self.members, strict=True
            )
            for rate in member.rates
            if rate.hypothesis == name
        ]
        return SweepSeries(hypothesis=name, points=points)


def _slowest(member: ProblemVerification) -> SlowestDocument | None:
    """The binding hypothesis: its exact mean at the last round, and its measured rate."""
    if not member.rates:
        return None
    rate = member.rates[0]
    return SlowestDocument(
        hypothesis=rate.hypothesis,
        predicted=rate.predicted,
        measured=rate.measured,
        standard_error=rate.standard_error,
    )


def find_sweeps(verifications: Sequence[ProblemVerification]) -> list[Sweep]:
    """Group by family and all parameters but the edge confidence; groups of one are no sweep."""
    groups: dict[str, list[ProblemVerification]] = {}
    for verification in verifications:
        parameters = dict(verification.problem.parameters)
        if PARAMETER not in parameters:
            continue
        del parameters[PARAMETER]
        others = ", ".join(
            f"{key.replace('_', ' ')} {value}" for key, value in sorted(parameters.items())
        )
        name = f"{verification.problem.family} over a" + (f" ({others})" if others else "")
        groups.setdefault(name, []).append(verification)
    return [
        Sweep(name, tuple(sorted(group, key=lambda m: float(m.problem.parameters[PARAMETER]))))
        for name, group in groups.items()
        if len(group) > 1
    ]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
