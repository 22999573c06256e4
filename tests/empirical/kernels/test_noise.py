"""Counter-based noise: known answers, the law, independence, and any grouping of agents."""

import numba
import numpy as np
import pytest
import torch
from scipy import stats

from empirical.kernels import noise_triton
from empirical.kernels.noise import (
    BLOCK,
    LANES,
    Noise,
    drawn_by_torch,
    keys,
    words,
    words_by_torch,
)
from tests.empirical.kernels.triton_by_numpy import Launched
from tests.empirical.support import refused

# Of Threefry-4x32 with 20 rounds, from the file kat_vectors of Random123: counter, key, words.
KNOWN = [
    ([0] * 4, [0] * 4, [0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 4, [0x2A881696, 0x57012287, 0xF6C7446E, 0xA16A6732]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89],
        [0x59CD1DBB, 0xB8879579, 0x86B5D00C, 0xAC8B6D84],
    ),
]


@numba.njit
def compiled(counter, key):
    return words(counter, key)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter: list[int], key: list[int], expected: list[int]) -> None:
    found = compiled(tuple(map(np.uint32, counter)), tuple(map(np.uint32, key)))
    assert list(found) == expected
    given = [tuple(torch.tensor([word]) for word in part) for part in (counter, key)]
    assert [int(word) for word in words_by_torch(*given)] == expected


def drawn(count: int, *, seed: int = 0, agents=(0,), steps=(0,)):
    out = torch.full((len(agents), count), torch.nan)
    return Noise(keys(seed, agents), steps).normals(out)


def by_torch(count: int, *, seed: int = 0, agents=(0,), steps=(0,)):
    given = torch.from_numpy(keys(seed, agents).astype(np.int64))
    return drawn_by_torch(given, torch.tensor(steps), count)


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 5])
def test_torch_draws_the_same(count: int) -> None:
    where = {"seed": 7, "agents": (0, 5, 1000), "steps": (3, 0, 2**32 - 1)}
    one, other = drawn(count, **where).double(), by_torch(count, **where).double()
    # Two float32 evaluations of logarithm, root and sine, each right to a few units of 6e-8.
    assert torch.allclose(one, other, rtol=1e-6, atol=2e-7)


@pytest.mark.parametrize("count", [1, BLOCK - 1, 5 * BLOCK + 20, 4 * noise_triton.PLACES + 1])
def test_the_kernel_of_gpus_draws_the_same(count: int, monkeypatch) -> None:
    if noise_triton.triton is not None:
        pytest.skip("Triton compiles its kernels for GPUs")
    monkeypatch.setattr(
        noise_triton, "_draw", Launched(noise_triton._draw, noise_triton, monkeypatch)
    )
    agents, steps = (0, 5, 1000), (3, 0, 2**32 - 1)
    given = torch.from_numpy(keys(7, agents).astype(np.int64)), torch.tensor(steps)
    found = noise_triton.fill(*given, torch.full((3, count), torch.nan), lanes=LANES)
    expected = drawn(count, seed=7, agents=agents, steps=steps)
    assert torch.allclose(found, expected, rtol=1e-6, atol=2e-7)
    for given in KNOWN:
        parts = [np.array([word], np.uint32) for part in given[:2] for word in part]
        assert [int(word[0]) for word in noise_triton._words(*parts)] == given[2]


def test_against_the_formula_in_float64() -> None:
    """Box-Muller on the words themselves, by numpy."""
    count = 64 * BLOCK
    place = np.arange(count // 4)
    key = tuple(torch.tensor([int(word)]) for word in keys(3, [2])[0])
    counter = (torch.from_numpy(place), *(torch.tensor([value]) for value in (9, 0, 0)))
    a, b, c, d = (word.numpy().astype(np.float64) for word in words_by_torch(counter, key))
    parts = []
    for first, second in ((a, b), (c, d)):
        # The uniform number is defined in float32.
        u = first.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
        radius = np.sqrt(-2 * np.log(u.astype(np.float64)))
        angle = 2 * np.pi * second / 2**32
        parts += [radius * np.cos(angle), radius * np.sin(angle)]
    expected = np.stack([part.reshape(-1, BLOCK // 4) for part in parts], axis=1).reshape(-1)
    found = drawn(count, seed=3, agents=(2,), steps=(9,))[0].double().numpy()
    # What the module states; where u is next to 1 the logarithm's own rounding is added.
    assert np.abs(found - expected).max() < 1e-6
    large = np.abs(expected) > 0.01
    assert (np.abs(found - expected)[large] < 1e-6 * np.abs(expected)[large] + 1e-7).all()


def test_moments_tails_and_law() -> None:
    count = 1 << 21
    x = drawn(count, seed=1)[0].double().numpy()
    # Five standard errors of the first moments: √(1, 2, 15, 96)/√count.
    for power, (moment, variance) in enumerate([(0, 1), (1, 2), (0, 15), (3, 96)], start=1):
        assert abs((x**power).mean() - moment) < 5 * np.sqrt(variance / count), power
    for edge in (1.0, 2.0, 3.0, 4.0, 4.5):
        expected = 2 * stats.norm.sf(edge)
        error = np.sqrt(expected / count)
        assert abs((np.abs(x) > edge).mean() - expected) < 5 * error, edge
    assert stats.kstest(x[: 1 << 18], "norm").pvalue > 1e-3


def test_agents_steps_and_seeds_are_independent() -> None:
    count = 1 << 16
    rows = [
        drawn(count, seed=seed, agents=(agent,), steps=(step,))[0].double()
        for seed, agent, step in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)]
    ]
    rows += [rows[0].roll(shift) for shift in (1, 2, 16, 32, 64)]
    table = torch.stack(rows)
    for values in (table, table**2 - 1, table.abs() - np.sqrt(2 / np.pi)):
        normed = values / values.norm(dim=1, keepdim=True)
        between = (normed @ normed.T).fill_diagonal_(0)
        # A correlation of independent numbers has a standard error of 1/√count; 45 pairs.
        assert between.abs().max() < 5 / np.sqrt(count)


def test_the_same_numbers_however_agents_are_grouped() -> None:
    agents, steps = (4, 0, 2), (7, 8, 9)
    together = drawn(1000, agents=agents, steps=steps)
    for row, agent, step in zip(together, agents, steps, strict=True):
        assert (drawn(1000, agents=(agent,), steps=(step,))[0] == row).all()
        # Nor does it matter how many are drawn.
        assert (drawn(333, agents=(agent,), steps=(step,))[0] == row[:333]).all()


@pytest.mark.parametrize(("seed", "agents"), [(-1, [0]), (0, [-1]), (0.5, [0])])
def test_keys_refuse_what_is_no_count(seed: object, agents: list[int]) -> None:
    refused(r"seed|agents", keys, seed, agents)
