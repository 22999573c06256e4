"""Proved numbers of a network alone, as fractions and expressions or as intervals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from peerbayes.messages import input_error
from peerbayes.problem.finite import Problem
from peerbayes.problem.regression import RegressionProblem
from theory.certified.network import (
    MOST_CERTIFIED_AGENTS,
    CertifiedNetwork,
    certify_network,
)
from theory.numbers import Enclosure, LogSum
from theory.progress import Progress
from theory.rational import RationalNetwork
from theory.rational.algebraic import AlgebraicNumber

Arithmetic = Literal["exact", "certified"]


# What is asked of every interval, relative to its ends.
_RELATIVE_WIDTH = 1e-12


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
        return certify_network(self.network, relative_width=_RELATIVE_WIDTH, progress=self.progress)

    def part(self) -> dict[str, Any]:
        """The JSON key "network"."""
        shared = {
            "agents": self.network.agents,
            "irreducible": True,
            "period": self.network.period,
            "reversible": self.network.is_reversible,
        }
        if self.is_exact:
            return {**shared, **self._exact_network()}
        found = self.certified
        second = found.second_eigenvalue
        notes = [] if second is not None else ["one agent has no second eigenvalue"]
        return {
            **shared,
            "stationary_distribution": [v.as_json() for v in found.stationary_distribution],
            "slem": found.slem.as_json(),
            "slem_method": found.slem_method,
            "second_eigenvalue": None if second is None else second.as_json(),
            "second_eigenvalue_method": found.second_eigenvalue_method,
            "deviation": [d.as_json() for d in found.deviation],
            "deviation_method": found.deviation_method,
            "notes": [*notes, *found.notes],
        }

    def _exact_network(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "stationary_distribution": [str(v) for v in self.network.stationary_distribution]
        }
        notes: list[str] = []
        try:
            spectrum = self.network.spectrum
        except ValueError as error:
            # Takes more than a minute; all else does not need it.
            notes.append(f"slem and second eigenvalue: {error}")
            found |= dict.fromkeys(("slem", "second_eigenvalue"))
        else:
            second = spectrum.second_eigenvalue
            found |= {
                "slem": exact_json(spectrum.slem),
                "second_eigenvalue": None if second is None else exact_json(second),
                "zero_eigenvalues": spectrum.zeros,
                "diagonalisable": spectrum.is_diagonalisable,
            }
            if second is None:
                notes.append("one agent has no second eigenvalue")
        deviation = self.network.deviation
        if deviation.exact is not None:
            found["deviation"] = [str(d) for d in deviation.exact]
        elif self.network.agents > MOST_CERTIFIED_AGENTS:
            found["deviation"] = [interval_alone(d) for d in deviation.enclosures]
            notes.append(f"deviation: no exact value found; intervals by {deviation.method}")
        else:
            certificate = self.certified
            found["deviation"] = [interval_alone(d) for d in certificate.deviation]
            notes.append(
                "deviation: no exact value found; intervals by the method "
                f"{certificate.deviation_method}"
            )
            notes += [note for note in certificate.notes if "deviation" in note]
        return {**found, "kemeny_constant": str(deviation.kemeny), "notes": notes}


def exact_json(value: LogSum | AlgebraicNumber) -> str | dict[str, Any]:
    """A fraction as a string; any other exact number as an expression with its interval."""
    rational: Fraction | None = value.rational
    if isinstance(value, LogSum) and not value.is_rational:
        rational = None
    if rational is not None:
        return str(rational)
    return {"expression": str(value), **value.enclosure().as_json()}


def interval_alone(value: Enclosure) -> str | dict[str, Any]:
    """An interval without an expression; 0 is exact."""
    if value.lower == value.upper == 0:
        return "0"
    return {"expression": None, **value.as_json()}
