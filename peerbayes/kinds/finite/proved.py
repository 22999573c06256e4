"""`peerbayes analyse --exact` and `--certify`: numbers that are proved.

With ``--certify`` every number is an interval that contains the truth. Numbers that a file writes
as strings are the rationals they say; doubles are the binary fractions they are. With ``--exact``,
for problems without doubles, what is rational is a fraction; what is a sum of logarithms or an
algebraic number is an expression beside its interval; only what has no closed form (deviations,
exponents) is an interval alone.

Value objects in, a result object out; nothing is printed here (docs: reference/json).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter
from rich.console import RenderableType

from peerbayes.documents import Document, Documented, interval
from peerbayes.kinds.finite.at_rounds import AtRounds
from peerbayes.kinds.finite.certificates import PartStore
from peerbayes.kinds.finite.documents import (
    ProvedAnalysisDocument,
    ProvedLearningDocument,
    ProvedSamplesDocument,
    RoundsInterval,
)
from peerbayes.kinds.finite.proved_tables import proved_parts
from peerbayes.kinds.learning_notes import reference_notes
from peerbayes.kinds.network_proofs import (
    RELATIVE_WIDTH,
    Arithmetic,
    NetworkProofs,
    check_exact,
    exact_number,
    interval_alone,
)
from peerbayes.kinds.proved_documents import IntervalDocument, Proved, ProvedNetworkDocument
from peerbayes.learning_documents import name_of
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

D = TypeVar("D", bound=Document)
_NETWORK: TypeAdapter[ProvedNetworkDocument] = TypeAdapter(ProvedNetworkDocument)
_LEARNING = TypeAdapter(ProvedLearningDocument)
_SAMPLES = TypeAdapter(ProvedSamplesDocument)
# Parts, and steps of the progress bar for each of them.
_STAGES, _STEPS = 3, 100
# Where enclosing the number of rounds is expected to take longer, it is left out, with a note.
_MOST_SECONDS = 600.0


@dataclass(frozen=True, eq=False)
class ProvedAnalysis(Documented):
    """The numbers of `analyse`, each proved.

    Attributes
    ----------
    problem
        What was analysed.
    arithmetic
        "exact" or "certified".
    network, learning, samples
        The three parts of what is printed; each has notes of its own.
    record
        Where the parts that took long are kept; None if there is no such file.
    at_rounds
        What a number of rounds is good for; None if that was not asked.
    """

    problem: Problem
    arithmetic: Arithmetic
    network: ProvedNetworkDocument
    learning: ProvedLearningDocument
    samples: ProvedSamplesDocument
    record: Path | None = None
    at_rounds: AtRounds | None = None

    @property
    def notes(self) -> list[str]:
        """Why a number is missing, or how it was found."""
        return [n for part in (self.network, self.learning, self.samples) for n in part.notes or ()]

    def document(self) -> ProvedAnalysisDocument:
        """What `analyse` prints; null stands for what is not known, see ``notes``."""
        bare = {"notes": None}
        return ProvedAnalysisDocument(
            problem=self.problem.name,
            arithmetic=self.arithmetic,
            network=self.network.model_copy(update=bare),
            learning=self.learning.model_copy(update=bare),
            samples=self.samples.model_copy(update=bare),
            notes=self.notes,
            record=None if self.record is None else str(self.record),
            at_rounds=None if self.at_rounds is None else self.at_rounds.document(),
        )

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return proved_parts(self.document())


def analyse_proved(
    problem: Problem,
    *,
    arithmetic: Arithmetic,
    delta: float = 0.05,
    out: Path | None = None,
    progress: Progress | None = None,
) -> ProvedAnalysis:
    """Predict mixing, best hypotheses, rate, exponent and sample sizes, with proofs.

    Parameters
    ----------
    arithmetic
        "exact" for a problem all of whose numbers are exact, "certified" for any.
    out
        Folder for the parts that take long: after an interruption they are read back. None keeps
        nothing.
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
    store = None
    if out is not None:
        check_folder(out)
        store = PartStore.open(out, problem, arithmetic=arithmetic, delta=delta)
    report = progress or (lambda done, total: None)
    done: list[str] = []

    def inside(steps: int, total: int) -> None:
        share = min(_STEPS - 1, _STEPS * steps // max(1, total))
        report(len(done) * _STEPS + share, _STAGES * _STEPS)

    def part(name: str, kind: TypeAdapter[D], compute: Callable[[], D]) -> D:
        """A finished part: read back if it was kept."""
        inside(0, 1)
        found = compute() if store is None else _kept(store, name, kind, compute)
        done.append(name)
        return found

    proofs = _Proofs(problem, arithmetic, delta, inside)
    network = part("network", _NETWORK, proofs.network_proofs.part)
    learning = part("learning", _LEARNING, proofs.learning_part)
    samples = part("samples", _SAMPLES, proofs.samples_part)
    report(_STAGES * _STEPS, _STAGES * _STEPS)
    record = store.path if store is not None and store.path.exists() else None
    return ProvedAnalysis(problem, arithmetic, network, learning, samples, record)


def _kept(store: PartStore, name: str, kind: TypeAdapter[D], compute: Callable[[], D]) -> D:
    return kind.validate_python(store.part(name, lambda: compute().as_json()))


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
            self.network, self.model, relative_width=RELATIVE_WIDTH, progress=self.progress
        )

    def learning_part(self) -> ProvedLearningDocument:
        """The JSON key "learning", with notes."""
        names = self.model.hypotheses
        found = self.certified_learning
        rate = rational_rate(self.network, self.model) if self.is_exact else None
        numbers = self._certified_rates(found) if rate is None else self._exact_rates(rate)
        reference, is_compromise = numbers.reference, numbers.is_compromise
        wrong = [m for m in range(len(names)) if m not in reference]
        best = [names[m] for m in reference]
        write: Callable[[Enclosure], Proved] = (
            interval_alone if self.is_exact else IntervalDocument.of
        )
        return ProvedLearningDocument(
            optimal_hypotheses=[] if is_compromise else best,
            compromise=best if is_compromise else None,
            globally_learnable=None if is_compromise is None else not is_compromise,
            rate=numbers.rate,
            binding_hypothesis=name_of(names, numbers.binding),
            rates={names[m]: numbers.rates[m] for m in wrong},
            error_exponent=write(found.exponent) if wrong else None,
            binding_for_exponent=name_of(names, _first(found.binding_for_exponent)),
            exponents={names[m]: write(found.exponents[m]) for m in wrong},
            divergences={names[m]: numbers.divergences[m] for m in wrong},
            ambiguous_pairs=[[names[a], names[b]] for a, b in self.model.ambiguous_pairs],
            log_ratio_bound=numbers.log_ratio_bound,
            notes=[
                *found.notes,
                *reference_notes(names, reference, is_compromise=is_compromise),
            ],
        )

    def _certified_rates(self, found: CertifiedLearning) -> _Rates:
        wrong = [m for m in range(len(self.model.hypotheses)) if m not in found.reference]
        bound = found.log_ratio_bound
        return _Rates(
            reference=found.reference,
            is_compromise=found.is_compromise,
            rate=IntervalDocument.of(found.rate) if wrong else None,
            binding=_first(found.binding),
            rates={m: IntervalDocument.of(found.rates[m]) for m in wrong},
            divergences={
                m: [IntervalDocument.of(found.information[m][k]) for k in self.model.assignment]
                for m in wrong
            },
            log_ratio_bound=None if bound is None else IntervalDocument.of(bound),
        )

    def _exact_rates(self, found: RationalRate) -> _Rates:
        wrong = [m for m in range(len(self.model.hypotheses)) if m not in found.reference]
        bound = self.model.log_ratio_bound
        return _Rates(
            reference=found.reference,
            is_compromise=found.is_compromise,
            rate=None if found.rate is None else exact_number(found.rate),
            binding=found.binding,
            rates={m: exact_number(found.rates[m]) for m in wrong},
            divergences={m: [exact_number(value) for value in found.divergences(m)] for m in wrong},
            log_ratio_bound=None if bound is None else exact_number(bound),
        )

    def samples_part(self) -> ProvedSamplesDocument:
        """The JSON key "samples", with notes."""
        if self.network.agents > MOST_CERTIFIED_AGENTS:
            return ProvedSamplesDocument(
                delta=self.delta,
                printed=None,
                repaired=None,
                chernoff=None,
                notes=[f"sample sizes are certified for at most {MOST_CERTIFIED_AGENTS} agents"],
            )
        evidence = Evidence(self.network, self.model)
        reference = decide_reference(evidence)
        ladder = certify_sample_sizes(
            certified_ladder(evidence, reference, self.certified_network),
            delta=self.delta,
            exponent=self.certified_learning.exponent.midpoint,
            second_eigenvalue=self.certified_network.second_eigenvalue,
            progress=self.progress,
        )
        rungs = {
            "printed": ladder.printed,
            "repaired": ladder.repaired,
            "chernoff": ladder.chernoff,
        }
        two_sided = self._two_sided(reference.hypotheses)
        return ProvedSamplesDocument(
            delta=self.delta,
            printed=self._rounds(ladder.printed),
            repaired=self._rounds(ladder.repaired),
            chernoff=self._rounds(ladder.chernoff),
            certified=interval(two_sided),
            notes=[
                *ladder.notes,
                *(f"{name}: {rung.note}" for name, rung in rungs.items() if rung is not None),
                f"certified: {two_sided.note}",
            ],
        )

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

    def _rounds(self, rung: CertifiedRounds | None) -> int | RoundsInterval | None:
        if rung is None:
            return None
        if self.is_exact and rung.is_exact:
            return rung.lower
        return RoundsInterval(lower=rung.lower, upper=rung.upper)


@dataclass(frozen=True, eq=False)
class _Rates:
    """Rates in one of the two arithmetics, by the number of each wrong hypothesis."""

    reference: tuple[int, ...]
    is_compromise: bool | None
    rate: Proved | None
    binding: int | None
    rates: Mapping[int, Proved]
    divergences: Mapping[int, list[Proved]]
    log_ratio_bound: Proved | None


def _first(binding: tuple[int, ...]) -> int | None:
    """The binding hypothesis; the first of several that tie."""
    return binding[0] if binding else None
