"""Networks with rational weights, and what the trial needs to know of them.

A network is a `fmpq_mat` here. Everything is exact, or a ball that contains the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat, fmpz_poly

from theory.claims.claim import (
    Attempt,
    Claim,
    Effort,
    Finding,
    Witness,
    bound_witness,
    hunt,
    search_witness,
)
from theory.claims.tables import Law, advantage, bernoulli, random_law

# Networks with rational weights, and what the trial needs to know of them ------------------------


Rational = int | Fraction
_STRIDES = 48  # steps before the stride doubles: the bracket is then about 1/48 wide


def rational(value: Rational | fmpq) -> fmpq:
    """A `fmpq` from an int or a Fraction."""
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    return fmpq(value)


def network(rows: Sequence[Sequence[Rational]], denominator: int = 1) -> fmpq_mat:
    """Weights from rows of ints or Fractions, divided by `denominator`."""
    size = len(rows)
    return fmpq_mat(size, size, [rational(x) / denominator for row in rows for x in row])


def stationary(weights: fmpq_mat) -> list[fmpq]:
    """V with vW = v and sum 1, exactly; W irreducible."""
    size = weights.nrows()
    table = [[weights[j, i] - (i == j) for j in range(size)] for i in range(size - 1)]
    table.append([fmpq(1)] * size)
    right = fmpq_mat(size, 1, [0] * (size - 1) + [1])
    matrix = fmpq_mat(size, size, [x for row in table for x in row])
    v = matrix.solve(right)
    return [v[i, 0] for i in range(size)]


def is_primitive(weights: fmpq_mat) -> bool:
    """Whether W is irreducible and aperiodic: some power is positive, by Wielandt the N²-2N+2nd."""
    size = weights.nrows()
    reach = np.array([[bool(weights[i, j] != 0) for j in range(size)] for i in range(size)])
    power = 1
    while power < size * size - 2 * size + 2:
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
        power *= 2
    return bool(reach.all())


def is_reversible(weights: fmpq_mat, v: Sequence[fmpq]) -> bool:
    """Detailed balance, decided exactly."""
    size = weights.nrows()
    return all(v[i] * weights[i, j] == v[j] * weights[j, i] for i in range(size) for j in range(i))


def eigenvalues(weights: fmpq_mat) -> list[tuple[arb, arb]]:
    """Real part and modulus of every eigenvalue but one 1, with multiplicity, as balls.

    From the exact characteristic polynomial: multiple and zero eigenvalues are decided.
    """
    polynomial = weights.charpoly()
    one = fmpz_poly([-1, 1])
    quotient, _ = divmod(polynomial.numer(), one)
    roots: Any = quotient.complex_roots()
    return [(root.real, abs(root)) for root, count in roots for _ in range(int(count))]


def largest(balls: Sequence[arb]) -> arb:
    """A ball that contains the largest of several numbers."""
    result = balls[0]
    for ball in balls[1:]:
        result = result.max(ball)
    return result


def modulus(weights: fmpq_mat) -> arb:
    """The largest modulus of an eigenvalue but the first; 0 for one agent."""
    return largest([size for _, size in eigenvalues(weights)] or [arb(0)])


def signed(weights: fmpq_mat) -> arb:
    """The largest real part of an eigenvalue but the first."""
    return largest([real for real, _ in eigenvalues(weights)])


def powers(weights: fmpq_mat, rounds: int) -> list[arb_mat]:
    """W, W², … W^rounds as balls."""
    step = arb_mat(weights)
    result = [step]
    for _ in range(rounds - 1):
        result.append(result[-1] * step)
    return result


def distances(power: arb_mat, v: Sequence[fmpq]) -> list[arb]:
    """Σ_j |[W^k]_ij - v_j| for each agent i."""
    size = power.nrows()
    total = []
    for i in range(size):
        a = arb(0)
        for j in range(size):
            a += abs(power[i, j] - v[j])
        total.append(a)
    return total


def dobrushin(power: arb_mat) -> arb:
    """½ max over pairs of rows of their L1 distance."""
    size = power.nrows()
    best = arb(0)
    for i in range(size):
        for k in range(i):
            a = arb(0)
            for j in range(size):
                a += abs(power[i, j] - power[k, j])
            best = best.max(a / 2)
    return best


def partial_deviation(weights: fmpq_mat, rounds: int) -> list[arb]:
    """Σ_{k ≤ rounds} Σ_j |[W^k]_ij - v_j| for each agent: a lower bound on D_i."""
    v = stationary(weights)
    total = [arb(0)] * weights.nrows()
    for power in powers(weights, rounds):
        total = [s + a for s, a in zip(total, distances(power, v), strict=True)]
    return total


def deviation(weights: fmpq_mat, *, levels: int = 40) -> tuple[list[arb], list[arb]]:
    """D_i for each agent, from below and from above; the two differ by about 2 %.

    Sums in strides that double, between whose ends the distance cannot rise, until the Dobrushin
    coefficient is below 1e-12; the rest is a geometric series.

    Raises
    ------
    ArithmeticError
        If W mixes too slowly for `levels` doublings.
    """
    v = stationary(weights)
    size = weights.nrows()
    power = step = arb_mat(weights)
    before = distances(power, v)
    lower, upper = list(before), list(before)
    stride = 1
    for _ in range(levels):
        for _ in range(_STRIDES):
            power = power * step
            after = distances(power, v)
            for i in range(size):
                lower[i] += stride * after[i]
                upper[i] += (stride - 1) * before[i] + after[i]
            before = after
        coefficient = dobrushin(power)
        if coefficient < arb("1e-12"):
            return lower, [bound / (1 - coefficient) for bound in upper]
        step = step * step
        stride *= 2
    raise ArithmeticError("the network mixes too slowly to sum its deviation")


# Random networks of every nasty kind.

KINDS = (
    "positive", "directed", "nearly-decomposable", "nearly-periodic", "tiny-stationary",
    "restart", "drift", "reversible", "symmetric", "star",
)  # fmt: skip


def random_network(
    rng: np.random.Generator, *, most: int = 6, kinds: Sequence[str] = KINDS
) -> fmpq_mat:
    """A primitive network with 2 to `most` agents of a random kind."""
    while True:
        kind = str(rng.choice(list(kinds)))
        weights = _normalised(_table(kind, int(rng.integers(2, most + 1)), rng), kind)
        if is_primitive(weights):
            return weights


def _table(kind: str, size: int, rng: np.random.Generator) -> list[list[int]]:
    table = rng.integers(0, 10, size=(size, size)).astype(object)
    here = range(size)
    scale = int(10 ** rng.integers(1, 7))
    if kind == "positive":
        table += 1
    elif kind == "directed":
        table *= rng.integers(0, 2, size=(size, size))
        for i in here:
            table[i, (i + 1) % size] += 1
        table[0, 0] += 1
    elif kind == "nearly-decomposable":
        for i in here:
            for j in here:
                table[i, j] = (table[i, j] + 1) * (scale if i % 2 == j % 2 else 1)
    elif kind == "nearly-periodic":
        table *= 0
        for i in here:
            table[i, (i + 1) % size] = scale
            table[i, i] = int(rng.integers(0, 2))
        table[0, 0] = 1
    elif kind == "tiny-stationary":
        table *= 0
        for i in here:
            table[i, min(i + 1, size - 1)] += scale
            table[i, max(i - 1, 0)] += 1
            table[i, i] += int(rng.integers(0, 10)) * scale // 3
    elif kind == "restart":
        stay = int(rng.integers(0, 10)) * scale // 3
        table *= 0
        for i in here:
            table[i, min(i + 1, size - 1)] += scale
            table[i, i] += stay
            # Every row restarts with the same share, so that the eigenvalues are multiples.
            table[i, 0] += 1
    elif kind == "drift":
        forward, back, stay = (int(x) for x in rng.integers(1, 10, size=3))
        table *= 0
        for i in here:
            table[i, min(i + 1, size - 1)] += forward
            table[i, max(i - 1, 0)] += back
            table[i, i] += stay * int(rng.integers(0, 2))
    elif kind in {"reversible", "symmetric"}:
        spread = rng.integers(0, 5 if kind == "reversible" else 2, size=(size, size))
        for i in here:
            for j in range(i):
                table[i, j] = table[j, i] = int(table[i, j]) * 10 ** int(spread[i, j])
            k = (i + 1) % size
            table[i, k] = table[k, i] = max(1, int(table[i, k]))
        table[0, 0] += 1
    elif kind == "star":
        table *= 0
        confidence = int(rng.integers(1, scale))
        for i in range(1, size):
            table[i, 0], table[i, i] = confidence, scale - confidence
        table[0, :] = 1
    else:
        raise ValueError(f"no kind of network is called {kind!r}")
    return [[int(x) for x in row] for row in table]


def _normalised(table: list[list[int]], kind: str) -> fmpq_mat:
    sums = [sum(row) for row in table]
    size = len(table)
    if min(sums) == 0:
        return network([[0] * size for _ in range(size)])
    if kind == "symmetric":
        # Equal row sums keep the symmetry: what is missing stays on the diagonal.
        most = max(sums)
        return network(
            [
                [Fraction(x + (most - sums[i]) * (i == j), most) for j, x in enumerate(row)]
                for i, row in enumerate(table)
            ]
        )
    return network([[Fraction(x, sums[i]) for x in row] for i, row in enumerate(table)])


# What the papers say of information and the rate of learning (docs -------------------------------


def _sorted_agents(rng: np.random.Generator) -> list[tuple[Law, list[Law]]] | None:
    """Agents with a truth and hypotheses of which number 0 is best for each; some partly blind."""
    agents = []
    for _ in range(int(rng.integers(1, 4))):
        truth = random_law(rng, 3)
        laws = [random_law(rng, 3) for _ in range(3)]
        if rng.random() < 0.5:
            laws[0] = truth
        for k in (1, 2):
            if rng.random() < 0.4:
                laws[k] = laws[0]
        if not all(law == laws[0] or advantage(truth, laws[0], law) > 0 for law in laws[1:]):
            return None
        agents.append((truth, laws))
    return agents


def _positive(rng: np.random.Generator) -> bool | None:
    """K > 0, and each wrong hypothesis worse for some agent, worse or equal for all."""
    agents = _sorted_agents(rng)
    if agents is None:
        return None
    while True:
        weights = random_network(rng, most=len(agents)) if len(agents) > 1 else None
        if weights is None or weights.nrows() == len(agents):
            break
    v = [arb(1)] if weights is None else [arb(x) for x in stationary(weights)]
    wrong = [h for h in (1, 2) if any(laws[h] != laws[0] for _, laws in agents)]
    for h in wrong:
        information = [advantage(truth, laws[0], laws[h]) for truth, laws in agents]
        rate = sum((x * i for x, i in zip(v, information, strict=True)), arb(0))
        if not (rate > 0 and any(i > 0 for i in information)):
            return False
    return True if wrong else None


def _one_is_blind(effort: Effort) -> Finding:
    """Not realizable, as the remark asks: no hypothesis is the truth, and Θ* has one member."""
    truth, best, worse = (bernoulli(Fraction(x)) for x in ("0.6", "0.5", "0.75"))
    seeing, blind = advantage(truth, best, worse), advantage(truth, best, best)
    assert seeing > 0
    text = (
        "truth 3/5, not realizable; agent 1: θ* says 1/2, θ says 3/4, agent 2: both say 1/2. "
        f"Θ* = {{θ*}}, I = ({float(seeing):.4f}, 0), not > 0 for all"
    )
    return Finding(bool(blind > 0), text, 0.0, float(blind))


def _some_agent(effort: Effort) -> Finding:
    text = (
        "agents who hold some labels only, as in P2's image experiments; section 4.2.2 itself "
        'asks that every wrong parameter "can be eliminated by some agent"'
    )
    return Finding(False, text)


def _without_a_common_best(effort: Effort) -> Finding:
    """Two agents who disagree: Θ* is empty, the heavier one wins, at a positive rate."""
    left, right = bernoulli(Fraction(3, 4)), bernoulli(Fraction(1, 4))
    v = stationary(network([[9, 1], [6, 4]], 10))
    preference = [advantage(left, left, right), advantage(right, left, right)]
    rate = sum((arb(x) * i for x, i in zip(v, preference, strict=True)), arb(0))
    is_empty = bool(preference[0] > 0 and preference[1] < 0)
    text = (
        f"two agents who disagree, v = (6/7, 1/7): Θ* is empty, yet one is rejected at "
        f"{float(rate):.4f}"
    )
    return Finding(is_empty and bool(rate > 0), text)


def _transient(rng: np.random.Generator) -> Attempt:
    """|E Λ_i - n Σ v I| against D_i (max I - min I)/2, all agents, uniform priors."""
    weights = random_network(rng)
    v, rounds = stationary(weights), int(rng.integers(1, 30))
    information = [rational(Fraction(int(x), 7)) for x in rng.integers(0, 30, len(v))]
    limit = sum((x * i for x, i in zip(v, information, strict=True)), rational(0))
    reach = arb(max(information) - min(information)) / 2
    table = powers(weights, rounds)
    upper = deviation(weights)[1]
    worst = Attempt(False, 0.0, 0.0, 0.0)
    for i in range(len(v)):
        total = arb(0)
        for power in table:
            for j, x in enumerate(information):
                total += power[i, j] * x
        gap, bound = abs(total - rounds * limit), upper[i] * reach
        ratio = float((gap / bound).mid()) if bound > 0 else 0.0
        if gap > bound:
            return Attempt(True, ratio, float(bound.mid()), float(gap.mid()))
        if ratio > worst.ratio:
            worst = Attempt(False, ratio, float(bound.mid()), float(gap.mid()))
    return worst


_POSITIVE = "misspecified and realizable agents, some of them blind to a hypothesis"

CLAIMS = (
    Claim(
        key="remark-5-every-agent",
        title="Remark 5, every agent prefers the best",
        statement=(
            r"\text{not realizable: }D_j(\theta^*)<D_j(\theta)\quad\text{for all }j,\ "
            r"\theta^*\in\Theta^*,\theta\notin\Theta^*"
        ),
        words=(
            "Where no hypothesis is the truth, every agent alone tells every wrong one from the "
            "best. (Where one is, P2 says ≤, which is right.)"
        ),
        source="P2 Remark 5",
        kind="exact",
        verdict="fails",
        condition="every agent's own best hypothesis is unique: then no cooperation is needed",
        repaired="≤ for all j, and < for some j",
        witnesses=(
            Witness("counterexample", "one agent is blind", _one_is_blind),
            Witness("reach", "P2's own setting", _some_agent),
            search_witness("repaired", "some-agent", 200, _positive, _POSITIVE),
        ),
    ),
    Claim(
        key="rate-positive",
        title="K is positive",
        statement=r"\Theta^*\ne\emptyset\implies K(\Theta)>0",
        words=(
            "If some hypothesis is best for every agent, the others are rejected "
            "exponentially fast."
        ),
        source="P1 appendix A, P2 Remark 5",
        kind="exact",
        verdict="holds",
        witnesses=(search_witness("support", "rate-positive", 300, _positive, _POSITIVE),),
    ),
    Claim(
        key="common-best",
        title="A hypothesis that is best for every agent",
        statement=(
            r"\Theta^*=\bigcap_i\overline\Theta_i\ne\emptyset\implies"
            r"\text{all agents learn }\Theta^*"
        ),
        words="Assumed in both papers. Enough; not needed: else the network compromise is learnt.",
        source="P1 Assumption 1, P2 Assumption 2",
        kind="asymptotic",
        verdict="holds",
        repaired="the minimiser of Σ v_j D_j is learnt in any case, if it is unique",
        witnesses=(
            search_witness("support", "common-best", 200, _positive, _POSITIVE),
            bound_witness(
                "support",
                "common-best-mean",
                60,
                _transient,
                "networks and information: the mean log-ratio stays near n K",
            ),
            Witness("repaired", "two agents who disagree", _without_a_common_best),
        ),
    ),
    Claim(
        key="rate-limit",
        title="The rate is set by eigenvector centrality",
        statement=r"-\tfrac1n\log\rho_i^{(n)}(\theta)\to\sum_jv_jI_j(\theta^*,\theta)",
        words=(
            "All agents reject θ at the same rate, the average of their information with weights v."
        ),
        source="P2 abstract, Theorem 1, Remark 3",
        kind="asymptotic",
        verdict="holds",
        repaired=(
            "a limit almost surely, with |E Λ_i - n Σ v_j I_j| ≤ D_i (max I - min I)/2 on the way"
        ),
        witnesses=(
            Witness(
                "support",
                "the mean on its way",
                lambda effort: hunt(
                    effort,
                    "rate-limit",
                    150,
                    _transient,
                    "networks and information, the exact mean after up to 29 rounds",
                ),
            ),
        ),
    ),
)
