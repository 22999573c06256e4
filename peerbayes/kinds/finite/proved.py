"""`peerbayes analyse --exact` and `--certify`: numbers that are proved.

With ``--certify`` every number is an interval that contains the truth. Numbers that a file writes
as strings are the rationals they say; doubles are the binary fractions they are. With ``--exact``,
for problems without doubles, what is rational is a fraction; what is a sum of logarithms or an
algebraic number is an expression beside its interval; only what has no closed form (deviations,
exponents) is an interval alone.

Value objects in, a result object out; nothing is printed here (docs: reference/json).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from peerbayes.kinds.finite.certificates import PartStore
from peerbayes.kinds.finite.proved_tables import proved_parts
from peerbayes.kinds.network_proofs import (
    _RELATIVE_WIDTH,
    Arithmetic,
    NetworkProofs,
    check_exact,
    exact_json,
    interval_alone,
)
from peerbayes.problem.finite import Problem
from peerbayes.records import check_folder
from theory import CertifiedSampleSize, account, learning_rate
from theory.certified.evidence import Evidence
from theory.certified.information import decide_reference
from theory.certified.ladder import certify_sample_sizes
from theory.certified.learning import CertifiedLearning, certified_ladder, certify_learning
from theory.certified.network import (
    MOST_CERTIFIED_AGENTS,
    CertifiedNetwork,
)
from theory.certified.rounds import CertifiedRounds
from theory.numbers import Enclosure
from theory.progress import Progress
from theory.rational import RationalModel, RationalNetwork, tie_gap
from theory.rational.rate import RationalRate, rational_rate
from theory.validation import as_probability

_STAGES = ("network", "learning", "samples")
# Steps of the progress bar for each of them.
_STEPS = 100
# Where enclosing the number of rounds is expected to take longer, it is left out, with a note.
_MOST_SECONDS = 600.0


@dataclass(frozen=True, eq=False)
class ProvedAnalysis:
    """The numbers of `analyse`, each proved.

    Attributes
    ----------
    problem
        What was analysed.
    arithmetic
        "exact" or "certified".
    network, learning, samples
        The three parts of the JSON object, as plain JSON.
    notes
        Why a number is missing, or how it was found.
    record
        Where the parts that took long are kept; None if there is no such file.
    """

    problem: Problem
    arithmetic: Arithmetic
    network: Mapping[str, Any]
    learning: Mapping[str, Any]
    samples: Mapping[str, Any]
    notes: tuple[str, ...]
    record: Path | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `analyse`; null stands for what cannot be had, see ``notes``."""
        return {
            "problem": self.problem.name,
            "arithmetic": self.arithmetic,
            "network": dict(self.network),
            "learning": dict(self.learning),
            "samples": dict(self.samples),
            "notes": list(self.notes),
            "record": None if self.record is None else str(self.record),
        }

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return proved_parts(self.as_json())


def analyse_proved(
    problem: Problem,
    *,
    arithmetic: Arithmetic,
    delta: float = 0.05,
    out: Path,
    progress: Progress | None = None,
) -> ProvedAnalysis:
    """Predict mixing, best hypotheses, rate, exponent and sample sizes, with proofs.

    Parameters
    ----------
    arithmetic
        "exact" for a problem all of whose numbers are exact, "certified" for any.
    out
        Folder for the parts that take long: after an interruption they are read back.
    progress
        Called with (steps done, all steps).

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), the problem has doubles (exact), it is too large for exact or
        certified numbers, or a record of an earlier run is damaged or cannot be written.
    """
    delta = as_probability("delta", delta)
    if arithmetic == "exact":
        check_exact(problem, remedy="use --certify, which takes any problem")
    check_folder(out)
    report = progress or (lambda done, total: None)
    steps = len(_STAGES) * _STEPS
    parts: dict[str, dict[str, Any]] = {}

    def inside(done: int, total: int) -> None:
        share = min(_STEPS - 1, _STEPS * done // max(1, total))
        report(len(parts) * _STEPS + share, steps)

    proofs = _Proofs(problem, arithmetic, delta, inside)
    store = PartStore.open(out, problem, arithmetic=arithmetic, delta=delta)
    notes: list[str] = []
    for name in _STAGES:
        inside(0, 1)
        part = dict(store.part(name, getattr(proofs, f"{name}_part")))
        notes += part.pop("notes")
        parts[name] = part
    report(steps, steps)
    record = store.path if store.path.exists() else None
    return ProvedAnalysis(problem, arithmetic, **parts, notes=tuple(notes), record=record)


@dataclass(frozen=True, eq=False)
class _Proofs:
    """The parts of one analysis; what several of them need is computed when it is first asked."""

    problem: Problem
    arithmetic: Arithmetic
    delta: float
    progress: Progress

    @property
    def is_exact(self) -> bool:
        return self.arithmetic == "exact"

    @property
    def network(self) -> RationalNetwork:
        return self.problem.rational_network

    @property
    def model(self) -> RationalModel:
        return self.problem.rational_model

    @cached_property
    def network_proofs(self) -> NetworkProofs:
        return NetworkProofs(self.network, self.arithmetic, self.progress)

    @property
    def certified_network(self) -> CertifiedNetwork:
        return self.network_proofs.certified

    @cached_property
    def certified_learning(self) -> CertifiedLearning:
        return certify_learning(
            self.network, self.model, relative_width=_RELATIVE_WIDTH, progress=self.progress
        )

    def network_part(self) -> dict[str, Any]:
        """The JSON key "network"."""
        return self.network_proofs.part()

    def learning_part(self) -> dict[str, Any]:
        """The JSON key "learning"."""
        names = self.model.hypotheses
        found = self.certified_learning
        rate = rational_rate(self.network, self.model) if self.is_exact else None
        reference = found.reference if rate is None else rate.reference
        wrong = [m for m in range(len(names)) if m not in reference]
        is_compromise = found.is_compromise if rate is None else rate.is_compromise
        write = interval_alone if self.is_exact else Enclosure.as_json
        notes = list(found.notes)
        if is_compromise:
            best = ", ".join(names[m] for m in reference)
            notes.append(
                "no hypothesis is best for every agent: rates are those of the network "
                f"compromise, {best}"
            )
        if not wrong:
            notes.append("every hypothesis is optimal: there is no rate and nothing to reject")
        return {
            "optimal_hypotheses": [] if is_compromise else [names[m] for m in reference],
            "compromise": [names[m] for m in reference] if is_compromise else None,
            "globally_learnable": None if is_compromise is None else not is_compromise,
            **(self._certified_rates(found) if rate is None else self._exact_rates(rate)),
            "error_exponent": write(found.exponent) if wrong else None,
            "binding_for_exponent": _first(names, found.binding_for_exponent),
            "exponents": {names[m]: write(found.exponents[m]) for m in wrong},
            "ambiguous_pairs": [[names[a], names[b]] for a, b in self.model.ambiguous_pairs],
            "notes": notes,
        }

    def _certified_rates(self, found: CertifiedLearning) -> dict[str, Any]:
        names = self.model.hypotheses
        wrong = [m for m in range(len(names)) if m not in found.reference]
        kinds = self.model.assignment
        bound = found.log_ratio_bound
        return {
            "rate": found.rate.as_json() if wrong else None,
            "binding_hypothesis": _first(names, found.binding),
            "rates": {names[m]: found.rates[m].as_json() for m in wrong},
            "divergences": {
                names[m]: [found.information[m][kind].as_json() for kind in kinds] for m in wrong
            },
            "log_ratio_bound": None if bound is None else bound.as_json(),
        }

    def _exact_rates(self, found: RationalRate) -> dict[str, Any]:
        names = self.model.hypotheses
        wrong = [m for m in range(len(names)) if m not in found.reference]
        bound = self.model.log_ratio_bound
        return {
            "rate": None if found.rate is None else exact_json(found.rate),
            "binding_hypothesis": None if found.binding is None else names[found.binding],
            "rates": {names[m]: exact_json(found.rates[m]) for m in wrong},
            "divergences": {
                names[m]: [exact_json(value) for value in found.divergences(m)] for m in wrong
            },
            "log_ratio_bound": None if bound is None else exact_json(bound),
        }

    def samples_part(self) -> dict[str, Any]:
        """The JSON key "samples"."""
        if self.network.agents > MOST_CERTIFIED_AGENTS:
            absent = dict.fromkeys(("printed", "repaired", "chernoff", "certified"))
            note = f"sample sizes are certified for at most {MOST_CERTIFIED_AGENTS} agents"
            return {"delta": self.delta, **absent, "notes": [note]}
        evidence = Evidence(self.network, self.model)
        reference = decide_reference(evidence)
        ladder = certify_sample_sizes(
            certified_ladder(evidence, reference, self.certified_network),
            delta=self.delta,
            exponent=self.certified_learning.exponent.midpoint,
            second_eigenvalue=self.certified_network.second_eigenvalue,
            progress=self.progress,
        )
        notes = list(ladder.notes)
        rungs: dict[str, Any] = {}
        for name in ("printed", "repaired", "chernoff"):
            rung: CertifiedRounds | None = getattr(ladder, name)
            rungs[name] = None if rung is None else self._rounds(rung)
            if rung is not None:
                notes.append(f"{name}: {rung.note}")
        two_sided = self._two_sided(reference.hypotheses)
        notes.append(f"certified: {two_sided.note}")
        ends = [two_sided.lower, two_sided.upper]
        certified = None if None in ends else ends
        return {"delta": self.delta, **rungs, "certified": certified, "notes": notes}

    def _two_sided(self, reference: tuple[int, ...]) -> CertifiedSampleSize:
        """The accountant's enclosure, which rests on doubles and on bounds of their errors."""
        network, model = self.problem.network, self.problem.model
        if learning_rate(network, model).reference != reference:
            # Errors would be counted against other hypotheses than those that were decided.
            note = "hypotheses that differ are equal in doubles, which this enclosure rests on"
            return CertifiedSampleSize(self.delta, None, None, None, note)
        gap = tie_gap(self.network, self.model, reference=reference)
        accountant = account(network, model, tie_gap=gap)
        return accountant.sample_size(self.delta, seconds=_MOST_SECONDS)

    def _rounds(self, rung: CertifiedRounds) -> Any:
        if self.is_exact and rung.is_exact:
            return rung.lower
        return {"lower": rung.lower, "upper": rung.upper}


def _first(names: tuple[str, ...], binding: tuple[int, ...]) -> str | None:
    """The binding hypothesis; the first of several that tie."""
    return names[binding[0]] if binding else None
