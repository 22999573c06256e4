"""Interior point steps towards the best influences: a nonlinear, robust form of the rate's LP.

For a budget c ≥ 0 let φ_θ(v, c) = min {Σ_j v_j E_{q_j} z_j : Σ_j KL(q_j ‖ law of z_j) ≤ c}, the
worst mean log-ratio that data bent by c nats can show. It is concave in v, and E_θ(v) ≥ c where
φ_θ(v, c) ≥ 0 (docs: mathematics/best-exponent). So the largest exponent is

    max c   subject to   φ_θ(v, c) ≥ 0 for all θ,   v = Bα, α ≥ 0, Σ α = 1,

with the vertices of the set of influences as the columns of B. A primal-dual interior point method
finds a point (v, c, λ) at which these conditions and the multipliers' nearly hold; what it proves
is worked out elsewhere (:mod:`theory.design.exponent.exponent_search`), from v and λ alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from theory.learning.tilted import MOST_TILT_STEPS, Tilted, TiltedTable, between
from theory.validation import FloatArray, IntArray

# Tilts along a ray -------------------------------------------------------------------------------


# Where a rise of t by 1 in 1 changes the cost by less than this, relatively, t is a limit.
_SETTLED = 1e-15


@dataclass(frozen=True, eq=False)
class BudgetTilt:
    """The tilts t of some rows at which the cost is the budget, and the laws tilted by t v."""

    tilts: FloatArray
    tilted: Tilted


def budget_tilts(
    table: TiltedTable, rows: IntArray, v: FloatArray, budget: float, *, guess: FloatArray
) -> BudgetTilt:
    """Where Σ_s n_s KL(law tilted by t v_s ‖ law) = `budget`, to about 1e-13 of the budget.

    Where no tilt costs as much, the tilt is so large that the law has settled at its least values.
    """
    n = table.counts
    t = guess.copy()
    low, high = np.zeros_like(t), np.full_like(t, np.inf)
    shape = (rows.size, v.size)
    result = Tilted(np.empty(shape), np.empty(shape), np.empty(shape))
    open_rows = np.arange(rows.size)
    root = np.sqrt(budget)
    for _ in range(MOST_TILT_STEPS):
        u = t[open_rows, None] * v
        found = table.tilted(rows[open_rows], u)
        for name in ("values", "means", "variances"):
            getattr(result, name)[open_rows] = getattr(found, name)
        cost = np.maximum(found.costs(u) @ n, 0.0)
        energy = t[open_rows] ** 2 * (found.variances @ (n * v * v))  # d cost / d log t
        over = cost > budget
        here = t[open_rows]
        high[open_rows[over]], low[open_rows[~over]] = here[over], here[~over]
        done = np.abs(cost - budget) <= 1e-13 * budget
        done |= ~over & (energy <= _SETTLED * budget) & (here > 0)
        done |= high[open_rows] <= low[open_rows] * (1 + 1e-15)
        if done.all():
            break
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = here * (1 + 2 * np.sqrt(cost) * (root - np.sqrt(cost)) / energy)
        t[open_rows] = between(step, here, low[open_rows], high[open_rows])
        open_rows = open_rows[~done]
    return BudgetTilt(t, result)


# Interior point steps towards the best influences ------------------------------------------------


# Steps go at most this far towards the boundary.
_FRACTION = 0.99
# The first slack of a constraint that binds at the start, as a share of its budget.
_FIRST_SLACK = 0.1
# Ten to twenty steps are usual.
_MOST_STEPS = 60
_MOST_HALVINGS = 20


@dataclass(frozen=True, eq=False)
class Program:
    """The constraints in use, and how the budget enters them.

    Attributes
    ----------
    rows
        Which rows of the table.
    vertices
        Shape (S, n): B.
    frozen
        If a budget c₀ > 0, φ(v, c) is replaced by φ(v, c₀) − (c − c₀) · slopes: a concave program.
        If c₀ is the exponent of some v, that of the solution is larger, unless v is best.
    slopes
        Shape (rows,), positive; for frozen programs alone.
    """

    table: TiltedTable
    rows: IntArray
    vertices: FloatArray
    frozen: float = 0.0
    slopes: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Centre:
    """Where the method stopped.

    Attributes
    ----------
    shares
        Shape (n,): α.
    budget
        c, in nats.
    multipliers
        Shape (rows,): λ, for constraints in the scale of φ.
    tilts
        Shape (rows,): t_θ, at which the laws tilted by t v use up the budget.
    steps
        Newton steps made.
    converged
        Whether what is left open was estimated to be as small as was asked for: no proof.
    """

    shares: FloatArray
    budget: float
    multipliers: FloatArray
    tilts: FloatArray
    steps: int
    converged: bool


def centre(
    program: Program, shares: FloatArray, budget: float, tilts: FloatArray, *, accuracy: float
) -> Centre:
    """Follow the central path from v = B · shares until `accuracy` times c is left open.

    Slacks r are variables of their own, r = φ in the end: steps may leave the feasible side for a
    while, along which the path is curved.
    """
    state = _evaluate(program, shares, budget, tilts)
    alpha, c = shares, budget
    r = np.maximum(state.values, _FIRST_SLACK * c * state.slopes)
    mu = 1.0 / float((state.slopes / r).sum())
    lam, eta = mu / r, mu / alpha
    converged, steps = False, 0
    while steps < _MOST_STEPS:
        gap = float(lam @ r + eta @ alpha)
        off = float(lam @ np.abs(state.values - r))
        rise = c - program.frozen if program.frozen else 0.0
        if gap + off <= accuracy * c and _is_closed(state, lam, accuracy * c, rise):
            converged = True
            break
        step = _newton(state, alpha, r, lam, eta, mu)
        length = min(
            1.0,
            _FRACTION * _room(alpha, step.alpha),
            _FRACTION * _room(r, step.slacks),
            _FRACTION * (c / -step.budget if step.budget < 0 else np.inf),
        )
        for _ in range(_MOST_HALVINGS):
            trial, trial_c = alpha + length * step.alpha, c + length * step.budget
            new = _evaluate(program, trial, trial_c, state.tilts)
            trial_r = r + length * step.slacks
            if float(lam @ np.abs(new.values - trial_r)) <= max(2 * off, gap):
                break
            length *= 0.5
        dual = min(1.0, _FRACTION * _room(lam, step.multipliers), _FRACTION * _room(eta, step.eta))
        alpha, c, state = trial / trial.sum(), trial_c, new
        # A slack below what its constraint leaves is raised to it at no cost.
        r = np.maximum(trial_r, state.values)
        lam, eta = lam + dual * step.multipliers, eta + dual * step.eta
        steps += 1
        slow = min(length, dual)
        shrink = 0.05 if slow > 0.9 else 0.2 if slow > 0.5 else 0.6
        mu = shrink * float(lam @ r + eta @ alpha) / (r.size + alpha.size)
    return Centre(alpha, c, lam, state.tilts, steps, converged)


def _is_closed(state: _State, lam: FloatArray, accuracy: float, rise: float) -> bool:
    """Whether φ ≥ 0 and max_α Σ_θ λ_θ ∂φ_θ·α ≤ 0 hold but for `accuracy` in c.

    Where the budget is frozen, the second of these is allowed the `rise` of c above it.
    """
    short = float((state.values / state.slopes).min())
    over = float((lam @ state.gradients).max()) / float(lam @ state.slopes)
    return short >= -accuracy and over <= accuracy + rise


@dataclass(frozen=True, eq=False)
class _State:
    """φ, its derivatives and the pieces of its second derivatives at one (α, c)."""

    values: FloatArray  # (A,)
    tilts: FloatArray  # (A,)
    slopes: FloatArray  # (A,): −∂φ/∂c > 0
    gradients: FloatArray  # (A, n): ∂φ/∂α
    weights: FloatArray  # (A, S): n_s κ''_s, zero where the tilt is a limit
    pulls: FloatArray  # (A, S): (weights · u)/√(uᵀ weights u)
    drifts: FloatArray  # (A, n): ∂gradients/∂c
    bends: FloatArray  # (A,): ∂²φ/∂c² ≥ 0
    vertices: FloatArray


@dataclass(frozen=True, eq=False)
class _Step:
    alpha: FloatArray
    budget: float
    slacks: FloatArray
    multipliers: FloatArray
    eta: FloatArray


def _evaluate(program: Program, alpha: FloatArray, budget: float, guess: FloatArray) -> _State:
    table, vertices = program.table, program.vertices
    v = vertices @ alpha
    found: BudgetTilt = budget_tilts(table, program.rows, v, program.frozen or budget, guess=guess)
    n, t = table.counts, found.tilts
    u = t[:, None] * v
    means, weights = found.tilted.means * n, found.tilted.variances * n
    # d cost / d log t: no quotient below depends on the scale of z.
    energy = (weights * u * u).sum(axis=1)
    moves = energy > 0
    energy = np.where(moves, energy, 1.0)
    values = means @ v
    slopes = 1 / t
    drifts = -(weights * u / energy[:, None]) @ vertices
    bends = np.where(moves, 1 / (t * energy), 0.0)
    if program.slopes is not None:
        slopes = program.slopes
        values = values - (budget - program.frozen) * slopes
        drifts, bends = np.zeros_like(drifts), np.zeros_like(bends)
    return _State(
        values=values,
        tilts=t,
        slopes=slopes,
        gradients=means @ vertices,
        weights=weights,
        pulls=weights * u / np.sqrt(energy)[:, None],
        drifts=drifts,
        bends=bends,
        vertices=vertices,
    )


def _newton(
    state: _State, alpha: FloatArray, r: FloatArray, lam: FloatArray, eta: FloatArray, mu: float
) -> _Step:
    G, s = state.gradients, state.slopes
    off = state.values - r
    pressed = (mu - lam * off) / r
    B = state.vertices
    scaled = lam * state.tilts
    pulls = (np.sqrt(scaled)[:, None] * state.pulls) @ B
    tight = np.sqrt(lam / r)[:, None] * G
    K = (B.T * (scaled @ state.weights)) @ B - pulls.T @ pulls + tight.T @ tight
    K[np.diag_indices_from(K)] += eta / alpha
    q = lam @ state.drifts + G.T @ (lam * s / r)
    sigma = float((lam * s * s / r).sum())
    k = float(lam @ state.bends)
    rhs = mu / alpha + G.T @ pressed
    factor = _factor(K)
    one = np.ones_like(alpha)
    solved = cho_solve(factor, np.column_stack([rhs, q, one]))
    x, y, w = solved.T
    # α-step = x + y dc − w ν, with Σ = 0: ν = (Σx + Σy dc)/Σw.
    total = w.sum()
    x, y = x - w * (x.sum() / total), y - w * (y.sum() / total)
    curvature = sigma - k - float(q @ y)
    if curvature <= 1e-8 * sigma:
        # Not concave in c here: a step for the problem with gradients frozen at this budget.
        q = G.T @ (lam * s / r)
        y = cho_solve(factor, q)
        y = y - w * (y.sum() / total)
        curvature = max(sigma - float(q @ y), 1e-14 * sigma)
    dc = (1 - float(s @ pressed) + float(q @ x)) / curvature
    da = x + y * dc
    dr = G @ da - s * dc + off
    dlam = mu / r - lam - lam / r * dr
    deta = mu / alpha - eta - eta / alpha * da
    return _Step(da, dc, dr, dlam, deta)


def _factor(matrix: FloatArray) -> tuple[FloatArray, bool]:
    scale = float(np.diag(matrix).max())
    shift = 0.0
    for _ in range(8):
        try:
            found: tuple[FloatArray, bool] = cho_factor(
                matrix + shift * np.eye(len(matrix)) if shift else matrix
            )
        except LinAlgError:
            shift = max(100 * shift, 1e-15 * scale)
        else:
            return found
    return cho_factor(matrix + scale * np.eye(len(matrix)))


def _room(values: FloatArray, step: FloatArray) -> float:
    """How far `values` can go along `step` until one of them is zero."""
    falling = step < 0
    return float((-values[falling] / step[falling]).min()) if falling.any() else np.inf
