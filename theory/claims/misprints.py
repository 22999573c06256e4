"""Statements that arithmetic alone refutes or confirms (docs: mathematics/misprints)."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq

from theory.claims import chains
from theory.claims.claim import Claim, Effort, Finding, Witness


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


def _rounded_up(effort: Effort) -> Finding:
    changing = ((2307, 50, 1, 47), (594, 10, 2, 120))
    text = "Table 3 has no formula: " + ", ".join(
        f"{u} is ceil({n}/{b}) · {e}, the floor would give {n // b * e}" for n, b, e, u in changing
    )
    return Finding(all(-(-n // b) * e == u for n, b, e, u in changing), text, cases=2)


def _data_sizes(effort: Effort) -> Finding:
    """Images per agent, from the 60 000 of MNIST and the labels' counts."""
    counts = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
    total = sum(counts)
    setups = (({0, 1}, 47335, 1583), ({8, 9}, 48200, 1475), ({4, 9}, 48209, 1473))
    right = total == 60_000 and all(
        sum(counts[d] for d in range(10) if d not in edges) == centre
        and sum(counts[d] for d in edges) // 8 == each
        for edges, centre, each in setups
    )
    shares = (60_000 // 26, 60_000 // 101) == (2307, 594)
    text = "all ten numbers of Tables 1 and 3 follow from the label counts of MNIST"
    return Finding(right and shares, text, cases=8)


def _centre_weights(effort: Effort) -> Finding:
    literal = Fraction(1, 5) + 1
    text = f"1/N_0+1 with N_0 = 5, read literally, is {literal}; meant is 1/(N_0+1) = 1/6"
    return Finding(6 * literal == 1, text, 1.0, float(6 * literal))


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
        (
            Witness("support", "the tables", _local_updates),
            Witness("repaired", "Table 3", _rounded_up),
        ),
        repaired="in Table 3, for which no formula is printed, ⌈n/B⌉ E",
    ),
    Claim(
        "p2-data-sizes", "Images per agent", r"n_{\text{center}},\ n_{\text{edge}}",
        "How many images each agent holds.", "P2 Tables 1 and 3", "exact", "holds",
        (Witness("support", "label counts of MNIST", _data_sizes),),
    ),
    _fails(
        "p2-centre-weights", "The centre's weights on a changing network",
        r"\mathbf W_0=[1/N_0+1,\dots,1/N_0+1]", "The centre weighs itself and its group alike.",
        "P2 section 1.4.3", "1/(N_0+1)",
        Witness("counterexample", "the sum of six", _centre_weights),
    ),
)  # fmt: skip
