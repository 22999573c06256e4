"""Numbers that are proved: fractions, sums of logarithms of fractions, and intervals."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.numbers.enclosure import Enclosure, precision
    from theory.numbers.log_sum import LogSum
    from theory.numbers.rational import as_ball, as_fmpq, as_fraction, exact_distribution
else:
    show_lazily(__name__)

__all__ = [
    "Enclosure",
    "LogSum",
    "as_ball",
    "as_fmpq",
    "as_fraction",
    "exact_distribution",
    "precision",
]
