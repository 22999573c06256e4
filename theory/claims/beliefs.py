r"""The log-ratio recursion, against the algorithm itself (docs: mathematics/log-ratio)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat, fmpq_mat

from theory.claims import chains
from theory.claims.chance import as_ball
from theory.claims.claim import Claim, Finding, Witness, search_witness
from theory.claims.tables import Law, bernoulli, random_law


@dataclass(frozen=True)
class Run:
    """A network, likelihoods [agent][hypothesis][input], and inputs and labels [round][agent]."""

    weights: fmpq_mat
    likelihoods: list[list[list[Law]]]
    inputs: list[list[int]]
    labels: list[list[int]]
    priors: list[Law]

    def log_likelihood(self, agent: int, hypothesis: int, t: int, *, of: int | None = None) -> arb:
        """Log ℓ_j(Y_j|θ, X): with agent j's input, or with that of agent `of`."""
        x = self.inputs[t][agent if of is None else of]
        return as_ball(self.likelihoods[agent][hypothesis][x][self.labels[t][agent]]).log()

    def beliefs(self) -> tuple[list[arb], list[arb]]:
        """Log-ratios of hypothesis 0 over 1, private and public, by the algorithm as printed.

        P1 eqs. 2 and 3, normalised in every step.
        """
        agents, hypotheses = self.weights.nrows(), len(self.priors[0])
        private = [[as_ball(p).log() for p in prior] for prior in self.priors]
        public = private
        for t in range(len(self.labels)):
            public = [
                _normalised(
                    [private[j][h] + self.log_likelihood(j, h, t) for h in range(hypotheses)]
                )
                for j in range(agents)
            ]
            private = [
                _normalised(
                    [
                        sum((arb(self.weights[i, j]) * public[j][h] for j in range(agents)), arb(0))
                        for h in range(hypotheses)
                    ]
                )
                for i in range(agents)
            ]
        return [row[0] - row[1] for row in private], [row[0] - row[1] for row in public]

    def formula(self, agent: int, *, lag: int = 0, own_input: bool = False) -> arb:
        """Σ_k Σ_j [W^(k-lag)]_ij z_j^(n-k+1) plus the priors' share.

        `own_input` puts X_i for X_j.
        """
        agents, rounds = self.weights.nrows(), len(self.labels)
        one = arb_mat([[int(i == j) for j in range(agents)] for i in range(agents)])
        step = arb_mat(self.weights)
        power = one if lag else step
        total = arb(0)
        for k in range(1, rounds + 1):
            for j in range(agents):
                of = agent if own_input else None
                z = self.log_likelihood(j, 0, rounds - k, of=of) - self.log_likelihood(
                    j, 1, rounds - k, of=of
                )
                total += power[agent, j] * z
            last = power
            power = power * step
        for j in range(agents):
            total += last[agent, j] * as_ball(self.priors[j][0] / self.priors[j][1]).log()
        return total


def _normalised(logs: list[arb]) -> list[arb]:
    total = sum((x.exp() for x in logs), arb(0)).log()
    return [x - total for x in logs]


def random_run(rng: np.random.Generator) -> Run:
    """Two or three agents, three hypotheses, two inputs, up to six rounds."""
    weights = chains.random_network(rng, most=3)
    agents, rounds = weights.nrows(), int(rng.integers(1, 7))
    return Run(
        weights,
        [[[random_law(rng, 3) for _ in range(2)] for _ in range(3)] for _ in range(agents)],
        rng.integers(0, 2, size=(rounds, agents)).tolist(),
        rng.integers(0, 3, size=(rounds, agents)).tolist(),
        [random_law(rng, 3, skew=False) for _ in range(agents)],
    )


def _agrees(rng: np.random.Generator, *, public: bool) -> bool:
    run = random_run(rng)
    private_ratios, public_ratios = run.beliefs()
    ratios = public_ratios if public else private_ratios
    return all(
        bool((run.formula(i, lag=int(public)) - ratio).contains(0))
        for i, ratio in enumerate(ratios)
    )


def _first_round(*, public: bool) -> Finding:
    """Two agents, one round, uniform priors, J/2; agent 1 saw a label twice as likely under θ*."""
    half, third = Fraction(1, 2), Fraction(1, 3)
    informed = [[bernoulli(2 * third)] * 2, [bernoulli(third)] * 2]
    blind = [[bernoulli(half)] * 2] * 2
    by_input = [[bernoulli(2 * third), bernoulli(half)], [bernoulli(third), bernoulli(half)]]
    run = Run(
        chains.network([[1, 1], [1, 1]], 2),
        [informed if public else by_input, blind],
        [[0, 1]],
        [[0, 0]],
        [bernoulli(half)] * 2,
    )
    private_ratios, public_ratios = run.beliefs()
    if public:
        truth, printed = public_ratios[0], run.formula(0)
        text = "one round, W = J/2, public belief of agent 1: log-ratio log 2, printed (log 2)/2"
    else:
        truth, printed = private_ratios[1], run.formula(1, own_input=True)
        text = (
            "one round, W = J/2, inputs 0 and 1, agent 1 informed at input 0 only: agent 2's "
            "log-ratio is (log 2)/2, with X_i for X_j it would be 0"
        )
    differs = not bool((truth - printed).contains(0))
    return Finding(not differs, text, float(printed.mid()), float(truth.mid()))


_RECURSION = (
    r"\log\frac{%s_i^{(n)}(\theta^*)}{%s_i^{(n)}(\theta)}=\sum_{k=1}^n\sum_j[W^k]_{ij}z_j^{(n-k+1)}"
)
_PRIVATE = search_witness(
    "support", "recursion-private", 60, lambda rng: _agrees(rng, public=False),
    "runs of the algorithm as printed, normalised each round, to 60 digits",
)  # fmt: skip
_PUBLIC = search_witness(
    "repaired", "recursion-public", 60, lambda rng: _agrees(rng, public=True),
    "runs of the algorithm, public beliefs with [W^(k-1)]",
)  # fmt: skip

CLAIMS = (
    Claim(
        key="recursion-private",
        title="The log-ratio recursion, private beliefs",
        statement=_RECURSION % (r"\rho", r"\rho"),
        words="Private beliefs are sums of past evidence, weighted with powers of W.",
        source="P1 appendix A, first display",
        kind="exact",
        verdict="holds",
        witnesses=(_PRIVATE,),
    ),
    Claim(
        key="recursion-public",
        title="The log-ratio recursion, public beliefs",
        statement=_RECURSION % ("b", "b"),
        words="P2 states the same for the public beliefs b (and sums over i).",
        source="P2 section 1.6, first display",
        kind="exact",
        verdict="fails",
        repaired="[W^(k-1)] in place of [W^k], and the sum over j",
        witnesses=(
            Witness("counterexample", "one round", lambda effort: _first_round(public=True)),
            _PUBLIC,
        ),
    ),
    Claim(
        key="recursion-inputs",
        title="The evidence's input",
        statement=r"z_j^{(k)}=\log\frac{\ell_j(Y_j^{(k)};\theta^*,X_i^{(k)})}{\ell_j(Y_j^{(k)};\theta,X_i^{(k)})}",
        words="Agent j's evidence is printed with agent i's input.",
        source="P1 appendix A, P2 section 1.6, second display",
        kind="exact",
        verdict="fails",
        condition="likelihoods that do not depend on the input",
        repaired="X_j",
        witnesses=(
            Witness("counterexample", "one round", lambda effort: _first_round(public=False)),
        ),
    ),
)
