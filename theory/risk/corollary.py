"""P1's Corollary 1 on networks of coins, in exact arithmetic.

Agent j tosses a coin with P(heads) = truth_j; hypothesis m claims hypotheses[m]_j. The parameter
set Φ holds the truth and the hypotheses, Θ the hypotheses alone, and the loss is B = 1 for heads
and −1 for tails, so that risks differ by 2|p − q|. Everything is rational but the logarithms, which
are balls: comparisons are decided, never guessed.

Three trials break the corollary at three places (docs: mathematics/risk): `HALVED_PINSKER` its
constant, `REVERSED_COVERING` the direction of its covering, `EMPTY_INTERSECTION` its silence about
the weights of the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from theory.numbers import as_ball
from theory.risk.total_variation import coin_divergence
from theory.showing import Shown
from theory.validation import fail


@dataclass(frozen=True)
class CoinTrial(Shown):
    """A network of coins on which the corollary is tried.

    Parameters
    ----------
    truth
        P(heads) of each of N agents' coins, in (0, 1).
    hypotheses
        M rows of N probabilities in (0, 1).
    stationary
        v, N positive numbers that sum to one.

    Raises
    ------
    ValueError
        If the shapes disagree, or a number is out of range.
    """

    truth: tuple[Fraction, ...]
    hypotheses: tuple[tuple[Fraction, ...], ...]
    stationary: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        agents = len(self.truth)
        rows = (self.truth, *self.hypotheses, self.stationary)
        if not self.hypotheses or any(len(row) != agents for row in rows):
            raise fail(
                "hypotheses",
                f"one probability for each of {agents} agents",
                [len(row) for row in rows],
                "make truth, hypotheses and stationary equally long",
            )
        if not all(0 < p < 1 for row in rows[:-1] for p in row):
            raise fail("truth, hypotheses", "probabilities in (0, 1)", rows[:-1], "avoid 0 and 1")
        if min(self.stationary) <= 0 or sum(self.stationary) != 1:
            raise fail("stationary", "positive, of sum 1", self.stationary, "rescale")

    def divergences(self, agent: int) -> list[arb]:
        """D_j(m) = KL(truth_j ‖ hypotheses[m]_j), as balls."""
        return [coin_divergence(self.truth[agent], row[agent]) for row in self.hypotheses]

    def average_divergence(self, hypothesis: int, *, printed: bool = False) -> arb:
        """(1/N) Σ_j KL, of the truth from the hypothesis; the other way round if `printed`."""
        row = self.hypotheses[hypothesis]
        pairs = zip(row, self.truth, strict=True) if printed else zip(self.truth, row, strict=True)
        return sum((coin_divergence(p, q) for p, q in pairs), arb(0)) / len(self.truth)

    def radius(self, *, printed: bool = False) -> arb:
        """The smallest r for which Θ is an r-covering of Φ: of its one point outside, the truth.

        `printed` takes the direction of P1 eq. 5, KL(ℓ(θ) ‖ ℓ(ψ)).
        """
        values = [self.average_divergence(m, printed=printed) for m in range(len(self.hypotheses))]
        return values[_argmin(values)]

    @property
    def locally_optimal(self) -> tuple[int, ...]:
        """The hypothesis that each agent's own coin speaks for."""
        return tuple(_argmin(self.divergences(j)) for j in range(len(self.truth)))

    @property
    def is_globally_learnable(self) -> bool:
        """Whether Θ* is not empty: all agents' coins speak for the same hypothesis."""
        return len(set(self.locally_optimal)) == 1

    @property
    def learnt(self) -> int:
        """argmin_m Σ_j v_j D_j(m), what all agents settle on; the member of Θ* if there is one."""
        table = [self.divergences(j) for j in range(len(self.truth))]
        return _argmin(
            [
                sum(
                    (as_ball(v) * row[m] for v, row in zip(self.stationary, table, strict=True)),
                    arb(0),
                )
                for m in range(len(self.hypotheses))
            ]
        )

    @property
    def risk_difference(self) -> Fraction:
        """(1/N) Σ_j |R_j(θ*) − R_j(θ̂)| for the loss ±1: exact."""
        row = self.hypotheses[self.learnt]
        gaps = [abs(p - q) for p, q in zip(self.truth, row, strict=True)]
        return 2 * sum(gaps, Fraction(0)) / len(gaps)

    def printed_bound(self) -> arb:
        """B√r/2 with the printed r."""
        return self.radius(printed=True).sqrt() / 2

    def repaired_bound(self, *, printed_direction: bool = False) -> arb:
        """B√(2r), with r in the direction that the proof needs, or in the printed one."""
        return (2 * self.radius(printed=printed_direction)).sqrt()

    def compromise_bound(self) -> arb:
        """B√(2 r max v/min v): a theorem, whether Θ* is empty or not."""
        factor = as_ball(max(self.stationary) / min(self.stationary))
        return (2 * factor * self.radius()).sqrt()


def _argmin(values: list[arb]) -> int:
    """The index of the smallest ball.

    Raises
    ------
    ValueError
        If two balls overlap: a tie, or a precision that does not decide.
    """
    best = min(range(len(values)), key=lambda m: float(values[m].mid()))
    for m, value in enumerate(values):
        if m != best and not values[best] < value:
            raise fail("hypotheses", "no ties", f"{values[best]} and {value}", "move one of them")
    return best


def _fractions(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(part) for part in text.split())


#: One agent: √(log 2/12) is printed where the difference is 2/3. (The second hypothesis is far
#: off; it is there for the sample size, which is about telling two apart.)
HALVED_PINSKER = CoinTrial(
    _fractions("1/3"), (_fractions("2/3"), _fractions("9/10")), _fractions("1")
)

#: One agent: 1/12 covers the truth 1/3 as printed, but 2/3 is what is learnt.
REVERSED_COVERING = CoinTrial(
    _fractions("1/3"), (_fractions("1/12"), _fractions("2/3")), _fractions("1")
)

#: Two agents that do not agree: the network's compromise is not the nearest hypothesis on average.
EMPTY_INTERSECTION = CoinTrial(
    _fractions("1/2 1/2"),
    (_fractions("1/2 1/3"), _fractions("2/5 1/2")),
    _fractions("3/4 1/4"),
)
