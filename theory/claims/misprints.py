"""Statements that arithmetic alone settles, or cannot settle (docs: mathematics/misprints)."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq

from theory.claims import chains
from theory.claims.claim import Claim, Effort, Finding, Witness
from theory.claims.examples import phases_of_stars


def _literal_self_weight(effort: Effort) -> Finding:
    """W_ii = 1 - Σ_j W_ij with j = i in the sum: the sum is 1, hence W_ii = 0."""
    printed = Fraction(9, 10)
    literal = 1 - (Fraction(9, 10) + Fraction(1, 10))
    text = f"P1's own W_11 = {printed}; the rule, read literally, gives {literal}"
    return Finding(literal == printed, text, float(literal), float(printed))


def _row_sum(effort: Effort) -> Finding:
    row = [Fraction(1, 2)] * 3 + [Fraction(0)] * 2
    text = f"five entries for four agents, which sum to {sum(row)}"
    return Finding(len(row) == 4 and sum(row) == 1, text, 1.0, float(sum(row)))


def _mended_row(effort: Effort) -> Finding:
    weights = chains.network([[5, 5, 0, 0], [3, 1, 3, 3], [0, 5, 5, 0], [0, 5, 0, 5]], 10)
    v = chains.stationary(weights)
    text = (
        f"with (1/2, 1/2, 0, 0) the network is irreducible and aperiodic, v = "
        f"({', '.join(map(str, v))})"
    )
    return Finding(chains.is_primitive(weights) and sum(v, fmpq(0)) == 1, text)


def _prior_covariance(effort: Effort) -> Finding:
    truth, covariance = (-0.3, 0.5, 0.5, 0.1, 0.2), (0.5, 0.5, 0.5, 0.5)
    text = f"{len(truth)} coefficients, {len(covariance)} prior variances"
    return Finding(len(truth) == len(covariance), text, float(len(truth)), float(len(covariance)))


def _accuracies(effort: Effort) -> Finding:
    text = "section 4.2.1 prints 96.5 %, section 1.4.3 prints 95.6 %, of the same run (N = 25)"
    return Finding(Fraction("96.5") == Fraction("95.6"), text, 96.5, 95.6)


def _local_updates(effort: Effort) -> Finding:
    """U = floor(n/B) E, against the two tables that it is stated for: (n, B, E, printed u)."""
    stars = (
        (1583, 50, 5, 155), (1475, 50, 5, 145), (1473, 50, 5, 145), (3000, 100, 5, 150),
        (3000, 100, 5, 150),
    )  # fmt: skip
    grids = ((1583, 50, 5, 155), (1583, 50, 5, 155))
    rows = stars + grids
    holds = all(n // b * e == u for n, b, e, u in rows)
    return Finding(holds, f"all {len(rows)} rows of Tables 1 and 2", 155.0, 155.0, len(rows))


# Table 3: images of an agent, minibatch, local epochs, printed u; N and N_0 of section 1.4.3.
_CHANGING = ((2307, 50, 1, 47), (594, 10, 2, 120))
_ROTATING = ((25, 5), (100, 10))


def _table_3_floor(effort: Effort) -> Finding:
    found = [n // b * e for n, b, e, _ in _CHANGING]
    printed = [u for *_, u in _CHANGING]
    text = "; ".join(
        f"u = {u} is printed, ⌊{n}/{b}⌋ · {e} = {n // b * e}" for n, b, e, u in _CHANGING
    )
    return Finding(found == printed, text, float(printed[0]), float(found[0]), 2)


def _table_3_ceiling(effort: Effort) -> Finding:
    found = [-(-n // b) * e for n, b, e, _ in _CHANGING]
    text = "; ".join(f"⌈{n}/{b}⌉ · {e} = {-(-n // b) * e}" for n, b, e, _ in _CHANGING)
    return Finding(found == [u for *_, u in _CHANGING], text, cases=2)


_MNIST = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
_FASHION = (6000,) * 10


def _label_counts(effort: Effort) -> Finding:
    """Images of the centre and of each edge, from the counts of the labels that the edges hold."""
    setups = (
        (_MNIST, {0, 1}, 47335, 1583), (_MNIST, {8, 9}, 48200, 1475),
        (_MNIST, {4, 9}, 48209, 1473), (_FASHION, {1, 5, 7, 9}, 36000, 3000),
        (_FASHION, {2, 5, 7, 9}, 36000, 3000),
        # Table 2: both placements.
        (_MNIST, {0, 1}, 47335, 1583), (_MNIST, {0, 1}, 47335, 1583),
    )  # fmt: skip
    right = all(
        sum(counts) - sum(counts[d] for d in edges) == centre
        and sum(counts[d] for d in edges) // 8 == each
        for counts, edges, centre, each in setups
    )
    text = "all fourteen numbers of Tables 1 and 2 follow from the counts of the labels"
    return Finding(right, text, cases=2 * len(setups))


def _shares(brackets: bool) -> Finding:
    """60,000/N+1 in one of its readings, against Table 3 and against 60 000 images in all."""
    found = [60_000 // (n + 1) if brackets else 60_000 // n + 1 for n, _ in _ROTATING]
    printed = [n for n, *_ in _CHANGING]
    needed = [(n + 1) * share for (n, _), share in zip(_ROTATING, found, strict=True)]
    text = (
        f"as 60,000/{'(N+1)' if brackets else 'N + 1'}: {found[0]} and {found[1]} images an agent, "
        f"{needed[0]} and {needed[1]} in all; Table 3 has {printed[0]} and {printed[1]}"
    )
    holds = found == printed and max(needed) <= 60_000
    return Finding(holds, text, float(printed[0]), float(found[0]), 2)


def _centre_weights(brackets: bool) -> Finding:
    """1/N_0+1 in one of its readings: the weights of the centre and its group must sum to one."""
    sums = [
        (m + 1) * (Fraction(1, m + 1) if brackets else Fraction(1, m) + 1) for _, m in _ROTATING
    ]
    text = (
        f"as 1/{'(N_0+1)' if brackets else 'N_0 + 1'}: with N_0 = 5 and 10 the weights sum to "
        f"{sums[0]} and {sums[1]}"
    )
    return Finding(sums == [1, 1], text, 1.0, float(sums[0]), 2)


def _training(agents: int, group: int, *, edges_only: bool) -> set[Fraction]:
    """The fraction of agents that are in the star, one number a phase."""
    first = int(edges_only)
    return {
        Fraction(sum(weights[i, i] != 1 for i in range(first, agents + 1)), agents + 1 - first)
        for weights in phases_of_stars(agents, group)
    }


def _with_the_centre(effort: Effort) -> Finding:
    found = [_training(n, m, edges_only=False) for n, m in ((2, 1), *_ROTATING)]
    assert found == [{Fraction(2, 3)}, {Fraction(6, 26)}, {Fraction(11, 101)}]
    text = (
        "agent 0 holds images and is in every star: 6 of 26 agents train, not 5 of 25, and 11 of "
        "101, not 10 of 100 (the smallest: 2 of 3, not 1 of 2)"
    )
    return Finding(Fraction(1, 5) in found[1], text, 5 / 25, 6 / 26, 3)


def _without_the_centre(effort: Effort) -> Finding:
    found = [_training(n, m, edges_only=True) for n, m in _ROTATING]
    text = "of the edge agents alone 5 of 25 and 10 of 100 train in every phase"
    return Finding(found == [{Fraction(1, 5)}, {Fraction(1, 10)}], text, cases=2)


def _slide_weights(sampled: bool) -> Finding:
    """Σ n_k/n over the clients drawn: the slides' 100 clients of 600 images, a tenth of them."""
    each, drawn, clients = 600, max(int(Fraction(1, 10) * 100), 1), 100
    total = Fraction(drawn * each, (drawn if sampled else clients) * each)
    text = (
        f"n = the {drawn if sampled else clients} clients' images"
        f"{', drawn clients alone' if sampled else ', all of them'}: {drawn} of {clients} clients "
        f"with {each} images each have weights that sum to {total}"
    )
    return Finding(total == 1, text, 1.0, float(total))


def _fails(
    key: str,
    title: str,
    statement: str,
    words: str,
    source: str,
    repaired: str,
    *witnesses: Witness,
) -> Claim:
    return Claim(
        key, title, statement, words, source, "exact", "fails", tuple(witnesses), repaired=repaired
    )


CLAIMS = (
    _fails(
        "self-weight", "The weight on oneself", r"W_{ii}=1-\sum_{j=1}^NW_{ij}",
        "The sum includes j = i.", "P1 section 2.2", "1 - Σ_{j≠i} W_ij",
        Witness("counterexample", "P1's own network", _literal_self_weight),
    ),
    _fails(
        "p2-first-row", "The first row of P2's regression network",
        r"\mathbf W_1=[0.5,0.5,0.5,0,0]", "The weights of agent 1 of four.", "P2 section 1.3",
        "(0.5, 0.5, 0, 0)",
        Witness("counterexample", "count and sum", _row_sum),
        Witness("repaired", "the row as meant", _mended_row),
    ),
    _fails(
        "p2-prior-covariance", "The prior of P2's regression",
        r"\operatorname{diag}[0.5,0.5,0.5,0.5]", "The prior covariance of five coefficients.",
        "P2 section 1.3", "five variances of 0.5",
        Witness("counterexample", "count", _prior_covariance),
    ),
    _fails(
        "p2-accuracy", "The accuracy of 25 agents", r"96.5\,\%\text{ and }95.6\,\%",
        "Two numbers for one experiment.", "P2 sections 4.2.1 and 1.4.3", "one of the two",
        Witness("counterexample", "the two numbers", _accuracies),
    ),
    Claim(
        "p2-local-updates", "Local updates per round",
        r"u=\lfloor n_{\text{edge}}/B\rfloor E", "The number of local updates of each agent.",
        "P2 sections 1.4.1 and 1.4.2, Tables 1 and 2", "exact", "holds",
        (Witness("support", "the tables", _local_updates),),
    ),
    Claim(
        "p2-table-3-updates", "Local updates per round in Table 3",
        r"(n,B,E)=(2307,50,1),(594,10,2):\ u=47,120",
        "The same column of the third table. The only rule printed for it, that of the other two, "
        "leaves out the last minibatch if it is not full; here it is counted.",
        "P2 Table 3, with sections 1.4.1 and 1.4.2", "exact", "fails",
        (
            Witness("counterexample", "the printed rule", _table_3_floor),
            Witness("conditional", "rounded up", _table_3_ceiling),
        ),
        condition="the last minibatch, which is not full, counts: ⌈n/B⌉ E",
        repaired="46 and 118 by ⌊n/B⌋ E",
    ),
    Claim(
        "p2-label-counts", "Images per agent by labels", r"n_{\text{center}},\ n_{\text{edge}}",
        "How many images an agent with some of the labels holds.", "P2 Tables 1 and 2", "exact",
        "holds", (Witness("support", "counts of the labels", _label_counts),),
    ),
    Claim(
        "p2-data-sizes", "Images per agent on a changing network", r"60{,}000/N+1",
        'Each agent gets "approximately (60,000/N+1) samples". The text has the fraction in one '
        "line and does not say what is below the bar.",
        "P2 section 1.4.3", "exact", "undecided from the text",
        (
            Witness("reading", "60,000/N + 1", lambda effort: _shares(brackets=False)),
            Witness("reading", "60,000/(N+1)", lambda effort: _shares(brackets=True)),
        ),
        condition="read as 60,000/(N+1), rounded down",
    ),
    Claim(
        "p2-centre-weights", "The centre's weights on a changing network",
        r"\mathbf W_0=[1/N_0+1,\dots,1/N_0+1]",
        "The centre weighs itself and its group alike. The text has the fraction in one line and "
        "does not say what is below the bar.",
        "P2 section 1.4.3", "exact", "undecided from the text",
        (
            Witness("reading", "1/N_0 + 1", lambda effort: _centre_weights(brackets=False)),
            Witness("reading", "1/(N_0+1)", lambda effort: _centre_weights(brackets=True)),
        ),
        condition="read as 1/(N_0+1)",
    ),
    Claim(
        "p2-training-share", "How many agents train at a time",
        r"\text{only a small fraction of agents }N_0/N\text{ are training}",
        "On the changing network of N+1 agents a star of N_0 edges and agent 0 is active. The text "
        "does not say whether agent 0 is among the agents counted.",
        "P2 section 1.4.3", "exact", "undecided from the text",
        (
            Witness("reading", "all agents", _with_the_centre),
            Witness("reading", "edge agents alone", _without_the_centre),
        ),
        condition="read of the edge agents: N_0 of N; of all agents it is (N_0+1)/(N+1)",
    ),
    Claim(
        "slides-weights", "The weights of federated averaging",
        r"x_{t+1}\leftarrow\sum_{k\in S_t}\frac{n_k}{n}x^k_{t+1}",
        "The server averages the clients that it has drawn. The slides do not say what n is.",
        "slides on FedAvg, Algorithm 1", "exact", "undecided from the text",
        (
            Witness("reading", "n of all clients", lambda effort: _slide_weights(sampled=False)),
            Witness("reading", "n of those drawn", lambda effort: _slide_weights(sampled=True)),
        ),
        condition="n is the data of the clients drawn, Σ_{k∈S_t} n_k; or all clients are (C = 1)",
    ),
)  # fmt: skip
