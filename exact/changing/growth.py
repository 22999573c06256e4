"""What every observation came to count in a run that has happened, and what it should have brought.

Pooling is linear. So from who used which message with which weight follows, exactly, the total
weight c of every observation in every belief, whatever was lost, late or away:

    Λ_i = Σ_{j,k} c_{i,jk} z_jk + Σ_j p_ij Λ_j^(0),

z_jk what agent j observed in its k-th round. Given this schedule, and observations that know
nothing of it, the mean of Λ_i is Σ_j C_ij I_j, C_ij = Σ_k c_{i,jk}, and its variance
Σ_j Var z_j Σ_k c²_{i,jk} (docs: mathematics/own-clocks). Measured growth is held against this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import spsolve_triangular

from exact.changing.log import Log
from theory import FiniteModel
from theory.scientific import sparse
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, as_position, fail, read_only


@dataclass(frozen=True, eq=False)
class Growth(Shown):
    """What log-ratios should have gained, given the schedule; in nats, rounded only.

    Attributes
    ----------
    mean
        Shape (N, M): the expected gain of Λ_i(best, θ).
    deviation
        Shape (N, M): its standard deviation, zero at `best`.
    """

    mean: FloatArray
    deviation: FloatArray

    def score(self, gains: ArrayLike) -> FloatArray:
        """How many standard deviations off measured gains are, shape (N, M); 0 at `best`."""
        off = np.asarray(gains, dtype=np.float64) - self.mean
        spread = self.deviation > 0
        return np.divide(off, self.deviation, out=np.zeros_like(off), where=spread)


@dataclass(frozen=True, eq=False)
class Realised(Shown):
    """What observations and priors counted, exact but for rounding.

    Attributes
    ----------
    weights
        For each agent j, shape (N, R_j): the weight of its observations, by round, in what each
        agent i believed at the end (or gained, if a beginning was given).
    priors
        Shape (N, N): the weight of agent j's prior.
    data
        For each agent j, shape (R_j,): how many observations each round brought.
    """

    weights: tuple[FloatArray, ...]
    priors: FloatArray
    data: tuple[IntArray, ...]

    @property
    def totals(self) -> FloatArray:
        """C, shape (N, N): how many observations of agent j count in what agent i believes."""
        return np.stack([w @ n for w, n in zip(self.weights, self.data, strict=True)], axis=1)

    @property
    def steps(self) -> FloatArray:
        """Shape (N,): the effective rounds of each agent: what all rounds count together."""
        return np.asarray(np.stack([w.sum(axis=1) for w in self.weights]).sum(axis=0))

    def growth(self, model: FiniteModel, best: int | str) -> Growth:
        """What it should have brought.

        Parameters
        ----------
        model
            N agents, whose observations are independent of each other and of the schedule.
        best
            The hypothesis that log-ratios are taken against.

        Raises
        ------
        ValueError
            If the model has another number of agents or no such hypothesis.
        """
        agents = len(self.weights)
        if model.agents != agents:
            raise fail("model", f"{agents} agents", model.agents, "take the model that was run")
        chosen = as_position("best", best, model.hypotheses)
        priors = model.log_priors[model.assignment]
        mean = self.totals @ model.information(chosen)
        mean += self.priors @ (priors[:, [chosen]] - priors)
        squares = np.stack(
            [(w * w) @ n for w, n in zip(self.weights, self.data, strict=True)], axis=1
        )
        variances = np.zeros((len(model.kinds), len(model.hypotheses)))
        for other in range(len(model.hypotheses)):
            if other != chosen:
                laws = model.log_ratio_laws(chosen, other)
                variances[:, other] = [law.variance for law in laws]
        spread = np.sqrt(squares @ variances[model.assignment])
        return Growth(read_only(mean), read_only(spread))


def realised(
    logs: Sequence[Log],
    *,
    since: Sequence[int] | None = None,
    until: Sequence[int] | None = None,
) -> Realised:
    """What every observation counts, from the logs of all agents.

    Parameters
    ----------
    logs
        One for each of N agents, with plain averages: no robust rule is linear.
    since, until
        Shape (N,): after how many of its rounds the gain of agent i begins and ends. Without a
        beginning it is all that is believed, priors included; without an end, up to the last.

    Raises
    ------
    ValueError
        If logs do not fit each other, somebody used a message that nobody sent, or one that rests
        on itself.

    Examples
    --------
    Two agents pool alike, once; the second had a message of its own only.

    >>> one = Log([1], [[0.5, 0.5]], [[1, 1]])
    >>> two = Log([1], [[0.0, 1.0]], [[-1, 1]])
    >>> realised([one, two]).totals.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    agents = len(logs)
    for i, log in enumerate(logs):
        if log.weights.shape[1] != agents:
            raise fail(
                "logs", f"{agents} agents each", f"{log.weights.shape[1]} in log {i}", "pad them"
            )
    sizes = [log.rounds.size for log in logs]
    ends = _checked("until", sizes if until is None else until, sizes)
    begins = _checked("since", [0] * agents if since is None else since, sizes)
    use = _uses(logs)
    # Private beliefs: N priors, then the rounds, so ordered that nothing rests on what follows.
    order = _order(use.step)
    place = np.argsort(order)
    target = np.zeros((use.step.shape[0], agents))
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    for sign, counts in ((1.0, ends), (-1.0, begins)):
        for i, count in enumerate(counts):
            if sign > 0 or since is not None:
                target[i if count == 0 else agents + first[i] + count - 1, i] += sign
    ordered = use.step[order][:, order]
    system = (sparse.eye_array(ordered.shape[0]) - ordered).T.tocsr()
    solved = np.asarray(spsolve_triangular(system, target[order], lower=False))
    weight = solved[place]
    counted = (use.message.T @ weight).T
    return Realised(
        tuple(read_only(part) for part in np.split(counted, np.cumsum(sizes)[:-1], axis=1)),
        read_only(weight[:agents].T.copy()),
        tuple(log.data for log in logs if log.data is not None),
    )


@dataclass(frozen=True, eq=False)
class _Uses:
    """Who rests on what, P = N + R private beliefs: `step` among them, `message` on R rounds."""

    step: sparse.csr_array
    message: sparse.csr_array


def _uses(logs: Sequence[Log]) -> _Uses:
    """Private beliefs by the private ones before the messages they used, and by these messages."""
    agents = len(logs)
    first = np.concatenate([[0], np.cumsum([log.rounds.size for log in logs])])
    total = int(first[-1])
    row, step, said, weight = [], [], [], []
    for i, log in enumerate(logs):
        assert log.bases is not None
        here = agents + first[i] + np.arange(log.rounds.size)
        for j, other in enumerate(logs):
            assert other.bases is not None
            used = np.flatnonzero((log.weights[:, j] > 0) & (log.heard[:, j] >= 0))
            when = log.heard[used, j]
            # A message of round 0 is a prior, which brings no observation and has no base.
            place = np.searchsorted(other.rounds, when)
            known = np.append(other.rounds, -1)[place] == when
            if not (known | (when == 0)).all():
                raise fail(
                    "logs",
                    f"round {when[~known & (when > 0)][0]} in the log of agent {j}",
                    f"nothing of it, though agent {i} used it",
                    "give whole logs",
                )
            base = np.append(other.bases, -1)[place]
            row.append(here[used])
            step.append(np.where(base < 0, j, agents + first[j] + base))
            said.append(np.where(when == 0, total, first[j] + place))
            weight.append(log.weights[used, j])
    rows, size = np.concatenate(row), agents + total
    values = np.concatenate(weight)
    steps = sparse.csr_array((values, (rows, np.concatenate(step))), shape=(size, size))
    message = sparse.csr_array((values, (rows, np.concatenate(said))), shape=(size, total + 1))
    return _Uses(steps, sparse.csr_array(message[:, :total]))


def _order(step: sparse.csr_array) -> IntArray:
    """The places in an order in which nothing rests on what follows it."""
    waiting = np.diff(step.indptr)
    users = sparse.csc_array(step)
    order = np.flatnonzero(waiting == 0).tolist()
    pending = waiting.tolist()
    indptr, indices = users.indptr.tolist(), users.indices.tolist()
    for place in order:
        for user in indices[indptr[place] : indptr[place + 1]]:
            pending[user] -= 1
            if pending[user] == 0:
                order.append(user)
    if len(order) < len(pending):
        raise fail(
            "logs",
            "messages that were made before they were used",
            "some that rest on themselves",
            "give what was logged, in order",
        )
    return np.array(order, dtype=np.int64)


def _checked(argument: str, counts: Sequence[int], sizes: Sequence[int]) -> list[int]:
    values = [int(c) for c in counts]
    fits = len(values) == len(sizes)
    if not fits or any(not 0 <= c <= s for c, s in zip(values, sizes, strict=True)):
        raise fail(argument, f"0 to {list(sizes)} rounds", values, "count the rounds of each agent")
    return values
