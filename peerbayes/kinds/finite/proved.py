"""`peerbayes analyse --exact` and `--certify`: numbers that are proved.

With ``--certify`` every number is an interval that contains the truth. Numbers that a file writes
as strings are the rationals they say; doubles are the binary fractions they are. With ``--exact``,
for problems without doubles, what is rational is a fraction; what is a sum of logarithms or an
algebraic number is an expression beside its interval; only what has no closed form (deviations,
exponents) is an interval alone.

Value objects in, a result object out; nothing is printed here (docs: reference/json).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter
from rich.console import RenderableType

from peerbayes.documents import Document, Documented
from peerbayes.kinds.finite.at_rounds import AtRounds
from peerbayes.kinds.finite.certificates import PartStore
from peerbayes.kinds.finite.documents import (
    ProvedAnalysisDocument,
    ProvedLearningDocument,
    ProvedMessagesDocument,
    ProvedSamplesDocument,
)
from peerbayes.kinds.finite.proofs import Proofs
from peerbayes.kinds.finite.proved_tables import proved, proved_parts
from peerbayes.kinds.shared.network_proofs import (
    Arithmetic,
    check_exact,
)
from peerbayes.kinds.shared.proved_documents import ProvedNetworkDocument
from peerbayes.problem.finite import Problem
from peerbayes.records import check_folder
from theory.messages import message_levels
from theory.progress import Progress
from theory.validation import as_probability

D = TypeVar("D", bound=Document)
_NETWORK: TypeAdapter[ProvedNetworkDocument] = TypeAdapter(ProvedNetworkDocument)
_LEARNING = TypeAdapter(ProvedLearningDocument)
_SAMPLES = TypeAdapter(ProvedSamplesDocument)
_MESSAGES = TypeAdapter(ProvedMessagesDocument)
# Parts, and steps of the progress bar for each of them.
_STAGES, _STEPS = 4, 100


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
    messages
        What compressed beliefs cost; None where they are sent as they are.
    at_rounds
        What a number of rounds is good for; None if that was not asked.
    """

    problem: Problem
    arithmetic: Arithmetic
    network: ProvedNetworkDocument
    learning: ProvedLearningDocument
    samples: ProvedSamplesDocument
    record: Path | None = None
    messages: ProvedMessagesDocument | None = None
    at_rounds: AtRounds | None = None

    def _facts(self) -> Iterator[tuple[str, object]]:
        learning, samples = self.learning, self.samples
        yield "arithmetic", self.arithmetic
        yield "settles on", tuple(learning.reference)
        yield "rate K", proved(learning.rate)
        if learning.binding_hypothesis is not None:
            yield "bound by", learning.binding_hypothesis
        yield "exponent E", proved(learning.error_exponent)
        yield "delta", samples.delta
        yield "samples, repaired", samples.repaired
        yield "samples, chernoff", samples.chernoff
        yield "samples, certified", samples.certified

    @property
    def notes(self) -> list[str]:
        """Why a number is missing, or how it was found."""
        notes = [
            n for part in (self.network, self.learning, self.samples) for n in part.notes or ()
        ]
        if self.problem.messages is not None and self.messages is None:
            notes.append(f"messages: {_unproved(self.problem)}")
        return notes

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
            messages=self.messages,
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

    proofs = Proofs(problem, arithmetic, delta, inside)
    network = part("network", _NETWORK, proofs.network_proofs.part)
    learning = part("learning", _LEARNING, proofs.learning_part)
    samples = part("samples", _SAMPLES, proofs.samples_part)
    messages = None
    if problem.messages is not None and not _unproved(problem):
        messages = part("messages", _MESSAGES, lambda: proofs.messages_part(samples))
    report(_STAGES * _STEPS, _STAGES * _STEPS)
    record = store.path if store is not None and store.path.exists() else None
    return ProvedAnalysis(problem, arithmetic, network, learning, samples, record, messages)


def _kept(store: PartStore, name: str, kind: TypeAdapter[D], compute: Callable[[], D]) -> D:
    return kind.validate_python(store.part(name, lambda: compute().as_json()))


def _unproved(problem: Problem) -> str:
    """Why nothing is proved of the table [messages]; empty if something is."""
    quantiser = problem.messages
    assert quantiser is not None
    if not quantiser.has_replica or problem.rational_model.log_ratio_bound is None:
        return "nothing is proved without a replica, nor of normal data"
    if math.isinf(message_levels(problem.network, problem.model, quantiser).error):
        return "nothing is proved where log-ratios wait by chance, or with so much mixing"
    return ""
