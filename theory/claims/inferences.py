"""What P2 infers from its theorem in words (docs: mathematics/claims)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
from flint import arb, fmpq, fmpq_mat

from theory.claims import chains
from theory.claims.claim import Claim, Effort, Finding, Witness, search_witness
from theory.claims.examples import paper_networks, phases_of_stars, round_of_stars
from theory.claims.tables import divergence

# Components of the network.


def _components(weights: fmpq_mat) -> list[list[int]]:
    """Agents connected by listening in either direction."""
    size = weights.nrows()
    group = list(range(size))
    for i, j in product(range(size), repeat=2):
        if weights[i, j] != 0 and group[i] != group[j]:
            old, new = group[i], group[j]
            group = [new if g == old else g for g in group]
    # In the order of their first agents.
    return [[i for i in range(size) if group[i] == g] for g in dict.fromkeys(group)]


def _is_mutual(weights: fmpq_mat) -> bool:
    """Whether everybody is heard by those it listens to."""
    size = weights.nrows()
    return all((weights[i, j] != 0) == (weights[j, i] != 0) for i in range(size) for j in range(i))


def _all_meet_assumption_1(weights: fmpq_mat) -> bool:
    """Whether every component by itself is a stochastic, irreducible and aperiodic network."""
    for members in _components(weights):
        rows = [[weights[i, j] for j in members] for i in members]
        part = fmpq_mat(len(rows), len(rows), [x for row in rows for x in row])
        if any(sum(row, fmpq(0)) != 1 for row in rows) or not chains.is_primitive(part):
            return False
    return True


def _one_way(effort: Effort) -> Finding:
    """Two agents, every pattern of listening: those with one direction alone break it."""
    rounds = 20
    broken = []
    for first, second in product((0, 1), repeat=2):
        weights = chains.network([[2 - first, first], [second, 2 - second]], 2)
        if not _all_meet_assumption_1(weights):
            broken.append(weights)
    assert len(broken) == 2
    assert not any(_is_mutual(weights) for weights in broken)
    weights = chains.network([[1, 1], [0, 2]], 2)
    power, mean = weights, fmpq(0)
    for _ in range(rounds):
        mean += power[0, 0]
        power = power * weights
    assert mean == 1 - fmpq(1, 2**rounds)
    text = (
        "two agents, 1 listens to 2 with weight 1/2 and 2 to nobody; together they are not "
        f"irreducible; with I = (1, 0) agent 1 by itself would gain {rounds} in {rounds} rounds, "
        "and gains 1 - 2^-20: it learns nothing"
    )
    return Finding(bool(mean >= rounds), text, float(rounds), float(mean), 4)


def _mutual(rng: np.random.Generator) -> bool:
    """Networks in several parts with mutual listening, everybody listening to itself."""
    size = int(rng.integers(1, 8))
    links = np.triu(rng.random((size, size)) < 0.3, 1)
    table = rng.integers(1, 10, size=(size, size)) * (links | links.T | np.eye(size, dtype=bool))
    sums = table.sum(axis=1)
    weights = chains.network(
        [[Fraction(int(x), int(sums[i])) for x in row] for i, row in enumerate(table)]
    )
    return _is_mutual(weights) and _all_meet_assumption_1(weights)


def _own_networks(effort: Effort) -> Finding:
    networks = [*paper_networks().values(), *phases_of_stars(25, 5)]
    holds = all(_is_mutual(w) and _all_meet_assumption_1(w) for w in networks)
    text = f"all {len(networks)}, the phases of the changing one among them: listening is mutual"
    return Finding(holds, text, cases=len(networks))


# Labels that no agent holds together.

Holdings = Sequence[frozenset[int]]


def _wrong(labels: int) -> list[tuple[int, ...]]:
    """Every labelling but the right one: image x is called f[x]."""
    right = tuple(range(labels))
    return [f for f in product(right, repeat=labels) if f != right]


def _contradicts(held: frozenset[int], f: tuple[int, ...]) -> bool:
    """Whether an agent holds images that f calls something else: then I > 0."""
    return any(f[x] != x for x in held)


def _confuses_own(held: frozenset[int], f: tuple[int, ...]) -> bool:
    """Whether f calls some label of an agent by another of its labels."""
    return any(f[x] != x and f[x] in held for x in held)


def _held_together(holdings: Holdings, labels: int) -> bool:
    return all(any({a, b} <= held for held in holdings) for a, b in combinations(range(labels), 2))


def _all_holdings(labels: int) -> Iterable[Holdings]:
    """Every way for two agents to hold some of the labels each."""
    sets = [frozenset(s) for k in range(labels) for s in combinations(range(labels), k + 1)]
    return product(sets, repeat=2)


def _held_apart(effort: Effort) -> Finding:
    """Two labels at two agents that average; labels are right with probability 3/4."""
    holdings = (frozenset({0}), frozenset({1}))
    right, wrong = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    information = divergence(right, wrong)
    rate = None
    for f in _wrong(2):
        found = sum((information for held in holdings if _contradicts(held, f)), arb(0)) / 2
        rate = found if rate is None else rate.min(found)
    assert rate is not None
    is_guaranteed = bool(rate > 0)
    text = (
        "two agents with one label each: nobody holds the pair, and all three wrong labelings are "
        f"rejected, K = log(3)/4 = {float(rate):.4f}"
    )
    return Finding(not is_guaranteed or _held_together(holdings, 2), text, 0.0, float(rate), 3)


def _blind_outside(effort: Effort) -> Finding:
    """If agents reject only what confuses two labels of theirs, every pair must be held."""
    cases = [(holdings, labels) for labels in (2, 3) for holdings in _all_holdings(labels)]
    holds = all(
        all(any(_confuses_own(held, f) for held in holdings) for f in _wrong(labels))
        <= _held_together(holdings, labels)
        for holdings, labels in cases
    )
    return Finding(holds, f"all {len(cases)} holdings of two and three labels", cases=len(cases))


def _someone_rejects(effort: Effort) -> Finding:
    cases = [(holdings, labels) for labels in (2, 3) for holdings in _all_holdings(labels)]
    holds = all(
        all(any(_contradicts(held, f) for held in holdings) for f in _wrong(labels))
        == (set(chain(*holdings)) == set(range(labels)))
        for holdings, labels in cases
    )
    text = (
        f"all {len(cases)} holdings of two and three labels: every wrong labelling is rejected by "
        "somebody if and only if every label is held by somebody"
    )
    return Finding(holds, text, cases=len(cases))


def _own_partitions(effort: Effort) -> Finding:
    apart = []
    for edges in ({0, 1}, {8, 9}):
        holdings = (frozenset(range(10)) - edges, frozenset(edges))
        pairs = combinations(range(10), 2)
        apart.append(sum(not any({a, b} <= held for held in holdings) for a, b in pairs))
    text = (
        f"P2's partitions 1 and 2 hold {apart[0]} and {apart[1]} pairs apart, every label at some "
        "agent; the first reaches 97.55 %"
    )
    return Finding(max(apart) == 0, text, 0.0, float(apart[0]), 2)


# Synchronisation.


def _rate(agents: int, group: int, *, synchronised: bool) -> Fraction:
    """K per round of agents alike, I = 1; after each period all may take the average of all."""
    phases = phases_of_stars(agents, group)
    size = agents + 1
    share = [fmpq(1, size)] * size
    v = share if synchronised else chains.stationary(round_of_stars(agents, group))
    total = fmpq(0)
    for weights in reversed(phases):
        row = fmpq_mat(1, size, v) * weights
        v = [row[0, j] for j in range(size)]
        total += sum((v[j] for j in range(size) if weights[j, j] != 1), fmpq(0))
    return Fraction(int(total.p), int(total.q)) / len(phases)


def _no_run(effort: Effort) -> Finding:
    """What differs between the two runs whose accuracies are compared."""
    first = {"N": "25", "N_0": "5", "E": "1", "B": "50", "u": "47", "ε": "0.99", "n": "2307"}
    second = {"N": "100", "N_0": "10", "E": "2", "B": "10", "u": "120", "ε": "0.998", "n": "594"}
    for run in (first, second):
        run |= {"η": "0.001", "rounds": "1000", "synchronised": "no"}
    differ = [name for name in first if first[name] != second[name]]
    text = (
        f"the two runs differ in {', '.join(differ)}; neither is synchronised, and no run that is "
        "is printed beside them"
    )
    return Finding("synchronised" not in differ, text)


def _model(effort: Effort) -> Finding:
    falls = []
    for synchronised in (False, True):
        small, large = (_rate(n, m, synchronised=synchronised) for n, m in ((25, 5), (100, 10)))
        falls.append(large / small)
    alone, together = falls
    text = (
        f"agents alike, K with 101 agents over K with 26: {float(alone):.4f} as printed "
        f"({alone}), {float(together):.4f} if all take the average of all after each period"
    )
    holds = alone == Fraction(31, 211) / Fraction(2, 7) and together < alone
    return Finding(holds, text, float(alone), float(together), 4)


def _same_vector(rng: np.random.Generator) -> bool:
    """The stationary vector is one for all phases: their order cannot matter."""
    groups, size = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    phases = phases_of_stars(groups * size, size)
    shares = [Fraction(size + 1, 2), *[Fraction(1)] * (groups * size)]
    row = fmpq_mat(1, len(shares), [chains.rational(x) for x in shares])
    return all(row * weights == row for weights in phases)


CLAIMS = (
    Claim(
        key="connected-components",
        title="One component at a time",
        statement=(
            r"\text{one can always restrict attention to the connected components of the social "
            r"network}"
        ),
        words=("Assumption 1 loses nothing: in a network of several parts it holds for each part."),
        source="P2 section 3, after Assumption 3",
        kind="exact",
        verdict="holds under an added condition",
        condition="listening is mutual: W_ij > 0 if and only if W_ji > 0 (and W_ii > 0)",
        repaired=(
            "with one-way listening a part that hears others is driven by them, and those it hears "
            "learn without it"
        ),
        witnesses=(
            Witness("counterexample", "one agent that listens to another", _one_way),
            search_witness(
                "conditional", "components", 100, _mutual, "networks with mutual listening"
            ),
            Witness("reach", "the papers' networks", _own_networks),
        ),
    ),
    Claim(
        key="ood-pairs",
        title="Every pair of labels must be distinguished",
        statement=(
            r"\text{guaranteed to converge to the correct labeling function only when every pair "
            r"of OOD labels is distinguished by some agents}"
        ),
        words=(
            "What Theorem 1 is said to suggest: labels that no agent holds together cannot be "
            "told apart for sure."
        ),
        source="P2 section 4.2.2",
        kind="exact",
        verdict="fails",
        condition=(
            "agents reject nothing but what confuses labels of their own with one another, as if "
            "they reckoned with these alone"
        ),
        repaired="only when every wrong hypothesis is rejected by some agent",
        witnesses=(
            Witness("counterexample", "two labels, held apart", _held_apart),
            Witness("conditional", "agents blind outside their labels", _blind_outside),
            Witness("reach", "P2's partitions", _own_partitions),
            Witness("repaired", "rejected by somebody", _someone_rejects),
        ),
    ),
    Claim(
        key="remark-7-synchronisation",
        title="Remark 7, the drop for lack of synchronisation",
        statement=(
            r"\text{the lack of periodic global synchronization results in this difference}"
        ),
        words=(
            "P2 believes that 100 agents fall behind 25, 92.3 % against 96.5 %, because nothing "
            "synchronises them."
        ),
        source="P2 section 4.2.1 and Remark 7",
        kind="exact",
        verdict="undecided from the text",
        repaired=(
            "in the finite model the order of the groups makes no difference, and synchronising "
            "closes none of the gap in K"
        ),
        witnesses=(
            Witness("open", "what the runs differ in", _no_run),
            Witness("repaired", "the model", _model),
            search_witness(
                "repaired", "same-vector", 30, _same_vector, "stars in turn: one v for all phases"
            ),
        ),
    ),
)
