"""The search for the smallest counterexamples, and what it found.

Each search is repeatable and counts the cases it tried. `python -m theory.claims` runs all of them;
the tables below are their results, and the registry's witnesses recompute those exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq_mat

from theory.claims.chains import network


@dataclass(frozen=True)
class SearchResult:
    """What a search found: `found` (None if nothing), the score, and how many cases it tried.

    The score is the quotient of what is true and what is printed: above 1 the print is broken.
    """

    found: tuple[object, ...] | None
    score: float
    cases: int


@dataclass(frozen=True)
class Chain:
    """A counterexample to Lemma 1 with moduli: rates `forward` and `back` over `denominator`."""

    family: str
    agents: int
    forward: int
    back: int
    denominator: int
    rounds: int

    @property
    def words(self) -> str:
        """The network in words."""
        go = "back to the first" if self.family == "restart" else "one back"
        kind = "all other eigenvalues alike" if self.family == "restart" else "reversible"
        return (
            f"{self.agents} agents, one on with weight {Fraction(self.forward, self.denominator)}, "
            f"{go} with {Fraction(self.back, self.denominator)} ({kind})"
        )


def two_agents(a: Fraction, b: Fraction) -> fmpq_mat:
    """W with W_12 = a and W_21 = b."""
    return network([[1 - a, a], [b, 1 - b]])


def restart(agents: int, forward: int, back: int, denominator: int) -> fmpq_mat:
    """From i one on, or back to the first, or stay; the last one stays in place of going on.

    All eigenvalues but the first are (denominator - forward - back)/denominator: on vectors that
    sum to zero W acts from the right like a multiple of a triangular matrix.
    """
    return network(_walk(agents, forward, back, denominator, home=True), denominator)


def birth_death(agents: int, forward: int, back: int, denominator: int) -> fmpq_mat:
    """From i one on, one back, or stay; reversible, with v falling geometrically."""
    return network(_walk(agents, forward, back, denominator, home=False), denominator)


def _walk(agents: int, forward: int, back: int, denominator: int, *, home: bool) -> list[list[int]]:
    rows = []
    for i in range(agents):
        row = [0] * agents
        row[min(i + 1, agents - 1)] += forward
        row[0 if home else max(i - 1, 0)] += back
        row[i] += denominator - forward - back
        rows.append(row)
    return rows


SIGNED_COUNTEREXAMPLES = (
    (Fraction(5, 6), Fraction(5, 6), 12),
    (Fraction(99, 100), Fraction(99, 100), 400),
)
"""(W_12, W_21, rounds): the smallest denominator with W_ii > 0, and a drastic one."""

MODULUS_COUNTEREXAMPLES = (
    Chain("restart", 4, 100, 1, 1000, 200),
    Chain("restart", 12, 9, 1, 10, 40),
    Chain("birth-death", 16, 6, 1, 7, 120),
    Chain("birth-death", 5, 150, 1, 500, 200),
)
"""Fewest agents; smallest denominators; the same two for reversible networks."""


def lemma_score(weights: np.ndarray, *, signed: bool = False, rounds: int = 2000) -> float:
    """max_i D_i times (1 - λ) over 4 log N, in floats: for searching only."""
    size = len(weights)
    shifted = weights - np.eye(size)
    system = np.vstack([shifted.T[:-1], np.ones(size)])
    if abs(np.linalg.det(system)) < 1e-300:
        return 0.0
    v = np.linalg.solve(system, np.eye(size)[-1])
    roots = np.linalg.eigvals(weights)
    others = np.delete(roots, np.argmin(abs(roots - 1)))
    eigenvalue = others.real.max() if signed else abs(others).max()
    # A tiny v_i may be a zero that rounding has lifted: then W is not irreducible.
    if v.min() <= 1e-13 or eigenvalue > 0.995:
        return 0.0
    power, total = np.eye(size), np.zeros(size)
    for _ in range(rounds):
        power = power @ weights
        distance = abs(power - v).sum(axis=1)
        total += distance
        if distance.max() < 1e-10:
            break
    else:
        return 0.0
    return float(total.max() * (1 - eigenvalue) / (4 * math.log(size)))


def _as_floats(weights: fmpq_mat) -> np.ndarray:
    size = weights.nrows()
    return np.array(
        [[int(weights[i, j].p) / int(weights[i, j].q) for j in range(size)] for i in range(size)]
    )


def search_signed(*, most: int = 12, self_confident: bool = False) -> SearchResult:
    """The smallest denominator with which two agents break the signed form.

    `self_confident` asks for W_ii > 0, as P2 does.
    """
    cases = 0
    for denominator in range(2, most + 1):
        steps = range(1, denominator + (not self_confident))
        scores = {}
        for p in steps:
            for q in steps:
                if p + q == 2 * denominator:
                    continue
                cases += 1
                a, b = Fraction(p, denominator), Fraction(q, denominator)
                m, top = abs(1 - a - b), max(a, b) / (a + b)
                total = 2 * top * m / (1 - m)
                scores[a, b] = float(total * (a + b)) / (4 * math.log(2))
        best = max(scores, key=lambda pair: scores[pair])
        if scores[best] > 1:
            return SearchResult(best, scores[best], cases)
    return SearchResult(None, 0.0, cases)


def _stochastic_rows(agents: int, denominator: int) -> list[tuple[int, ...]]:
    if agents == 1:
        return [(denominator,)]
    return [
        (first, *rest)
        for first in range(denominator + 1)
        for rest in _stochastic_rows(agents - 1, denominator - first)
    ]


def search_three_agents(denominator: int) -> SearchResult:
    """All networks of three agents with this denominator, with moduli: the highest score."""
    rows = np.array(_stochastic_rows(3, denominator)) / denominator
    best, found, cases = 0.0, None, 0
    for first in rows:
        for second in rows:
            for third in rows:
                cases += 1
                score = lemma_score(np.array([first, second, third]), rounds=400)
                if score > best:
                    best, found = score, (first, second, third)
    return SearchResult(found if best > 1 else None, best, cases)


def search_chains(family: str, agents: int, *, denominators: tuple[int, ...]) -> SearchResult:
    """The first denominator with which a chain of this family breaks the form with moduli."""
    build = {"restart": restart, "birth-death": birth_death}[family]
    cases, best = 0, 0.0
    for denominator in denominators:
        rates = (
            range(1, denominator)
            if denominator < 40
            else [denominator * k // 20 for k in range(1, 20)]
        )
        for forward in rates:
            cases += 1
            score = lemma_score(_as_floats(build(agents, forward, 1, denominator)))
            best = max(best, score)
            if score > 1:
                return SearchResult((forward, 1, denominator), score, cases)
    return SearchResult(None, best, cases)


def climb(agents: int, denominator: int, *, seed: int, moves: int = 3000) -> SearchResult:
    """Random ascent over networks with this denominator, with moduli: the highest score met."""
    rng = np.random.default_rng(seed)
    best, found, score = 0.0, None, -1.0
    table = np.zeros((agents, agents), dtype=np.int64)
    stuck = 0
    for _ in range(moves):
        if score < 0 or stuck > 100:
            rows = rng.multinomial(denominator, np.full(agents, 1 / agents), size=agents)
            table, score, stuck = rows, lemma_score(rows / denominator, rounds=300), 0
        i = int(rng.integers(agents))
        j, k = (int(x) for x in rng.choice(agents, 2, replace=False))
        if table[i, j] == 0:
            stuck += 1
            continue
        moved = table.copy()
        step = int(rng.integers(1, table[i, j] + 1))
        moved[i, j] -= step
        moved[i, k] += step
        new = lemma_score(moved / denominator, rounds=300)
        stuck = 0 if new > score else stuck + 1
        if new >= score:
            table, score = moved, new
        if score > best:
            best, found = score, (table.copy(),)
    return SearchResult(found if best > 1 else None, best, moves)


def search_theorem_one(delta: float) -> SearchResult:
    """The smallest C, in steps of 1/4, with which a coin breaks P1's Theorem 1 at this δ.

    One informed agent of weight .99 and a blind one; z = ±C with probabilities ½ ± γ. Returns
    (C, γ, rounds).
    """
    from scipy.stats import binom

    cases, best = 0, 0.0
    for quarter in range(32, 400):
        bound = quarter / 4
        for gamma in (0.02, 0.05, 0.1, 0.15, 0.2):
            cases += 1
            rate = 0.99 * 2 * gamma * bound
            rounds = math.ceil(16 * bound * math.log(4 / delta) / rate**2)
            score = float(binom.cdf((rounds - 1) // 2, rounds, 0.5 + gamma)) / delta
            best = max(best, score)
            if score > 1:
                return SearchResult((bound, gamma, rounds), score, cases)
    return SearchResult(None, best, cases)


def search_theorem_two(delta: float) -> SearchResult:
    """The same for P2's Theorem 1, with ε too; returns (C, γ, ε, rounds)."""
    from scipy.stats import binom

    cases, best = 0, 0.0
    for quarter in range(16, 400):
        bound = quarter / 4
        for gamma in (0.05, 0.1, 0.15, 0.2):
            rate = 0.99 * 2 * gamma * bound
            for share in (0.25, 0.5, 0.75, 0.9):
                cases += 1
                epsilon = share * rate
                rounds = math.ceil(8 * bound * math.log(4 / delta) / epsilon**2)
                reached = (rounds * (rate - epsilon) - 1) / (0.99 * bound)
                count = math.floor((reached + rounds - 1) / 2)
                score = float(binom.cdf(count, rounds - 1, 0.5 + gamma)) / delta
                best = max(best, score)
                if score > 1:
                    return SearchResult((bound, gamma, epsilon, rounds), score, cases)
    return SearchResult(None, best, cases)
