"""Small rational networks and models, and what they do in high precision, by other means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import mpmath
import numpy as np

from theory.rational import RationalFiniteAgent, RationalGaussianAgent
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork

DIGITS = 60


def simplex(rng: np.random.Generator, size: int, *, zeros: bool = False) -> list[Fraction]:
    """A random distribution of small fractions, at times a very uneven one."""
    raw = [int(x) for x in rng.integers(0 if zeros else 1, 12, size)]
    if rng.random() < 0.2:
        raw = [x * 10 ** int(rng.integers(0, 9)) for x in raw]
    if not any(raw):
        raw[0] = 1
    return [Fraction(x, sum(raw)) for x in raw]


def random_network(rng: np.random.Generator, agents: int) -> RationalNetwork:
    """Positive diagonal, a cycle, and whatever else falls."""
    rows = []
    for i in range(agents):
        row = [int(x) for x in rng.integers(0, 4, agents)]
        row[i] += 1
        row[(i + 1) % agents] += 1
        if rng.random() < 0.1:
            row[i] *= 10**9
        rows.append([Fraction(x, sum(row)) for x in row])
    return RationalNetwork(rows)


def random_model(rng: np.random.Generator, agents: int) -> RationalModel:
    """Tables of small fractions; one hypothesis may be the truth, or two the same."""
    hypotheses, labels = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    realizable, twins = rng.random() < 0.5, rng.random() < 0.2
    kinds = []
    for _ in range(agents):
        claims = [[simplex(rng, labels)] for _ in range(hypotheses)]
        if twins:
            claims[-1] = claims[0]
        truth = claims[0] if realizable else [simplex(rng, labels, zeros=True)]
        kinds.append(RationalFiniteAgent.from_tables(inputs=[1], truth=truth, likelihood=claims))
    priors = [simplex(rng, hypotheses) for _ in range(agents)]
    names = [f"theta{m}" for m in range(hypotheses)]
    return RationalModel.from_agents(names, kinds, priors=priors)


def coins(
    truths: Sequence[object], hypotheses: Sequence[Sequence[object]], **options: object
) -> RationalModel:
    """Agents that toss one coin each: P(heads) as it is and as hypotheses have it."""
    kinds = []
    for j, p in enumerate(truths):
        claims = [[[Fraction(str(row[j])), 1 - Fraction(str(row[j]))]] for row in hypotheses]
        kinds.append(
            RationalFiniteAgent.from_tables(
                inputs=[1],
                truth=[[Fraction(str(p)), 1 - Fraction(str(p))]],
                likelihood=claims,
            )
        )
    return RationalModel.from_agents([f"h{m}" for m in range(len(hypotheses))], kinds, **options)  # type: ignore[arg-type]


def mpf(x: Fraction) -> mpmath.mpf:
    """A fraction in the working precision of mpmath."""
    return mpmath.mpf(x.numerator) / x.denominator


def atoms(model: RationalModel, best: int, other: int) -> list[list[tuple[mpmath.mpf, ...]]]:
    """(probability, mean, variance) of z(best, other), agent by agent, from the tables."""
    found = []
    for k in model.assignment:
        agent = model.kinds[k]
        if isinstance(agent, RationalGaussianAgent):
            s = mpf(agent.std)
            row = []
            for p, f, a, b in zip(
                agent.inputs, agent.truth_means, agent.means[best], agent.means[other], strict=True
            ):
                gap = mpf(a) - mpf(b)
                mean = gap * (mpf(f) - (mpf(a) + mpf(b)) / 2) / s**2
                row.append((mpf(p), mean, (gap * mpf(agent.truth_std) / s**2) ** 2))
            found.append(row)
        else:
            found.append(
                [
                    (mpf(p), mpmath.log(mpf(a)) - mpmath.log(mpf(b)), mpmath.mpf(0))
                    for p, a, b in zip(
                        agent.probabilities,
                        agent.likelihoods[best],
                        agent.likelihoods[other],
                        strict=True,
                    )
                ]
            )
    return found


def rate(v: Sequence[Fraction], laws: list[list[tuple[mpmath.mpf, ...]]]) -> mpmath.mpf:
    """Σ_j v_j I_j."""
    return mpmath.fsum(mpf(w) * p * m for w, law in zip(v, laws, strict=True) for p, m, _ in law)


def cumulants(
    weights: Sequence[tuple[mpmath.mpf, list[tuple[mpmath.mpf, ...]]]], t: mpmath.mpf
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Σ κ(−t w) over (w, law), and its derivative in t."""
    value, slope = mpmath.mpf(0), mpmath.mpf(0)
    for w, law in weights:
        u = -t * w
        terms = [p * mpmath.exp(u * m + u * u * s / 2) for p, m, s in law]
        total = mpmath.fsum(terms)
        value += mpmath.log(total)
        moments = zip(terms, law, strict=True)
        slope -= w * mpmath.fsum(x * (m + u * s) for x, (_, m, s) in moments) / total
    return value, slope


def minimise(slope: Callable[[mpmath.mpf], mpmath.mpf]) -> mpmath.mpf:
    """Where the slope of a convex function of t ≥ 0 changes sign, by bisection."""
    low, high = mpmath.mpf(0), mpmath.mpf(1)
    while slope(high) < 0:
        low, high = high, high * 4
    for _ in range(int(DIGITS * 3.4)):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return (low + high) / 2
