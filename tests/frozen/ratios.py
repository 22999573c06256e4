"""How many times quicker the house is than a plain way of the same, frozen and now.

Both are timed in turn in one run, CPU seconds on one thread; the ratio is the median of several
turns. This is no test: it differs by some per cent however quiet a machine is. `python -m
tests.frozen ratios` says what has moved by more than `TOLERANCE`, of two measurements both.
"""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import exact
import theory
from tests.frozen.seeded import Stream
from theory import FiniteAgent, FiniteModel, Network, design
from theory.changing import RandomLinks
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork
from theory.regression import RegressionAgent, RegressionModel

FROZEN = Path(__file__).parent / "outputs" / "ratios.json"
TOLERANCE = 0.05
# Turns of each pair: until so many seconds are over, and at least so many. In a turn each is called
# for so many CPU seconds at least.
SECONDS, FEWEST, TURN = 5.0, 5, 0.1
# Measurements of which the median is frozen.
MEASURED = 3

Task = Callable[[], object]
Pair = tuple[Task, Task]


def weights(agents: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a dense W that has nothing special, shape (N, N)."""
    found = np.random.default_rng(2).random((agents, agents)) + 0.1
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def dice(agents: int, hypotheses: int, outcomes: int = 2) -> FiniteModel:
    """Return agents of one kind whose observations have a few outcomes."""
    table = np.random.default_rng(1).dirichlet(np.full(outcomes, 2.0), size=(hypotheses, 1))
    kind = FiniteAgent.from_tables(inputs=[1.0], truth=table[0], likelihood=table)
    return FiniteModel.from_agents([f"h{m}" for m in range(hypotheses)], [kind], counts=[agents])


# Pairs: ours, and a plain way -------------------------------------------------------------------


def stationary() -> Pair:
    """Return v of 300 agents, against numpy's eigenvectors."""
    W = weights(300)
    return lambda: Network(W).stationary_distribution, lambda: np.linalg.eig(W.T)


def exact_stationary() -> Pair:
    """Return v of 30 agents in fractions, against elimination in Python's fractions."""
    stream, n = Stream(7), 30
    rows = [stream.row(n) for _ in range(n)]

    def plain() -> list[Fraction]:
        A = [[rows[j][i] - (i == j) for j in range(n)] for i in range(n)]
        A[-1] = [Fraction(1)] * n
        b = [Fraction(0)] * (n - 1) + [Fraction(1)]
        for k in range(n):
            p = next(i for i in range(k, n) if A[i][k])
            A[k], A[p], b[k], b[p] = A[p], A[k], b[p], b[k]
            for i in range(k + 1, n):
                factor = A[i][k] / A[k][k]
                A[i] = [x - factor * y for x, y in zip(A[i], A[k], strict=True)]
                b[i] -= factor * b[k]
        return b

    matrix: Any = rows
    return lambda: RationalNetwork(matrix).stationary_distribution, plain


def simulation() -> Pair:
    """Return rounds of 10 agents, 10 hypotheses and 2 000 replicates, against numpy."""
    n, m, replicates, rounds = 10, 10, 2000, 100
    network, model = Network(weights(n)), dice(n, m)
    run = exact.Run(rounds=rounds, replicates=replicates, seed=0, record=[rounds])
    table = np.log(np.random.default_rng(1).dirichlet([2.0, 2.0], size=m))
    W = weights(n)

    def plain() -> None:
        rng, beliefs = np.random.default_rng(0), np.zeros((replicates, n, m))
        for _ in range(rounds):
            beliefs += table.T[rng.integers(2, size=(replicates, n))]
            beliefs = W @ (beliefs - np.logaddexp.reduce(beliefs, axis=-1, keepdims=True))

    return lambda: exact.simulate(network, model, run=run), plain


def changing_simulation() -> Pair:
    """Return rounds of 30 agents whose links fail, 100 replicates, against numpy."""
    n, replicates, rounds = 30, 100, 100
    network = RandomLinks(Network(weights(n)), 0.5)
    model, W = dice(n, 2), weights(n)
    run = exact.Run(rounds=rounds, replicates=replicates, seed=0, record=[rounds])

    def plain() -> None:
        rng, beliefs = np.random.default_rng(0), np.zeros((replicates, n, 2))
        for _ in range(rounds):
            beliefs += rng.random((replicates, n, 2))
            heard = W * (rng.random((replicates, n, n)) < 0.5)
            own = 1 - heard.sum(axis=2) + np.einsum("rii->ri", heard)
            np.einsum("rii->ri", heard)[:] = own
            beliefs = heard @ (beliefs - np.logaddexp.reduce(beliefs, axis=-1, keepdims=True))

    return lambda: exact.simulate(network, model, run=run), plain


def regression() -> Pair:
    """Return rounds of 20 agents with 5 coefficients, 100 replicates, against numpy."""
    n, d, replicates, rounds = 20, 5, 100, 100
    kind = RegressionAgent(ranges=np.tile([-1.0, 1.0], (d, 1)), noise_std=0.8)
    model = RegressionModel.from_agents(
        np.ones(d),
        [kind],
        counts=[n],
        prior_covariance=np.eye(d),
        test_second_moment=np.eye(d) / 3,
    )
    network, W = Network(weights(n)), weights(n)
    run = exact.Run(rounds=rounds, replicates=replicates, seed=0, record=[rounds])

    def plain() -> None:
        rng = np.random.default_rng(0)
        precision = np.tile(np.eye(d).ravel(), (replicates, n, 1))
        information = np.zeros((replicates, n, d))
        for _ in range(rounds):
            x = rng.uniform(-1, 1, (replicates, n, d))
            y = x.sum(axis=2) + 0.8 * rng.standard_normal((replicates, n))
            precision += (x[..., :, None] * x[..., None, :]).reshape(replicates, n, -1) / 0.64
            information += x * y[..., None] / 0.64
            precision, information = W @ precision, W @ information

    return lambda: exact.simulate_regression(network, model, run=run), plain


def law() -> Pair:
    """Return the exact law after 9 rounds of two agents, against all histories at once."""
    rounds, half = 9, ["1/2", "1/2"]
    even: Any = [half, half]
    coin = RationalFiniteAgent.from_tables(
        inputs=[1], truth=[half], likelihood=[[half], [["3/4", "1/4"]]]
    )
    model = RationalModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    network, W = RationalNetwork(even), np.full((2, 2), 0.5)

    def plain() -> None:
        tosses = np.indices((2,) * (2 * rounds), dtype=np.int8).reshape(rounds, 2, -1)
        beliefs = np.zeros(tosses.shape[1:])
        for observed in np.log([2 / 3, 2.0])[tosses]:
            beliefs = W @ (beliefs + observed)

    return lambda: exact.belief_law(network, model, rounds), plain


def account() -> Pair:
    """Return certified probabilities of error of a star of 9, against 2 000 simulated runs."""
    network = Network.from_topology("star", agents=9, edge_confidence=0.5)
    model = dice(9, 2)
    run = exact.Run(rounds=100, replicates=2000, seed=0, record=[100])

    def plain() -> None:
        exact.simulate(network, model, run=run)

    return lambda: theory.account(network, model).probability([100]), plain


def best_rate() -> Pair:
    """Return the best influence of 30 agents, 100 hypotheses, against one linear program."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    tables = rng.dirichlet(np.full(3, 2.0), size=(30, 100, 1))
    kinds = [FiniteAgent.from_tables(inputs=[1.0], truth=t[0], likelihood=t) for t in tables]
    model = FiniteModel.from_agents([f"h{m}" for m in range(100)], kinds, counts=[1] * 30)
    rows = model.divergences[:, 1:].T
    program = np.hstack([-rows, np.ones((len(rows), 1))])

    def plain() -> None:
        linprog(
            [0.0] * 30 + [-1.0],
            A_ub=program,
            b_ub=np.zeros(len(rows)),
            A_eq=[[1.0] * 30 + [0.0]],
            b_eq=[1.0],
            bounds=[(1 / 300, None)] * 30 + [(None, None)],
            method="highs-ds",
        )

    return lambda: design.optimal_rate(model, target="h0"), plain


def mixing() -> Pair:
    """Return the fastest weights on a 5 × 5 grid, against cvxpy with Clarabel."""
    cvxpy: Any = importlib.import_module("cvxpy")
    edges = [[5 * i + j, 5 * i + j + 1] for i in range(5) for j in range(4)]
    edges += [[5 * i + j, 5 * i + j + 5] for i in range(4) for j in range(5)]
    graph = design.DesignGraph.from_edges(edges, agents=25)
    even = np.full(25, 1 / 25)

    def plain() -> None:
        W = cvxpy.Variable((25, 25), symmetric=True)
        absent = np.ones((25, 25)) - np.eye(25)
        for i, j in edges:
            absent[i, j] = absent[j, i] = 0.0
        limits = [W >= 0, cvxpy.sum(W, axis=1) == 1, cvxpy.multiply(absent, W) == 0]
        norm = cvxpy.sigma_max(W - np.full((25, 25), 1 / 25))
        cvxpy.Problem(cvxpy.Minimize(norm), limits).solve(solver="CLARABEL")

    return lambda: design.fastest_mixing(graph, even), plain


def training(learner: str) -> Pair:
    """Return local steps of 3 nets 64-100-100-10, against plain modules of torch with Adam."""
    import peerbayes as pb

    torch: Any = importlib.import_module("torch")
    rng = np.random.default_rng(4)
    rows = [(rng.random((500, 64), dtype=np.float32), rng.integers(10, size=500)) for _ in range(3)]
    tensors = [(torch.tensor(x), torch.tensor(y)) for x, y in rows]
    ring, steps = Network.from_topology("ring", agents=3), 200

    def build() -> Any:
        layers = [torch.nn.Linear(64, 100), torch.nn.ReLU(), torch.nn.Linear(100, 100)]
        return torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(100, 10))

    def ours() -> None:
        pb.train(
            build,
            rows,
            ring,
            rounds=5,
            local_steps=steps // 5,
            learner=learner,
            examples=pb.Examples(validation=0.0, every=5, draws=1),
        )

    def plain() -> None:
        for inputs, labels in tensors:
            net = build()
            adam = torch.optim.Adam(net.parameters(), lr=1e-3)
            for k in range(steps):
                some = torch.arange(50 * k, 50 * k + 50) % 500
                adam.zero_grad()
                torch.nn.functional.cross_entropy(net(inputs[some]), labels[some]).backward()
                adam.step()

    return ours, plain


def command() -> Pair:
    """Return `peerbayes analyse two-coins` in a process, against one that imports numpy."""

    def process(*words: str) -> Task:
        return lambda: subprocess.run([sys.executable, *words], capture_output=True, check=True)

    return process("-m", "peerbayes", "analyse", "two-coins", "--quiet"), process(
        "-c", "import numpy"
    )


RATIOS: Mapping[str, Callable[[], Pair]] = {
    "v of 300 agents / numpy eig": stationary,
    "v of 30 agents, exact / Fractions": exact_stationary,
    "simulate / numpy": simulation,
    "simulate, links that fail / numpy": changing_simulation,
    "simulate, regression / numpy": regression,
    "exact law / all histories": law,
    "error account / 2 000 runs": account,
    "best rate / one linear program": best_rate,
    "fastest mixing / Clarabel": mixing,
    "natural gradient / torch": lambda: training("natural-gradient"),
    "backprop / torch": lambda: training("backprop"),
    "analyse two-coins / import numpy": command,
}


# Timing -----------------------------------------------------------------------------------------


def cpu() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def seconds_of(task: Task) -> float:
    """Return the CPU seconds of a call, called as often as a turn lasts."""
    start, calls = cpu(), 0
    while not calls or cpu() - start < TURN:
        task()
        calls += 1
    return (cpu() - start) / calls


def times_quicker(pair: Pair) -> float:
    """Return the time of the plain way over ours."""
    ours, plain = pair
    for task in pair:
        task()  # compiles, and fills caches
    began = time.monotonic()
    found: list[float] = []
    while len(found) < FEWEST or time.monotonic() - began < SECONDS:
        found.append(seconds_of(plain) / seconds_of(ours))
    return median(found)


def has_moved(before: float, now: float) -> bool:
    """Whether a ratio differs from the frozen one by more than the tolerance."""
    return abs(now / before - 1) > TOLERANCE


def report(only: str | None, *, renew: bool = False) -> int:
    """Time the pairs and print each ratio, frozen and now; with `renew`, freeze what is measured.

    Returns
    -------
    int
        Exit code 0, whatever was measured.
    """
    frozen = json.loads(FROZEN.read_text("utf-8")) if FROZEN.exists() else {}
    print(f"{'times quicker':40} {'frozen':>8} {'now':>8}")
    for name, make in RATIOS.items():
        if only is not None and only not in name:
            continue
        pair, before = make(), frozen.get(name)
        now = median(times_quicker(pair) for _ in range(MEASURED)) if renew else times_quicker(pair)
        if before is not None and has_moved(before, now) and not renew:
            again = times_quicker(pair)
            now = now if abs(now / before - 1) < abs(again / before - 1) else again
        moved = f"{now / before - 1:+.0%}" if before is not None and has_moved(before, now) else ""
        print(f"{name:40} {before or float('nan'):8.3g} {now:8.3g}  {moved}".rstrip(), flush=True)
        if renew:
            frozen[name] = float(f"{now:.4g}")
    if renew:
        FROZEN.write_text(json.dumps(frozen, indent=1) + "\n", encoding="utf-8")
    return 0
