"""The error event as a union, with agents that are alike counted once.

Some agent errs at round n when Λ_i^(n)(θ*, θ) ≤ 0 for some agent i and wrong θ. Agents whose
weights on each kind of agent are the same at every power of W have the same law of Λ_i: they form
a class, whose events are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from theory.bounds.accounting.laws import Laws, mixed_laws, pair_laws
from theory.bounds.accounting.majorant import EPS
from theory.bounds.accounting.powers import Powers
from theory.bounds.accounting.terms import EventTerms, agent_terms, prior_shares, shared_terms
from theory.bounds.events import ErrorEvents
from theory.learning.agents import FiniteAgent
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.validation import FloatArray

# Sorted weights that agree to this, relatively, make two agents alike; the difference is added to
# the weights' errors.
_ALIKE = 1e-11


@dataclass(frozen=True)
class AgentClass:
    """Agents that are alike: the one computed, how many there are, and how far weights differ."""

    agent: int
    count: int
    difference: float


@dataclass(frozen=True, eq=False)
class EventSet:
    """All events of one network and model."""

    network: Network
    model: FiniteModel

    @cached_property
    def base(self) -> ErrorEvents:
        """The reference, the wrong hypotheses, prior log-odds."""
        return ErrorEvents(self.network, self.model)

    @cached_property
    def powers(self) -> Powers:
        """The powers of W."""
        return Powers(self.network)

    @cached_property
    def laws(self) -> tuple[Laws, ...]:
        """The laws of z(θ*, θ), one for each wrong θ."""
        return tuple(pair_laws(self.model, self.base.best, theta) for theta in self.base.wrong)

    @cached_property
    def classes(self) -> tuple[AgentClass, ...]:
        """The classes of agents, by their first member."""
        rows, assignment = self.powers.rows, self.model.assignment
        shares = rows @ self.base.priors
        kinds = [np.flatnonzero(assignment == kind) for kind in np.unique(assignment)]
        ordered = np.concatenate(
            [np.sort(rows[:, :, members], axis=2) for members in kinds], axis=2
        )
        found: list[AgentClass] = []
        for agent in range(self.network.agents):
            for index, known in enumerate(found):
                difference = self._difference(ordered, shares, agent, known.agent)
                if difference <= _ALIKE:
                    worst = max(known.difference, difference)
                    found[index] = replace(known, count=known.count + 1, difference=worst)
                    break
            else:
                found.append(AgentClass(agent, 1, 0.0))
        return tuple(found)

    @staticmethod
    def _difference(ordered: FloatArray, shares: FloatArray, first: int, second: int) -> float:
        worst = 0.0
        for table, size in ((ordered, 0.0), (shares, 1.0)):
            a, b = table[:, first], table[:, second]
            gap = np.abs(a - b)
            # Most pairs differ in the first round.
            for part in (slice(0, 2), slice(2, None)):
                if gap[part].size:
                    scale = np.maximum(np.maximum(np.abs(a[part]), np.abs(b[part])), size)
                    with np.errstate(invalid="ignore"):
                        relative = np.where(gap[part] > 0, gap[part] / scale, 0.0)
                    worst = max(worst, float(relative.max()))
                if worst > _ALIKE:
                    return worst
        return worst

    @cached_property
    def factors(self) -> tuple[int, ...]:
        """The number of distinct factors of each class in a settled round."""
        return tuple(int(t.first[-1] - t.first[-2]) for t in self._assembled)

    @cached_property
    def atoms(self) -> int:
        """The number of atoms of all laws of one hypothesis, the most of any."""
        return max(laws.means.size for laws in self.laws)

    @cached_property
    def _assembled(self) -> tuple[EventTerms, ...]:
        """The terms of each class for the first wrong hypothesis."""
        priors = self.base.priors[:, 0]
        found = []
        for member in self.classes:
            terms = agent_terms(
                self.powers, self.model.assignment, self.laws[0], priors, member.agent
            )
            slack = terms.slack + member.difference * terms.high
            found.append(replace(terms, slack=slack))
        return tuple(found)

    def terms(self, wrong: int, index: int) -> EventTerms:
        """The terms of Λ_i for the wrong hypothesis number `wrong` and class number `index`."""
        member = self.classes[index]
        shift, error = prior_shares(self.powers, self.base.priors[:, wrong], member.agent)
        error = error + member.difference * np.maximum(1.0, np.abs(shift))
        return replace(
            self._assembled[index], laws=self.laws[wrong], shift=shift, shift_error=error
        )

    def shared_terms(self, wrong: int, tilt: float) -> EventTerms:
        """The terms of one event that covers all agents, for the wrong hypothesis `wrong`."""
        return shared_terms(
            self.powers,
            self.model.assignment,
            self.laws[wrong],
            self.base.priors[:, wrong],
            tilt,
        )

    def mixed_terms(self, wrong: tuple[int, int], share: float, index: int) -> EventTerms | None:
        """The terms of share Λ_i(θ) + (1 − share) Λ_i(θ') for two wrong hypotheses, one class."""
        first, second = wrong
        pair = (self.base.wrong[first], self.base.wrong[second])
        laws = mixed_laws(self.model, self.base.best, pair, share)
        if laws is None:
            return None
        one, two = self.terms(first, index), self.terms(second, index)
        return replace(
            one,
            laws=laws,
            shift=share * one.shift + (1.0 - share) * two.shift,
            shift_error=one.shift_error
            + two.shift_error
            + 4 * EPS * (np.abs(one.shift) + np.abs(two.shift)),
        )

    @cached_property
    def is_unique(self) -> bool:
        """Whether one wrong Λ_i ≤ 0 makes an error: one reference, or exact copies of one."""
        best, *others = self.base.rate.reference
        return all(self._is_copy(best, other) for other in others)

    def _is_copy(self, best: int, other: int) -> bool:
        model = self.model
        if not np.array_equal(model.log_priors[:, best], model.log_priors[:, other]):
            return False
        for kind in model.kinds:
            table = kind.log_likelihoods if isinstance(kind, FiniteAgent) else kind.means
            if not np.array_equal(table[best], table[other]):
                return False
        return True
