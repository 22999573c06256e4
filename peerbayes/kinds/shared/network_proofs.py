"""Proved numbers of a network alone, as fractions and expressions or as intervals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from peerbayes.kinds.shared.proved_documents import (
    CertifiedNetworkDocument,
    ExactNetworkDocument,
    ExpressionDocument,
    IntervalDocument,
    Proved,
    ProvedNetworkDocument,
)
from peerbayes.messages import input_error
from peerbayes.problem.finite import Problem
from peerbayes.problem.regression import RegressionProblem
from theory.certified.network import (
    MOST_CERTIFIED_AGENTS,
    CertifiedNetwork,
    certify_network,
)
from theory.network import Network
from theory.numbers import Enclosure, LogSum
from theory.progress import Progress
from theory.rational import RationalNetwork
from theory.rational.algebraic import AlgebraicNumber

Arithmetic = Literal["exact", "certified"]


ONE_AGENT = "one agent has no second eigenvalue"
# What is asked of every interval, relative to its ends.
RELATIVE_WIDTH = 1e-12


def spectrum_notes(network: Network) -> list[str]:
    """Why the subdominant modulus or the second eigenvalue is missing, if one is."""
    note = ONE_AGENT if network.agents == 1 else network.spectrum.note
    return [note] if note else []


def check_exact(problem: Problem | RegressionProblem, *, remedy: str = "") -> None:
    """Refuse a problem with floating-point numbers, in one line; `remedy` is another way out.

    Raises
    ------
    ValueError
        If some number of the problem is not exact.
    """
    if problem.is_exact:
        return
    if problem.specification is None:
        got = f"{problem.without_file}, in floating point"
    else:
        got = "floating-point numbers"
    raise input_error(
        problem.name,
        ("--exact",),
        'a problem all of whose numbers are strings, such as "9/10"',
        got,
        "write its numbers as strings" + (f", or {remedy}" if remedy else ""),
    )


@dataclass(frozen=True, eq=False)
class NetworkProofs:
    """The proved numbers of a network alone."""

    network: RationalNetwork
    arithmetic: Arithmetic
    progress: Progress = lambda done, total: None

    @property
    def is_exact(self) -> bool:
        """Whether fractions and expressions are asked for."""
        return self.arithmetic == "exact"

    @cached_property
    def certified(self) -> CertifiedNetwork:
        """Every number as an interval."""
        return certify_network(self.network, relative_width=RELATIVE_WIDTH, progress=self.progress)

    def part(self) -> ProvedNetworkDocument:
        """The JSON key "network", with notes on how its numbers were found."""
        return self.exact_part() if self.is_exact else self._certified_network()

    def _certified_network(self) -> CertifiedNetworkDocument:
        found = self.certified
        second = found.second_eigenvalue
        notes = [] if second is not None else [ONE_AGENT]
        return CertifiedNetworkDocument(
            agents=self.network.agents,
            period=self.network.period,
            reversible=self.network.is_reversible,
            stationary_distribution=[IntervalDocument.of(v) for v in found.stationary_distribution],
            slem=IntervalDocument.of(found.slem),
            slem_method=found.slem_method,
            second_eigenvalue=None if second is None else IntervalDocument.of(second),
            second_eigenvalue_method=found.second_eigenvalue_method,
            deviation=[IntervalDocument.of(d) for d in found.deviation],
            deviation_method=found.deviation_method,
            notes=[*notes, *found.notes],
        )

    def exact_part(self) -> ExactNetworkDocument:
        """The same in fractions and expressions."""
        network, notes = self.network, []
        spectrum, second = None, None
        try:
            spectrum = network.spectrum
        except ValueError as error:
            # Takes more than a minute; all else does not need it.
            notes.append(f"slem and second eigenvalue: {error}")
        else:
            second = spectrum.second_eigenvalue
            if second is None:
                notes.append(ONE_AGENT)
        deviation = self._exact_deviation(notes)
        return ExactNetworkDocument(
            agents=network.agents,
            period=network.period,
            reversible=network.is_reversible,
            stationary_distribution=[str(v) for v in network.stationary_distribution],
            slem=None if spectrum is None else exact_number(spectrum.slem),
            second_eigenvalue=None if second is None else exact_number(second),
            zero_eigenvalues=None if spectrum is None else spectrum.zeros,
            diagonalisable=None if spectrum is None else spectrum.is_diagonalisable,
            deviation=deviation,
            kemeny_constant=str(network.deviation.kemeny),
            notes=notes,
        )

    def _exact_deviation(self, notes: list[str]) -> list[Proved]:
        """Every D_i, as a fraction if it is known to be one; adds to the notes if not."""
        deviation = self.network.deviation
        if deviation.exact is not None:
            return [str(d) for d in deviation.exact]
        if self.network.agents > MOST_CERTIFIED_AGENTS:
            notes.append(f"deviation: no exact value found; intervals by {deviation.method}")
            return [interval_alone(d) for d in deviation.enclosures]
        certificate = self.certified
        notes.append(
            "deviation: no exact value found; intervals by the method "
            f"{certificate.deviation_method}"
        )
        notes += [note for note in certificate.notes if "deviation" in note]
        return [interval_alone(d) for d in certificate.deviation]


def exact_number(value: LogSum | AlgebraicNumber) -> Proved:
    """A fraction as text; any other exact number as an expression with its interval."""
    rational: Fraction | None = value.rational
    if isinstance(value, LogSum) and not value.is_rational:
        rational = None
    if rational is not None:
        return str(rational)
    return ExpressionDocument.of(value.enclosure(), str(value))


def interval_alone(value: Enclosure) -> Proved:
    """An interval without an expression; 0 is exact."""
    if value.lower == value.upper == 0:
        return "0"
    return ExpressionDocument.of(value)
