"""Where a sum lies modulo a span: its points, the heaviest kept one by one.

Sums of finitely many discrete terms have atoms, and modulo the span of a lattice many of them
coincide. They matter one by one where the function taken of them jumps: an error is Λ ≤ 0 and not
Λ < 0, so that an atom at zero counts in full. Here each atom has its place, in turns (fractions
of a span in [0, 1)), and its mass; terms that move nothing modulo the span add none. Where there
are too many, the lightest are dropped: what is kept is exact, and `is_whole` says whether it is
everything (docs: mathematics/prefactor).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theory.validation import FloatArray

# Atoms kept: one more two-valued term takes about a fifth of a millisecond.
_MOST_POINTS = 1024
# Where the atoms kept have less mass than this between them, none is worth its while.
_LEAST_MASS = 1e-3
# Places that agree to so many decimals of a turn are one place.
_DECIMALS = 12


class Residues:
    """Atoms of one sum modulo 1, at first a single one at zero; floating-point values."""

    def __init__(self) -> None:
        self.places: FloatArray = np.zeros(1)
        self.masses: FloatArray = np.ones(1)
        self.is_whole = True

    def add(self, turns: FloatArray, probabilities: FloatArray) -> None:
        """Take in one independent term: its values in turns and their probabilities, shape (O,).

        The caller sees to it that some value moves the sum: see :func:`moves`.
        """
        places = np.add.outer(self.places, turns).ravel() % 1.0
        masses = np.multiply.outer(self.masses, probabilities).ravel()
        # Places are compared rounded and kept as they are, so that rounding does not add up.
        rounded = np.round(places, _DECIMALS) % 1.0
        _, first, group = np.unique(rounded, return_index=True, return_inverse=True)
        self.places = places[first]
        self.masses = np.asarray(np.bincount(group.ravel(), weights=masses), dtype=np.float64)
        if self.places.size > _MOST_POINTS:
            heaviest = np.argpartition(self.masses, -_MOST_POINTS)[-_MOST_POINTS:]
            self.places, self.masses = self.places[heaviest], self.masses[heaviest]
            self.is_whole = False
        if not self.is_whole and float(self.masses.sum()) < _LEAST_MASS:
            self.forget()

    def forget(self) -> None:
        """Keep no atom."""
        self.places, self.masses, self.is_whole = np.zeros(0), np.zeros(0), False

    def coefficients(self, orders: FloatArray) -> NDArray[np.complex128]:
        """E exp(2πi l Y) over the atoms kept, for each l of `orders`."""
        waves = np.exp(2j * np.pi * np.multiply.outer(orders, self.places))
        return np.asarray(waves @ self.masses)


def moves(turns: FloatArray) -> NDArray[np.bool_]:
    """Whether a term with these values, shape (N, O), moves sum i modulo 1; shape (N,)."""
    slack = 10.0**-_DECIMALS * (1 + np.abs(turns))
    return np.asarray((np.abs(turns - np.round(turns)) > slack).any(axis=1))
