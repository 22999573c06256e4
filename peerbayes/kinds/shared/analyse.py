"""What analyses of several kinds share: keys of theirs, and proved numbers of a network."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from peerbayes.messages import input_error
from peerbayes.quantities.network import ONE_AGENT, NetworkNumbers
from peerbayes.quantities.numbers import Expression, exact_number, without_form
from peerbayes.quantities.quantity import NOTE, Quantity, Table
from peerbayes.quantities.showing import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from peerbayes.problem.problems import Problem, RegressionProblem
    from theory.certified.network import CertifiedNetwork
    from theory.progress import Progress
    from theory.rational import RationalNetwork


PROBLEM = Quantity("problem", str, get="problem.name")
NOTES = Quantity("notes", list[str], label=NOTE)
TITLE = Quantity("title", str, get="problem.title")


def form_of(kind: str | None) -> Quantity:
    """What names the kind of problem in records; None for finitely many hypotheses."""
    return Quantity("form", str | None, get=lambda _: kind, older=kind, optional=True)


class WithSizes(Result):
    """Base of analyses that have sample sizes."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many rounds each statement asks for, and both certified ends if there are any.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.curves import draw_ladder

        return draw_ladder(self.document().samples, ax)


class Recorded:
    """Base of results that leave a record: its table, and the record."""

    record: ClassVar[Table]

    def as_record(self) -> Any:
        """What is left on disk, for the report."""
        return self.record.document(self)

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """The main measurement on `ax`, or on new axes, which are returned."""


# Proved numbers of a network alone, as fractions and expressions or as intervals -----------------


Arithmetic = Literal["exact", "certified"]

# What is asked of every interval, relative to its ends.
RELATIVE_WIDTH = 1e-12


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
        from theory.certified.network import certify_network

        return certify_network(self.network, relative_width=RELATIVE_WIDTH, progress=self.progress)

    def numbers(self) -> NetworkNumbers:
        """The numbers, with notes on how they were found."""
        return self.in_fractions() if self.is_exact else self.in_intervals()

    def _numbers(self, **found: Any) -> NetworkNumbers:
        network = self.network
        return NetworkNumbers(
            agents=network.agents,
            period=network.period,
            reversible=network.is_reversible,
            **found,
        )

    def in_intervals(self) -> NetworkNumbers:
        """Every number as an interval."""
        found = self.certified
        alone = found.second_eigenvalue is None
        return self._numbers(
            stationary_distribution=tuple(found.stationary_distribution),
            slem=found.slem,
            second_eigenvalue=found.second_eigenvalue,
            deviation=tuple(found.deviation),
            slem_method=found.slem_method,
            second_eigenvalue_method=found.second_eigenvalue_method,
            deviation_method=found.deviation_method,
            notes=(*([ONE_AGENT] if alone else []), *found.notes),
        )

    def in_fractions(self) -> NetworkNumbers:
        """The same in fractions and expressions."""
        network, notes, numbers = self.network, list[str](), dict[str, Any]()
        try:
            spectrum = network.spectrum
        except ValueError as error:
            # Takes more than a minute; all else does not need it.
            notes.append(f"slem and second eigenvalue: {error}")
            numbers |= {"slem": None, "second_eigenvalue": None}
        else:
            second = spectrum.second_eigenvalue
            if second is None:
                notes.append(ONE_AGENT)
            numbers |= {
                "slem": exact_number(spectrum.slem),
                "second_eigenvalue": None if second is None else exact_number(second),
                "zero_eigenvalues": spectrum.zeros,
                "diagonalisable": spectrum.is_diagonalisable,
            }
        return self._numbers(
            stationary_distribution=tuple(network.stationary_distribution),
            deviation=tuple(self._exact_deviation(notes)),
            kemeny_constant=network.deviation.kemeny,
            notes=tuple(notes),
            **numbers,
        )

    def _exact_deviation(self, notes: list[str]) -> list[Fraction | Expression]:
        """Every D_i, as a fraction if it is known to be one; adds to the notes if not."""
        from theory.certified.network import MOST_CERTIFIED_AGENTS

        deviation = self.network.deviation
        if deviation.exact is not None:
            return [*deviation.exact]
        if self.network.agents > MOST_CERTIFIED_AGENTS:
            notes.append(f"deviation: no exact value found; intervals by {deviation.method}")
            return [without_form(d) for d in deviation.enclosures]
        certificate = self.certified
        notes.append(
            "deviation: no exact value found; intervals by the method "
            f"{certificate.deviation_method}"
        )
        notes += [note for note in certificate.notes if "deviation" in note]
        return [without_form(d) for d in certificate.deviation]
