r"""What the papers say of their stars, grids and changing networks (docs: mathematics/star)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb, fmpq

from theory.claims import chains
from theory.claims.claim import Claim, Effort, Finding, Witness, search_witness
from theory.claims.examples import STAR_CONFIDENCES, grid, neighbours, round_of_stars, star
from theory.claims.tables import binding_rate

_PRINTED_CENTRALITIES = ("0.1", "0.18", "0.25", "0.36", "0.44")


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _centralities(effort: Effort) -> Finding:
    exact = [_fraction(chains.stationary(star(a))[0]) for a in STAR_CONFIDENCES]
    formula = [9 * a / (9 * a + 8) for a in STAR_CONFIDENCES]
    rounded = [round(v, 2) for v in exact]
    holds = exact == formula and rounded == [Fraction(x) for x in _PRINTED_CENTRALITIES]
    text = "v_1 = " + ", ".join(map(str, exact)) + ", which round to the five printed numbers"
    return Finding(holds, text, 0.44, float(exact[-1]), len(exact))


def _rising(rng: np.random.Generator) -> bool:
    agents = int(rng.integers(3, 10))
    low, high = sorted(Fraction(int(x), 1000) for x in rng.choice(range(1, 1000), 2, replace=False))
    first, second = (chains.stationary(star(a, agents))[0] for a in (low, high))
    return bool(first < second < fmpq(agents, 2 * agents - 1))


def _rate(confidence: Fraction, centre: list[int], edges: list[list[int]]) -> Fraction:
    """K of a star: information [hypothesis] of the centre, [agent][hypothesis] of the edges."""
    v = [_fraction(x) for x in chains.stationary(star(confidence, len(edges) + 1))]
    return min(
        v[0] * centre[h] + sum(x * edge[h] for x, edge in zip(v[1:], edges, strict=True))
        for h in range(len(centre))
    )


def _edges_bind(effort: Effort) -> Finding:
    """The centre knows ten times more of one hypothesis, the edges alone know of the other."""
    rates = [_rate(a, [10, 0], [[0, 1]] * 8) for a in STAR_CONFIDENCES]
    text = (
        "centre I = (10, 0), edges (0, 1): K = "
        + ", ".join(f"{float(k):.3f}" for k in rates)
        + " at a = .1 .2 .3 .5 .7"
    )
    rises = all(low < high for low, high in pairwise(rates))
    return Finding(rises, text, float(rates[0]), float(rates[-1]))


def _binding_leads(rng: np.random.Generator) -> bool | None:
    """Stars where some hypothesis that binds at the larger a has I_1 above the edges' average."""
    agents, hypotheses = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    edges = rng.integers(0, 9, size=(agents - 1, hypotheses)).tolist()
    means = [Fraction(sum(edge[h] for edge in edges), agents - 1) for h in range(hypotheses)]
    centre = rng.integers(0, 9, size=hypotheses).tolist()
    low, high = sorted(Fraction(int(x), 100) for x in rng.choice(range(1, 100), 2, replace=False))
    v = _fraction(chains.stationary(star(high, agents))[0])
    sums = [v * c + (1 - v) * m for c, m in zip(centre, means, strict=True)]
    if not any(s == min(sums) and c > m for s, c, m in zip(sums, centre, means, strict=True)):
        return None
    return _rate(low, centre, edges) < _rate(high, centre, edges)


def _degrees(effort: Effort) -> Finding:
    v = [_fraction(x) for x in chains.stationary(grid())]
    sizes = [len(neighbours(i)) for i in range(9)]
    holds = v == [Fraction(s, sum(sizes)) for s in sizes]
    return Finding(holds, f"v = |N(i)|/33: centre {v[4]}, corner {v[0]}, side {v[1]}", cases=9)


def _placed(centre: int, expert: list[int], others: list[int]) -> Fraction:
    v = [_fraction(x) for x in chains.stationary(grid())]
    return min(v[centre] * e + (1 - v[centre]) * o for e, o in zip(expert, others, strict=True))


def _corner_is_better(effort: Effort) -> Finding:
    middle, corner = (_placed(place, [10, 0], [0, 1]) for place in (4, 0))
    text = (
        f"expert I = (10, 0), others (0, 1): K = {middle} with the expert in the centre, "
        f"{corner} in a corner"
    )
    return Finding(middle > corner, text, float(middle), float(corner))


def _binding_expert(rng: np.random.Generator) -> bool | None:
    """Grids where some hypothesis that binds in the centre has the expert's I above the others'."""
    expert, others = rng.integers(0, 20, size=(2, 3)).tolist()
    best = _placed(4, expert, others)
    v = _fraction(chains.stationary(grid())[4])
    if not any(v * e + (1 - v) * o == best and e > o for e, o in zip(expert, others, strict=True)):
        return None
    return best > _placed(0, expert, others)


def _star_of_readers(effort: Effort) -> Finding:
    found = [binding_rate(_fraction(chains.stationary(star(a))[0])) for a in STAR_CONFIDENCES]
    holds = all(leads for _, leads in found) and all(
        bool(low < high) for (low, _), (high, _) in pairwise(found)
    )
    text = "P2's labels, with tables of confusions for networks: 4 and 9 bind, the centre's; K = "
    text += ", ".join(f"{float(rate):.4f}" for rate, _ in found)
    return Finding(holds, text, cases=len(found))


def _grid_of_readers(effort: Effort) -> Finding:
    v = [_fraction(x) for x in chains.stationary(grid())]
    (middle, leads), (corner, _) = (binding_rate(v[place]) for place in (4, 0))
    text = (
        "P2's labels, with tables of confusions for networks: 4 and 9 bind, the expert's; "
        f"K = {float(middle):.4f} in the centre, {float(corner):.4f} in a corner"
    )
    return Finding(leads and bool(middle > corner), text, float(corner), float(middle))


def _period(effort: Effort) -> Finding:
    """P2 1.4.3, N = 25 in groups of 5: no phase connects all, the period does."""
    weights = round_of_stars(25, 5)
    v = chains.stationary(weights)
    primitive, least = chains.is_primitive(weights), min(v)
    coefficient = chains.dobrushin(chains.powers(weights, 60)[-1])
    holds = primitive and least > 0 and bool(coefficient < 1)
    text = (
        f"N = 25 in groups of 5: the period's product mixes (Dobrushin coefficient "
        f"{float(coefficient):.2e} after 60 periods), v_0 = {float(v[0]):.4f}, min v = "
        f"{float(least):.4f}"
    )
    return Finding(holds, text)


def _periods(rng: np.random.Generator) -> bool:
    groups, size = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    weights = round_of_stars(groups * size, size)
    return chains.is_primitive(weights) and bool(min(chains.stationary(weights)) > 0)


def _printed_size(agents: int, gap: arb) -> arb:
    """The right side of P1 eq. 4 without 16 C/K², for M = 10 and δ = 1/20."""
    return (arb(200) * agents).log() / gap


def _ring(agents: int) -> arb:
    """1 - λmax of a ring with weights 1/3: λ = (1 + 2 cos(2π/N))/3."""
    return (2 - 2 * (2 * arb.pi() / agents).cos()) / 3


def _rings_grow(effort: Effort) -> Finding:
    small, large = (_printed_size(n, _ring(n)) for n in (100, 200))
    growth, logarithm = large / small, (arb(40_000)).log() / (arb(20_000)).log()
    text = (
        f"rings of 100 and 200 agents alike: eq. 4 grows {float(growth):.2f}-fold, "
        f"its logarithm {float(logarithm):.2f}-fold"
    )
    return Finding(
        bool(growth <= logarithm), text, float(logarithm), float(growth),
        closest=float(growth / logarithm),
    )  # fmt: skip


def _gap_of_ring_is_right(agents: int) -> bool:
    """The closed form against the exact characteristic polynomial."""
    rows = [
        [int((j - i) % agents in {0, 1, agents - 1}) for j in range(agents)] for i in range(agents)
    ]
    found = 1 - chains.signed(chains.network(rows, 3))
    return bool((found - _ring(agents)).contains(0))


def _gap_stays(rng: np.random.Generator) -> bool:
    """Stars: 1 - λmax = a whatever N, so that eq. 4 grows like its logarithm."""
    agents, a = int(rng.integers(3, 12)), Fraction(int(rng.integers(1, 10)), 10)
    gap = 1 - chains.signed(star(a, agents))
    if agents > 3 and not _gap_of_ring_is_right(agents):
        return False
    # Three agents and more have 1 - a as an eigenvalue, and 1/N - a below it.
    return bool((gap - chains.rational(a)).contains(0))


def _own_stars(effort: Effort) -> Finding:
    gaps = [1 - chains.signed(star(Fraction(1, 2), n)) for n in (9, 26)]
    holds = all(bool((gap - fmpq(1, 2)).contains(0)) for gap in gaps)
    return Finding(
        holds, "P2's stars of 9, 26 (and 101) agents at a = 1/2: 1 - λmax = 1/2 for all", cases=2
    )


CLAIMS = (
    Claim(
        key="star-centralities",
        title="The star's centralities",
        statement=r"a=.1,.2,.3,.5,.7\implies v_1=.10,.18,.25,.36,.44",
        words="The centre's eigenvector centrality at the five confidences; v_1 = 9a/(9a+8).",
        source="P2 section 1.4.1",
        kind="exact",
        verdict="holds",
        witnesses=(Witness("support", "the five values", _centralities),),
    ),
    Claim(
        key="star-rises",
        title="The centre's weight rises with a",
        statement=r"a<a'\implies v_1(a)<v_1(a')",
        words="The more the edges trust the centre, the larger its centrality (below N/(2N-1)).",
        source="P2 section 4.2.1",
        kind="exact",
        verdict="holds",
        witnesses=(
            search_witness(
                "support", "star-rises", 100, _rising, "stars and pairs of a", text="stars"
            ),
        ),
    ),
    Claim(
        key="star-rate-rises",
        title="K rises with a",
        statement=r"a<a'\implies K(a)<K(a')",
        words="With the more informative data at the centre, trusting it more speeds learning up.",
        source="P2 section 4.2.1",
        kind="exact",
        verdict="holds under an added condition",
        condition=(
            "at the larger a, the centre's I exceeds the edges' average for some hypothesis that "
            "binds (attains the minimum in K)"
        ),
        repaired="whether K rises is up to the binding hypothesis",
        witnesses=(
            Witness("counterexample", "a hypothesis that only edges can reject", _edges_bind),
            search_witness(
                "conditional",
                "star-rate",
                200,
                _binding_leads,
                "stars whose centre leads for what binds",
                text="stars whose centre leads where it binds",
            ),
            Witness("reach", "P2's labels", _star_of_readers),
        ),
    ),
    Claim(
        key="grid-centralities",
        title="The grid's centralities",
        statement=r"W_{ij}=1/|\mathcal N(i)|\implies v_i\propto|\mathcal N(i)|",
        words=(
            "On the 3 by 3 grid centrality is proportional to the number of neighbours, self "
            "included."
        ),
        source="P2 section 4.2.2",
        kind="exact",
        verdict="holds",
        witnesses=(Witness("support", "all nine agents", _degrees),),
    ),
    Claim(
        key="grid-placement",
        title="The expert belongs in the centre",
        statement=r"K(\text{expert in the centre})>K(\text{expert in a corner})",
        words="Placing the informative agent where centrality is highest maximises the rate.",
        source="P2 section 4.2.2",
        kind="exact",
        verdict="holds under an added condition",
        condition=(
            "with the expert in the centre, its I exceeds the others' for some hypothesis that "
            "binds (attains the minimum in K)"
        ),
        repaired="whether it is better is up to the binding hypothesis",
        witnesses=(
            Witness(
                "counterexample", "a hypothesis that only the others reject", _corner_is_better
            ),
            search_witness(
                "conditional",
                "grid-placement",
                200,
                _binding_expert,
                "experts who lead for what binds",
                text="experts who lead where it binds",
            ),
            Witness("reach", "P2's labels", _grid_of_readers),
        ),
    ),
    Claim(
        key="changing-network",
        title="Learning on a changing network",
        statement=r"\bigcup_k\mathcal G_k\text{ is strongly connected}",
        words=(
            "The union of the phases connects everybody, and so learning works. No theorem "
            "is claimed."
        ),
        source="P2 section 1.4.3",
        kind="exact",
        verdict="holds",
        repaired="what is needed is that the product over one period is irreducible and aperiodic",
        witnesses=(
            Witness("support", "P2's 26 agents", _period),
            search_witness(
                "support",
                "periods",
                20,
                _periods,
                "numbers and sizes of groups",
                text="other groups",
            ),
        ),
    ),
    Claim(
        key="remark-1-growth",
        title="Remark 1, growth with N and M",
        statement=r"n\sim\log N\ \text{and}\ n\sim\log M",
        words="The bound on samples grows logarithmically in the numbers of nodes and parameters.",
        source="P1 Remark 1",
        kind="asymptotic",
        verdict="holds under an added condition",
        condition="K, C and 1 - λmax stay away from 0 (and C from infinity) as N and M grow",
        repaired="with 1 - λmax and K as functions of N and M; on rings 1 - λmax falls like 1/N²",
        witnesses=(
            Witness("counterexample", "rings", _rings_grow),
            search_witness(
                "conditional", "growth", 20, _gap_stays, "stars, with 1 - λmax = a", text="stars"
            ),
            Witness("reach", "P2's stars", _own_stars),
        ),
    ),
)
