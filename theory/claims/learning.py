r"""What the papers say of information and the rate of learning (docs: mathematics/rate)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb

from theory.claims import chains
from theory.claims.claim import Claim, Effort, Finding, Witness
from theory.claims.hunting import Attempt, bound_witness, hunt, search_witness
from theory.claims.tables import Law, advantage, bernoulli, random_law


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
        weights = chains.random_network(rng, most=len(agents)) if len(agents) > 1 else None
        if weights is None or weights.nrows() == len(agents):
            break
    v = [arb(1)] if weights is None else [arb(x) for x in chains.stationary(weights)]
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
    v = chains.stationary(chains.network([[9, 1], [6, 4]], 10))
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
    weights = chains.random_network(rng)
    v, rounds = chains.stationary(weights), int(rng.integers(1, 30))
    information = [chains.rational(Fraction(int(x), 7)) for x in rng.integers(0, 30, len(v))]
    limit = sum((x * i for x, i in zip(v, information, strict=True)), chains.rational(0))
    reach = arb(max(information) - min(information)) / 2
    table = chains.powers(weights, rounds)
    upper = chains.deviation(weights)[1]
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
