"""The proved numbers of `analyse`, part by part: of the network, of learning, and of its rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from peerbayes.documents import interval
from peerbayes.kinds.finite.documents import (
    ProvedLearningDocument,
    ProvedMessagesDocument,
    ProvedSamplesDocument,
    RoundsInterval,
)
from peerbayes.kinds.shared.learning_notes import reference_notes
from peerbayes.kinds.shared.network_proofs import (
    RELATIVE_WIDTH,
    Arithmetic,
    NetworkProofs,
    exact_number,
    interval_alone,
)
from peerbayes.kinds.shared.proved_documents import IntervalDocument, Proved
from peerbayes.learning_documents import batches_of, name_of
from peerbayes.problem.finite import Problem
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
from theory.messages import certify_messages
from theory.numbers import Enclosure, as_fraction
from theory.progress import Progress
from theory.rational import RationalModel, RationalNetwork, tie_gap
from theory.rational.rate import RationalRate, rational_rate

# Where enclosing the number of rounds is expected to take longer, it is left out, with a note.
_MOST_SECONDS = 600.0


@dataclass(frozen=True, eq=False)
class Proofs:
    """The parts of one analysis; what several of them need is computed when it is first asked."""

    problem: Problem
    arithmetic: Arithmetic
    delta: float
    progress: Progress

    @property
    def is_exact(self) -> bool:
        """Whether fractions and expressions are asked for."""
        return self.arithmetic == "exact"

    @property
    def network(self) -> RationalNetwork:
        """The network in fractions."""
        return self.problem.rational_network

    @property
    def model(self) -> RationalModel:
        """The model in fractions."""
        return self.problem.rational_model

    @cached_property
    def network_proofs(self) -> NetworkProofs:
        """The proved numbers of the network."""
        return NetworkProofs(self.network, self.arithmetic, self.progress)

    @property
    def certified_network(self) -> CertifiedNetwork:
        """The network in intervals."""
        return self.network_proofs.certified

    @cached_property
    def certified_learning(self) -> CertifiedLearning:
        """Rates and exponents in intervals."""
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
            batch=batches_of(self.problem.model),
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
            printed_p2=self._rounds(ladder.printed_p2),
            repaired=self._rounds(ladder.repaired),
            chernoff=self._rounds(ladder.chernoff),
            certified=interval(two_sided),
            notes=[
                *ladder.notes,
                *(f"{name}: {rung.note}" for name, rung in rungs.items() if rung is not None),
                f"certified: {two_sided.note}",
            ],
        )

    def messages_part(self, samples: ProvedSamplesDocument) -> ProvedMessagesDocument:
        """The JSON key "messages", of a problem whose agents compress with a replica."""
        messages = self.problem.messages
        assert messages is not None
        found = certify_messages(
            self.network,
            self.model,
            messages,
            delta=self.delta,
            exponent=self.certified_learning.exponent.midpoint,
            progress=self.progress,
        )
        rounds = None if found.rounds is None else found.rounds.upper
        before = samples.chernoff
        without = before.upper if isinstance(before, RoundsInterval) else before
        each = Fraction(found.links * found.frame, found.silence)
        return ProvedMessagesDocument(
            quantiser=messages.name,
            step=str(as_fraction(messages.step)),
            mixing=str(as_fraction(messages.mixing)),
            levels=found.quantiser.levels or found.least,
            least_levels=found.least,
            links=found.links,
            message_bytes=found.frame,
            bytes_per_round=str(each),
            deviation=[IntervalDocument.of(one) for one in found.deviation],
            extra_rounds=None if rounds is None or without is None else rounds - without,
            certified_rounds=[None, rounds],
            certified_bytes=[None, found.sufficient_bytes],
            note="" if found.rounds is None else found.rounds.note,
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
