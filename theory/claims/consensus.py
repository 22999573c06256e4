r"""What the papers say of the consensus step and of variational inference."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, fmpq, fmpq_mat

from theory.claims import chains
from theory.claims.chance import as_ball
from theory.claims.claim import Claim, Effort, Finding, Witness, search_witness
from theory.claims.examples import paper_networks
from theory.claims.tables import Law, advantage, bernoulli, divergence, random_law


def _precision(rng: np.random.Generator, size: int) -> fmpq_mat:
    """A rational positive definite matrix, often badly conditioned."""
    factor = rng.integers(-5, 6, size=(size, size)).astype(object)
    for i in range(size):
        factor[i, i] += 6 * 10 ** int(rng.integers(0, 6))
    root = fmpq_mat(size, size, [fmpq(int(x)) for x in factor.ravel()])
    return root * root.transpose() if root.det() != 0 else _precision(rng, size)


def _quadratic(precision: fmpq_mat, mean: fmpq_mat, point: fmpq_mat) -> fmpq:
    gap = point - mean
    return (gap.transpose() * precision * gap)[0, 0]


def _gaussian(rng: np.random.Generator) -> bool:
    """Pooled log densities against the printed mean and precision, up to a constant, exactly."""
    size, agents = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    weights = [Fraction(int(x)) for x in rng.integers(0, 10, size=agents)]
    weights[0] += 1
    share = [chains.rational(w / sum(weights)) for w in weights]
    precisions = [_precision(rng, size) for _ in range(agents)]
    columns = rng.integers(-20, 21, size=(agents, size))
    means = [fmpq_mat(size, 1, [fmpq(int(x), 3) for x in column]) for column in columns]
    pooled = sum((p * w for p, w in zip(precisions, share, strict=True)), precisions[0] * 0)
    shift = sum((p * m * w for p, m, w in zip(precisions, means, share, strict=True)), means[0] * 0)
    mean = pooled.solve(shift)
    # Pooled and printed quadratics differ by one constant at every point, and the pool is proper.
    points = [
        fmpq_mat(size, 1, [fmpq(int(x)) for x in rng.integers(-9, 10, size=size)]) for _ in range(8)
    ]
    differences = {
        sum(
            (w * _quadratic(p, m, point) for p, m, w in zip(precisions, means, share, strict=True)),
            fmpq(0),
        )
        - _quadratic(pooled, mean, point)
        for point in points
    }
    minors = [
        fmpq_mat(k, k, [pooled[i, j] for i in range(k) for j in range(k)]).det()
        for k in range(1, size + 1)
    ]
    return len(differences) == 1 and min(minors) > 0


def _own_mean_breaks(effort: Effort) -> Finding:
    """Two agents, one dimension, precisions 1, means 0 and 1, weights ½: the line at θ = 1."""
    point, means, weight = Fraction(1), (Fraction(0), Fraction(1)), Fraction(1, 2)
    truth = sum((weight * (point - m) ** 2 for m in means), Fraction(0))
    squares = point**2 + sum((weight * m**2 for m in means), Fraction(0))
    cross = sum((weight * m * point for m in means), Fraction(0))
    printed = squares - cross - point * means[0]
    assert squares - 2 * cross == truth
    text = (
        f"precisions 1, means 0 and 1, weights 1/2: the weighted square at θ = 1 is {truth}, "
        f"the line with agent 1's mean gives {printed}"
    )
    return Finding(printed == truth, text, float(printed), float(truth))


def _unnormalised(rng: np.random.Generator) -> bool:
    """KL(q ‖ κρ) = KL(q ‖ ρ) - log κ, to 60 digits."""
    q, rho = random_law(rng, 4), random_law(rng, 4)
    kappa = Fraction(int(rng.integers(1, 1000)), int(rng.integers(1, 1000)))
    scaled: Law = tuple(kappa * x for x in rho)
    gap = divergence(q, scaled) - (divergence(q, rho) - as_ball(kappa).log())
    return bool(gap.contains(0))


def _free_energy(q: Law, prior: Law, likelihood: Law) -> arb:
    """-E_q log ℓ + KL(q ‖ prior), what P1 eq. 8 calls L_VI."""
    loss = arb(0)
    for weight, ell in zip(q, likelihood, strict=True):
        loss -= as_ball(weight) * as_ball(ell).log()
    return loss + divergence(q, prior)


def _posterior(prior: Law, likelihood: Law) -> Law:
    joint = [p * ell for p, ell in zip(prior, likelihood, strict=True)]
    return tuple(x / sum(joint, Fraction(0)) for x in joint)


def _maximised(effort: Effort) -> Finding:
    prior, likelihood = bernoulli(Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 4))
    posterior = _posterior(prior, likelihood)
    at, away = (_free_energy(q, prior, likelihood) for q in (posterior, bernoulli(Fraction(1, 10))))
    text = (
        f"prior (1/2, 1/2), likelihood (3/4, 1/4): {float(at):.4f} at the posterior, "
        f"{float(away):.4f} at (1/10, 9/10)"
    )
    return Finding(bool(at >= away), text, float(at), float(away))


def _minimised(rng: np.random.Generator) -> bool:
    """The posterior has less free energy than any other law."""
    prior, other = random_law(rng, 3), random_law(rng, 3)
    weights = random_law(rng, 3)
    posterior = _posterior(prior, weights)
    if posterior == other:
        return True
    gap = _free_energy(other, prior, weights) - _free_energy(posterior, prior, weights)
    return bool(gap > 0)


def _two_lines(effort: Effort) -> Finding:
    """P2 eq. 5: ℓ b^(n-1) on the first line and KL(π‖q^(n-1)) on the second.

    Two agents, W = J/2, a first round in which only agent 1 saw something; then flat likelihoods,
    so that the minimisers are b^(1) and q^(1) themselves.
    """
    half = bernoulli(Fraction(1, 2))
    public = _posterior(half, bernoulli(Fraction(4, 5)))
    # Private: the normalised geometric mean of (4/5, 1/5) and (1/2, 1/2), odds 2 to 1.
    private = bernoulli(Fraction(2, 3))
    gap = advantage(public, public, private)
    text = (
        "after one round b = (4/5, 1/5), q = (2/3, 1/3): the two lines of eq. 5 start from "
        "different beliefs"
    )
    return Finding(not bool(gap > 0), text, float(public[0]), float(private[0]))


def error_constants(
    weights: fmpq_mat, second_moments: list[Fraction], *, shared: bool
) -> tuple[fmpq, fmpq]:
    """Limits of n/α² times the excess test error: of the network, and of a central agent.

    Agent j sees (1, x_j) with E x_j² given and zero elsewhere; the test has all coordinates at
    once, S = diag(1, E x²). Network: tr(S A⁻¹BA⁻¹), A = Σ v_j S_j, B = Σ v_j² S_j. The centre
    either is given every agent's observation (`shared`, information Σ S_j a round), or sees all
    coordinates once a round (information S).
    """
    v, size = chains.stationary(weights), len(second_moments) + 1

    def diagonal(entries: list[fmpq]) -> fmpq_mat:
        return fmpq_mat(
            size, size, [entries[i] if i == j else 0 for i in range(size) for j in range(size)]
        )

    moments = [chains.rational(s) for s in second_moments]
    own = [
        diagonal([fmpq(1)] + [s if i == j else fmpq(0) for i, s in enumerate(moments)])
        for j in range(len(moments))
    ]
    mean = sum((s * x for s, x in zip(own, v, strict=True)), own[0] * 0)
    spread = sum((s * x * x for s, x in zip(own, v, strict=True)), own[0] * 0)
    test = diagonal([fmpq(1), *moments])
    central = sum(own, own[0] * 0) if shared else test
    covariances = (mean.inv() * spread * mean.inv(), central.inv())
    network, centre = (
        sum((product[i, i] for i in range(size)), fmpq(0))
        for product in (test * covariance for covariance in covariances)
    )
    return network, centre


def _like_the_centre(effort: Effort) -> Finding:
    networks = paper_networks()
    # E x² of Unif[-b, b] is b²/3. P1's centre sees both coordinates, P2's all agents' data.
    moments = [Fraction(1, 3), Fraction(3, 4), Fraction(25, 48), Fraction(3, 16)]
    first, second = (
        network / centre
        for network, centre in (
            error_constants(networks["P1 regression"], moments[:2], shared=False),
            error_constants(networks["P2 regression"], moments, shared=True),
        )
    )
    text = f"excess test error in the limit, network over centre: P1 {first}, P2 {second}"
    # "Matches", of curves in a figure: within a tenth.
    holds = all(fmpq(9, 10) < quotient < fmpq(11, 10) for quotient in (first, second))
    return Finding(holds, text, 1.0, float(arb(second)), 2)


_GAUSSIAN = "random precisions, some badly conditioned, in exact rationals"

CLAIMS = (
    Claim(
        key="gaussian-consensus",
        title="Consensus of Gaussian beliefs",
        statement=(
            r"\tilde\Sigma_i^{-1}=\sum_jW_{ij}\Sigma_j^{-1},\quad "
            r"\tilde\mu_i=\tilde\Sigma_i\sum_jW_{ij}\Sigma_j^{-1}\mu_j"
        ),
        words=(
            "Pooling Gaussian beliefs in logarithms gives a Gaussian, means weighted by precisions."
        ),
        source="P1 eqs. 6 and 7, P2 Remark 2 eq. 6",
        kind="exact",
        verdict="holds",
        witnesses=(search_witness("support", "gaussian", 200, _gaussian, _GAUSSIAN),),
    ),
    Claim(
        key="gaussian-derivation",
        title="The derivation of Gaussian consensus",
        statement=r"\boldsymbol\theta^{\mathsf T}\sum_jW_{ij}\Sigma_j^{-1}\mu_i",
        words=(
            "One cross term has agent i's mean where agent j's belongs (and two sums run over i)."
        ),
        source="P2 section 1.2, second display, third line",
        kind="exact",
        verdict="fails",
        repaired="μ_j; the result, eq. 6, is right",
        witnesses=(
            Witness("counterexample", "two agents in one dimension", _own_mean_breaks),
            search_witness("repaired", "gaussian-repaired", 50, _gaussian, _GAUSSIAN),
        ),
    ),
    Claim(
        key="like-the-centre",
        title="As good as a central agent",
        statement=r"\mathrm{MSE}_i(n)\approx\mathrm{MSE}_{\text{central}}(n)",
        words=(
            "In both regressions agents who see one coordinate each match a central agent: one who "
            "sees both coordinates in P1, one who is given all agents' data in P2."
        ),
        source="P1 section 5.1, P2 section 4.1",
        kind="asymptotic",
        verdict="holds",
        repaired=(
            "in the limit its excess error is (d + Σ v_j²)/(d + 1) = 45/49 of the centre's in P1, "
            "and (d + Σ v_j²)/(d + 1/N) = 836/833 in P2"
        ),
        witnesses=(Witness("support", "exact constants of both regressions", _like_the_centre),),
    ),
    Claim(
        key="unnormalised-consensus",
        title="Unnormalised beliefs are enough",
        statement=r"D_{KL}(q\,\Vert\,\kappa\rho)=D_{KL}(q\,\Vert\,\rho)-\log\kappa",
        words="A constant factor in the pooled belief shifts the objective and not its minimiser.",
        source="P1 section 5.2.1",
        kind="exact",
        verdict="holds",
        witnesses=(
            search_witness(
                "support",
                "unnormalised",
                300,
                _unnormalised,
                "laws and factors, to 60 digits",
                text="laws and factors",
            ),
        ),
    ),
    Claim(
        key="evidence-bound-sign",
        title="The sign of the evidence bound",
        statement=(r"\max_\varphi\;-\int q_\varphi\log\ell\,d\theta+D_{KL}(q_\varphi\Vert\rho)"),
        words="P1 maximises what is the negative evidence lower bound.",
        source="P1 eq. 8",
        kind="exact",
        verdict="fails",
        repaired="minimise it: the posterior is the unique minimiser",
        witnesses=(
            Witness("counterexample", "two hypotheses", _maximised),
            search_witness(
                "repaired",
                "free-energy",
                200,
                _minimised,
                "priors, likelihoods and other laws",
                text="the posterior against other laws",
            ),
        ),
    ),
    Claim(
        key="variational-prior",
        title="Where the local step starts",
        statement=(
            r"\ell_i\,b_i^{(n-1)}\ \text{(first line)}\quad\text{and}\quad "
            r"D_{KL}(\pi\Vert q_i^{(n-1)})\ \text{(second)}"
        ),
        words="The two lines of one equation start from the public and from the private belief.",
        source="P2 Remark 1 eq. 5",
        kind="exact",
        verdict="fails",
        repaired="q^(n-1) in both, as in P2 eq. 2",
        witnesses=(Witness("counterexample", "one round of two agents", _two_lines),),
    ),
)
