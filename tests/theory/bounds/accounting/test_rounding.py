"""The errors carried along hold against 60 digits, for the stored numbers and for those near by."""

from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp, mpc, mpf
from numpy.typing import NDArray

from tests.models import coin, coins
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import EventCurve
from theory.bounds.accounting.inversion_kernels import NEGLIGIBLE, bury, error_loads, invert
from theory.bounds.accounting.inversion_tilts import Grid, choose_tilt
from theory.bounds.accounting.laws import Laws
from theory.validation import FloatArray

WEIGHTS = [["2/3", "1/3"], ["1/7", "6/7"]]
ROUNDS = 30

MIXED = FiniteModel.from_agents(
    ["fair", "loaded"],
    [
        coin([0.1, 0.2, 0.7], [0.3, 0.3, 0.4], truth=[0.1, 0.2, 0.7]),
        GaussianAgent([0.25, 0.75], [0.0, 0.1], 1.5, [[0.0, 0.1], [1.0, -0.7]], 1.25),
    ],
)


def exact_characteristic(curve: EventCurve, model: FiniteModel, index: int, change: int) -> mpc:
    """φ at one frequency with 60 digits; `change` moves every input by a unit in the last place.

    W is meant as fractions, likelihoods as decimals.
    """
    weights = mp.matrix([[mpf(2) / 3, mpf(1) / 3], [mpf(1) / 7, mpf(6) / 7]])
    rate = mpf(curve.grid.rate)
    tilt = rate * curve.grid.length / mpf(curve.grid.period)
    theta = 2 * mp.pi * index / mpf(curve.grid.period)
    unit = 1 + change * mpf(2) ** -53
    power, total = mp.eye(2), mpc(1)
    for _ in range(ROUNDS):
        power = power * weights
        for j, kind in enumerate(model.assignment.tolist()):
            agent, w = model.kinds[kind], power[0, j]
            if isinstance(agent, FiniteAgent):
                table = np.exp(agent.log_likelihoods).round(12)
                means = [
                    mp.log(mpf(repr(float(a))) * unit) - mp.log(mpf(repr(float(b))) / unit)
                    for a, b in table.T
                ]
                spreads = [mpf(0)] * len(means)
                chances = [mpf(repr(float(p))) for p in agent.probabilities.round(12)]
            else:
                law = agent.log_ratio_law(0, 1)
                means = [mpf(m) * unit for m in law.means]
                spreads = [mp.sqrt(mpf(v)) * unit for v in law.variances]
                chances = [mpf(p) for p in law.probabilities]
            u = mpc(-tilt, theta) * w
            atoms = list(zip(chances, means, spreads, strict=True))
            above = sum(p * mp.exp(u * m + u * u * s * s / 2) for p, m, s in atoms)
            below = sum(p * mp.exp(-tilt * w * m + (tilt * w * s) ** 2 / 2) for p, m, s in atoms)
            total *= above / below
    return total


@pytest.mark.parametrize("change", [-1, 0, 1])
@pytest.mark.parametrize("model", [coins(2), MIXED], ids=["coins", "normal too"])
def test_characteristic_functions(model: FiniteModel, change: int) -> None:
    events = EventSet(Network(WEIGHTS), model)
    terms = events.terms(0, 0)
    curve = EventCurve(terms, Grid.around(choose_tilt(terms, ROUNDS)), ROUNDS, ROUNDS)
    state = curve._kept[0]
    with mp.workdps(60):
        for index in (0, 1, 17, 100, 650, curve.grid.length):
            exact = exact_characteristic(curve, model, index, change)
            found = mpc(float(state.real[index]), float(state.imaginary[index]))
            assert abs(found - exact) <= state.error[index]
    # And the errors are small beside the share λ that the method gives away.
    assert state.error.max() < 1e-9


def test_cumulants() -> None:
    """log E e^{−tΛ} and its error after 30 rounds, against 60 digits."""
    events = EventSet(Network(WEIGHTS), coins(2))
    terms = events.terms(0, 0)
    curve = EventCurve(terms, Grid.around(choose_tilt(terms, ROUNDS)), ROUNDS, ROUNDS)
    value, error = curve._kept[0].cumulants[[0, 3]]
    with mp.workdps(60):
        weights = mp.matrix([[mpf(2) / 3, mpf(1) / 3], [mpf(1) / 7, mpf(6) / 7]])
        tilt = mpf(curve.grid.rate) * curve.grid.length / mpf(curve.grid.period)
        total, power = mpf(0), mp.eye(2)
        for _ in range(ROUNDS):
            power = power * weights
            for j in range(2):
                u = -tilt * power[0, j]
                total += mp.log((mpf(2) ** u + (mpf(2) / 3) ** u) / 2)
        assert abs(mpf(float(value)) - total) <= error
    assert 0 < error < 1e-10


def log_characteristic(
    network: Network, tilt: float, theta: FloatArray, rounds: int
) -> NDArray[np.complex128]:
    """The log of φ for two coins, factor by factor; its phase is known up to whole turns."""
    logs, power = np.zeros(theta.size, dtype=complex), np.eye(2)
    z = np.log([2.0, 2 / 3])
    for _ in range(rounds):
        power = power @ np.asarray(network.weights)
        for w in power[0]:
            u = (-tilt + 1j * theta)[:, None] * w * z
            logs += np.log(np.exp(u).sum(axis=1) / np.exp(-tilt * w * z).sum())
    return logs


def test_later_rounds() -> None:
    """φ at round 5 000 from one settled factor, against all factors one by one."""
    events = EventSet(Network(WEIGHTS), coins(2))
    terms = events.terms(0, 0)
    n = 5000
    grid = Grid.around(choose_tilt(terms, n))
    curve = EventCurve(terms, grid, n, n)
    state = curve._at(n)
    tilt = grid.rate * grid.length / grid.period
    theta = grid.step * np.arange(0, grid.length + 1, 97)
    logs = log_characteristic(Network(WEIGHTS), tilt, theta, n)
    found = (state.real + 1j * state.imaginary)[::97]
    # The oracle is right to 1e-9 itself: 10⁴ logs of numbers with an error of 1e-16 each, 1e-12,
    # and phases of 10⁴ turns.
    assert (np.abs(found - np.exp(logs)) <= state.error[::97] + 1e-9).all()
    assert state.error.max() < 1e-7


def test_atoms_put_on_a_grid() -> None:
    """6 000 atoms, split between neighbours on a grid: the error holds, and is not idle."""
    rng = np.random.default_rng(8)
    table = np.log(rng.dirichlet([3.0, 2.0], size=6000).T.clip(1e-2))
    model = FiniteModel.from_agents(["one", "other"], [FiniteAgent.from_log_likelihoods(table)])
    terms = EventSet(Network([[1.0]]), model).terms(0, 0)
    grid = Grid.around(choose_tilt(terms, 1))
    state = EventCurve(terms, grid, 1, 1)._kept[0]
    z = table[0] - table[1]
    tilt = grid.rate * grid.length / grid.period
    every = slice(None, None, 8)
    theta = grid.step * np.arange(grid.length + 1)[every]
    weights = np.exp(-tilt * z) / np.exp(-tilt * z).sum()
    exact = np.exp(1j * np.multiply.outer(theta, z)) @ weights
    gap = np.abs((state.real + 1j * state.imaginary)[every] - exact)
    assert (gap <= state.error[every] + 1e-11).all()  # rounding of the oracle
    assert gap.max() > 1e-4


@pytest.mark.parametrize("rounds", [3, 2000], ids=["products", "powers"])
def test_probabilities_that_are_off(rounds: int) -> None:
    """Off by a millionth: the constant term of a factor's error, and that of its powers."""
    events = EventSet(Network(WEIGHTS), coins(2))
    terms = events.terms(0, 0)
    share = 1e-6
    grid = Grid.around(choose_tilt(terms, rounds))

    def state(laws: Laws) -> tuple[np.ndarray, np.ndarray]:
        curve = EventCurve(replace(terms, laws=laws), grid, rounds, rounds)
        found = curve._at(rounds) if rounds > terms.rounds else curve._kept[0]
        return found.real + 1j * found.imaginary, found.error

    laws = replace(terms.laws, probability_errors=np.full_like(terms.laws.mean_errors, share))
    meant = replace(terms.laws, probabilities=np.array([0.5 * (1 + share), 0.5 * (1 - share)]))
    stored, error = state(laws)
    other, _ = state(meant)
    gap = np.abs(stored - other)
    assert (gap <= error).all()
    # Without the share in the error it would not hold.
    assert (gap > state(terms.laws)[1]).any()


def test_frequencies_where_nothing_is_left() -> None:
    """Runs that are given up are zero within their error, at every frequency; the rest is right."""
    weights, n = [["19/20", "1/20"], ["1/25", "24/25"]], 200
    terms = EventSet(Network(weights), coins(2)).terms(0, 0)
    assert terms.rounds > n
    grid = Grid.around(choose_tilt(terms, n))
    curve = EventCurve(terms, grid, n, n)
    state = curve._kept[0]
    theta = grid.step * np.arange(grid.length + 1)
    logs = log_characteristic(Network(weights), grid.tilt, theta, n)
    found = state.real + 1j * state.imaginary
    given_up = found == 0
    assert 0.3 < given_up.mean() < 0.98
    # Some of what is far from zero frequency has come back: it is not the tail that is cut.
    assert not given_up[np.flatnonzero(given_up)[0] :].all()
    # The oracle's own rounding: 400 factors, each right to a few units in the last place.
    assert (np.abs(found - np.exp(logs)) <= state.error + 1e-12).all()
    assert (np.abs(np.exp(logs[given_up])) <= state.error[given_up]).all()
    assert state.error[given_up].max() <= NEGLIGIBLE * (1 + 1e-9)


def test_errors_of_what_was_given_up_count() -> None:
    """A run at zero adds the same to the errors of the sums, summed at once or one by one."""
    grid = Grid(0.7, 0.1, 0.1, 60.0, 256)
    parts, rng = grid.transform_parts, np.random.default_rng(0)
    real, imaginary = rng.uniform(-0.5, 0.5, (2, grid.length + 1))
    error, alive = np.full(grid.length + 1, 1e-12), np.ones(5, dtype=bool)
    for run in (slice(0, 64), slice(128, 192)):
        real[run], imaginary[run], error[run] = 0.0, 0.0, 0.125 * NEGLIGIBLE
    loads = error_loads(*parts[:2])
    place = (0.3, 1e-15, grid.step)
    every = invert(real, imaginary, error, *place, *parts, alive, loads)
    bury(real, imaginary, error, alive)
    assert alive.tolist() == [False, True, False, True, True]
    assert invert(real, imaginary, error, *place, *parts, alive, loads) == pytest.approx(
        every, rel=1e-13
    )
    # So small an error is lost beside the others; a large one is not.
    error[:64] = 1.0
    of_one = invert(real, imaginary, error, *place, *parts, alive, loads)[2]
    alone = invert(real, imaginary, error, *place, *parts, np.ones(5, dtype=bool), loads)[2]
    assert of_one == pytest.approx(alone, rel=1e-12)
    assert of_one > 1e6 * every[2]


@pytest.mark.parametrize("array", [0, 1, 2])
def test_what_is_not_a_number_is_not_given_up(array: int) -> None:
    state = np.zeros((3, 129))
    state[array, 70] = np.nan
    alive = np.ones(3, dtype=bool)
    bury(*state, alive)
    assert alive.tolist() == [False, True, False]
