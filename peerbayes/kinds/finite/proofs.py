"""`peerbayes analyse --exact` and `--certify`: how the numbers are proved, part by part.

The parts are the network, learning, its rounds, and messages. Each that takes long is kept at once
where a folder is given, and read back when the same is asked again (`certificates`).
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from peerbayes._version import __version__
from peerbayes.kinds.finite.analyse import Analysis, rounds_asked
from peerbayes.kinds.shared.analyse import (
    RELATIVE_WIDTH,
    Arithmetic,
    NetworkProofs,
    check_exact,
)
from peerbayes.problem.problems import Problem
from peerbayes.quantities.learning import Learnt, batches_of, name_of, settled
from peerbayes.quantities.messages import MessageCosts
from peerbayes.quantities.network import NetworkNumbers
from peerbayes.quantities.numbers import RoundsBetween, exact_number, kept, restored, without_form
from peerbayes.quantities.sizes import Sizes, both_ends
from peerbayes.records import check_folder, file_name, plain, read_record, write_record
from peerbayes.settings.questions import Analyse
from theory import CertifiedSampleSize, account, learning_rate
from theory.certified.information import decide_reference
from theory.certified.ladder import CertifiedRounds, certify_sample_sizes
from theory.certified.learning import CertifiedLearning, certified_ladder, certify_learning
from theory.certified.maximum import Evidence
from theory.certified.network import MOST_CERTIFIED_AGENTS, CertifiedNetwork
from theory.messages import certify_messages, message_levels
from theory.numbers import as_fraction
from theory.progress import Progress
from theory.rational import RationalModel, RationalNetwork, tie_gap
from theory.rational.model import RationalRate, rational_rate

# Parts of a long certificate, kept as they are finished ------------------------------------------


KIND = "certificate"
# Parts that are computed faster than this are not worth a file.
_KEEP_SECONDS = 1.0


@dataclass(frozen=True)
class PartStore:
    """Where the finished parts of one request are kept.

    Attributes
    ----------
    path
        The record.
    key
        What the parts depend on, as plain JSON.
    """

    path: Path
    key: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Path, problem: Problem, **request: object) -> PartStore:
        """The store of one problem and request, in a folder that need not exist yet."""
        key = plain({"problem": fingerprint(problem), "version": __version__, **request})
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode("ascii")).hexdigest()
        return cls(folder / file_name("certificate", problem.name, digest[:12]), key)

    def part(self, name: str, compute: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The part of that name: read back if it is there, else computed and kept if it was slow.

        Raises
        ------
        ValueError
            If the record is damaged, or cannot be written.
        """
        parts = self._parts()
        if name in parts:
            found: Mapping[str, Any] = parts[name]
            return found
        start = time.monotonic()
        result = plain(compute())
        if time.monotonic() - start >= _KEEP_SECONDS:
            body = {"key": self.key, "parts": {**self._parts(), name: result}}
            write_record(self.path, kind=KIND, body=body)
        return dict(result)

    def _parts(self) -> dict[str, Any]:
        if not self.path.exists():
            return {}
        try:
            record = read_record(self.path)
        except ValueError as error:
            raise ValueError(f"{error}; or delete the file and run again") from None
        if record.kind != KIND or record.body.get("key") != self.key:
            return {}
        return dict(record.body["parts"])


def fingerprint(problem: Problem) -> str:
    """A hash of everything that the numbers of a problem follow from, fractions as they are."""
    if problem.specification is None:
        return problem.sha256
    return hashlib.sha256(problem.specification.to_json().encode("utf-8")).hexdigest()


# `peerbayes analyse --exact` and `--certify` -----------------------------------------------------


P = TypeVar("P", NetworkNumbers, Learnt, Sizes, MessageCosts)
# Where enclosing the number of rounds is expected to take longer, it is left out, with a note.
_MOST_SECONDS = 600.0
# Parts, and steps of the progress bar for each of them.
_STAGES, _STEPS = 4, 100


def prove(problem: Problem, request: Analyse, progress: Progress | None = None) -> Analysis:
    """Mixing, best hypotheses, rate, exponent and sample sizes, with proofs.

    Raises
    ------
    ValueError
        If the problem has doubles (exact), it is too large for exact or certified numbers, or a
        record of an earlier run is damaged or cannot be written.
    """
    arithmetic: Arithmetic = "exact" if request.exact else "certified"
    delta, out, store = request.error, request.folder, None
    if arithmetic == "exact":
        check_exact(problem, remedy="use --certify, which takes any problem")
    if out is not None:
        check_folder(out)
        store = PartStore.open(out, problem, arithmetic=arithmetic, delta=delta, form=2)
    report = progress or (lambda done, total: None)
    done: list[str] = []

    def inside(steps: int, total: int) -> None:
        share = min(_STEPS - 1, _STEPS * steps // max(1, total))
        report(len(done) * _STEPS + share, _STAGES * _STEPS)

    def finished(name: str, kind: type[P], compute: Callable[[], P]) -> P:
        """A part: read back if it was kept."""
        inside(0, 1)
        found = compute() if store is None else _kept(store, name, kind, compute)
        done.append(name)
        return found

    proofs = Proofs(problem, arithmetic, delta, inside)
    mixing = finished("network", NetworkNumbers, proofs.network_proofs.numbers)
    learning = finished("learning", Learnt, proofs.learning_part)
    sizes = finished("samples", Sizes, proofs.samples_part)
    costs, unproved = None, "" if problem.messages is None else _unproved(problem)
    if problem.messages is not None and not unproved:
        costs = finished("messages", MessageCosts, lambda: proofs.messages_part(sizes))
    report(_STAGES * _STEPS, _STAGES * _STEPS)
    notes = (*mixing.notes, *learning.notes, *sizes.notes)
    return Analysis(
        problem=problem,
        arithmetic=arithmetic,
        mixing=mixing,
        learning=learning,
        sizes=sizes,
        notes=(*notes, f"messages: {unproved}") if unproved else notes,
        costs=costs,
        record=store.path if store is not None and store.path.exists() else None,
        at_rounds=rounds_asked(problem, request),
    )


def _kept(store: PartStore, name: str, kind: type[P], compute: Callable[[], P]) -> P:
    def tree() -> dict[str, Any]:
        found = compute()
        return {field.name: kept(getattr(found, field.name)) for field in fields(found)}

    return kind(**{key: restored(value) for key, value in store.part(name, tree).items()})


def _unproved(problem: Problem) -> str:
    """Why nothing is proved of the table [messages]; empty if something is."""
    quantiser = problem.messages
    assert quantiser is not None
    if not quantiser.has_replica or problem.rational_model.log_ratio_bound is None:
        return "nothing is proved without a replica, nor of normal data"
    if math.isinf(message_levels(problem.network, problem.model, quantiser).error):
        return "nothing is proved where log-ratios wait by chance, or with so much mixing"
    return ""


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

    def learning_part(self) -> Learnt:
        """What is learnt, and how fast: K and the numbers it rests on as fractions, if asked."""
        names, found, kinds = self.model.hypotheses, self.certified_learning, self.model.assignment
        write, read, binding = _as_it_is, _as_it_is, _first(found.binding)
        best: CertifiedLearning | RationalRate = found
        bound: Any = found.log_ratio_bound

        def divergences(m: int) -> Sequence[Any]:
            return (
                [found.information[m][k] for k in kinds] if exact is None else exact.divergences(m)
            )

        exact = rational_rate(self.network, self.model) if self.is_exact else None
        if exact is not None:
            best, write, read = exact, exact_number, without_form
            binding, bound = exact.binding, self.model.log_ratio_bound
        wrong = {m: name for m, name in enumerate(names) if m not in best.reference}
        learnt = settled(names, best.reference, is_compromise=best.is_compromise)
        return Learnt(
            **learnt | {"notes": (*found.notes, *learnt["notes"])},
            rate=write(best.rate) if wrong else None,
            binding_hypothesis=name_of(names, binding),
            rates={name: write(best.rates[m]) for m, name in wrong.items()},
            divergences={name: tuple(map(write, divergences(m))) for m, name in wrong.items()},
            log_ratio_bound=None if bound is None else write(bound),
            error_exponent=read(found.exponent) if wrong else None,
            binding_for_exponent=name_of(names, _first(found.binding_for_exponent)),
            exponents={name: read(found.exponents[m]) for m, name in wrong.items()},
            ambiguous_pairs=tuple((names[a], names[b]) for a, b in self.model.ambiguous_pairs),
            batch=batches_of(self.problem.model),
        )

    def samples_part(self) -> Sizes:
        """The ladder of sample sizes."""
        if self.network.agents > MOST_CERTIFIED_AGENTS:
            note = f"sample sizes are certified for at most {MOST_CERTIFIED_AGENTS} agents"
            none = dict.fromkeys(("printed", "repaired", "chernoff", "certified", "printed_p2"))
            return Sizes(delta=self.delta, **none, notes=(note,))
        evidence = Evidence(self.network, self.model)
        reference = decide_reference(evidence)
        ladder = certify_sample_sizes(
            certified_ladder(evidence, reference, self.certified_network),
            delta=self.delta,
            exponent=self.certified_learning.exponent.midpoint,
            second_eigenvalue=self.certified_network.second_eigenvalue,
            progress=self.progress,
        )
        rungs = {name: getattr(ladder, name) for name in ("printed", "repaired", "chernoff")}
        two_sided = self._two_sided(reference.hypotheses, ladder.chernoff)
        return Sizes(
            delta=self.delta,
            printed=self._rounds(ladder.printed),
            printed_p2=self._rounds(ladder.printed_p2),
            repaired=self._rounds(ladder.repaired),
            chernoff=self._rounds(ladder.chernoff),
            certified=both_ends(two_sided),
            notes=(
                *ladder.notes,
                *(f"{name}: {rung.note}" for name, rung in rungs.items() if rung is not None),
                f"certified: {two_sided.note}",
            ),
        )

    def messages_part(self, sizes: Sizes) -> MessageCosts:
        """What messages cost, of a problem whose agents compress with a replica."""
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
        before = sizes.chernoff
        without = before.upper if isinstance(before, RoundsBetween) else before
        return MessageCosts(
            quantiser=messages.name,
            step=as_fraction(messages.step),
            mixing=as_fraction(messages.mixing),
            levels=found.quantiser.levels or found.least,
            least_levels=found.least,
            links=found.links,
            message_bytes=found.frame,
            bytes_per_round=Fraction(found.links * found.frame, found.silence),
            deviation=tuple(found.deviation),
            extra_rounds=None if rounds is None or without is None else rounds - without,
            certified_rounds=(None, rounds),
            certified_bytes=(None, found.sufficient_bytes),
            note="" if found.rounds is None else found.rounds.note,
        )

    def _two_sided(
        self, reference: tuple[int, ...], chernoff: CertifiedRounds | None
    ) -> CertifiedSampleSize:
        """The accountant's enclosure, which rests on doubles and on bounds of their errors."""
        network, model = self.problem.network, self.problem.model
        rate = learning_rate(network, model)
        if rate.reference != reference:
            # Errors would be counted against other hypotheses than those that were decided.
            note = "hypotheses that differ are equal in doubles, which this enclosure rests on"
            return CertifiedSampleSize(self.delta, None, None, None, note)
        gap = tie_gap(self.network, self.model, reference=reference)
        accountant = account(network, model, tie_gap=gap, rate=rate)
        pilot = None if chernoff is None else chernoff.upper
        return accountant.sample_size(self.delta, pilot=pilot, seconds=_MOST_SECONDS)

    def _rounds(self, rung: CertifiedRounds | None) -> int | RoundsBetween | None:
        if rung is None:
            return None
        if self.is_exact and rung.is_exact:
            return rung.lower
        return RoundsBetween(rung.lower, rung.upper)


def _as_it_is(value: Any) -> Any:
    return value


def _first(binding: tuple[int, ...]) -> int | None:
    """The binding hypothesis; the first of several that tie."""
    return binding[0] if binding else None
