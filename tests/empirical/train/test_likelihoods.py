"""Likelihoods: densities against scipy, derivatives against autograd and finite differences."""

import json

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from empirical.likelihoods.heads import Heads, likelihood_of
from empirical.likelihoods.laws import Classes, Counts, Gaussian
from tests.empirical.support import refused

ALL = {
    "classes": Classes(4),
    "given": Gaussian(0.7),
    "given, two": Gaussian(1.3, 2),
    "learned": Gaussian("learned"),
    "learned, two": Gaussian("learned", 2),
    "input": Gaussian("input"),
    "input, three": Gaussian("input", 3),
    "poisson": Counts(),
    "poisson, two": Counts(2),
    "negative binomial": Counts(dispersion="learned"),
    "negative binomial, two": Counts(2, "learned"),
    "heads": Heads(
        (Classes(3), Gaussian("learned", 2), Counts(dispersion="learned"), Gaussian("input"))
    ),
    "one head": Heads((Classes(3),)),
}
AGENTS, BATCH = 3, 5


def labels_for(likelihood, seed=0):
    """Labels that the likelihood knows, shape (N, B) or (N, B, k), drawn without its help."""
    rng = np.random.default_rng(seed)
    if isinstance(likelihood, Heads):
        parts = [labels_for(part, seed + k) for k, part in enumerate(likelihood.parts)]
        columns = [part.reshape(AGENTS, BATCH, -1).double() for part in parts]
        together = torch.cat(columns, dim=2)
        return together[:, :, 0].long() if together.shape[2] == 1 else together
    shape = (AGENTS, BATCH) + ((likelihood.label_size,) if likelihood.label_size > 1 else ())
    if isinstance(likelihood, Classes):
        return torch.from_numpy(rng.integers(0, likelihood.count, shape))
    if isinstance(likelihood, Counts):
        return torch.from_numpy(rng.poisson(3.0, shape)).double()
    return torch.from_numpy(rng.normal(size=shape))


def outputs_for(likelihood, scale=1.0, seed=1, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    shape = (AGENTS, BATCH, likelihood.outputs)
    return scale * torch.randn(shape, generator=generator, dtype=dtype)


def scipys_density(likelihood, outputs, label):
    """Log density of one label given one row of outputs, by scipy's distributions."""
    outputs, label = np.asarray(outputs, dtype=float), np.atleast_1d(np.asarray(label, dtype=float))
    k = likelihood.label_size
    if isinstance(likelihood, Classes):
        weights = np.exp(outputs - outputs.max())
        return np.log(weights[int(label[0])] / weights.sum())
    if isinstance(likelihood, Gaussian):
        stds = {"learned": np.exp(outputs[k:]), "input": np.sqrt(np.exp(outputs[k:]))}
        std = stds.get(likelihood.std, likelihood.std)
        return stats.norm.logpdf(label, outputs[:k], std).sum()
    if likelihood.dispersion is None:
        return stats.poisson.logpmf(label, np.exp(outputs)).sum()
    mean, size = np.exp(outputs[:k]), np.exp(-outputs[k:])
    return stats.nbinom.logpmf(label, size, size / (size + mean)).sum()


def heads_by_hand(likelihood, outputs, label):
    """The sum over heads, with the places of outputs, constants and labels counted here."""
    varying, constant, place, total = 0, likelihood.outputs - likelihood.constants, 0, 0.0
    for part in likelihood.parts:
        own = part.outputs - part.constants
        row = np.r_[outputs[varying : varying + own], outputs[constant : constant + part.constants]]
        total += scipys_density(part, row, label[place : place + part.label_size])
        varying, constant = varying + own, constant + part.constants
        place += part.label_size
    return total


@pytest.fixture(params=ALL)
def likelihood(request):
    return ALL[request.param]


def test_densities_are_scipys(likelihood):
    outputs, labels = outputs_for(likelihood), labels_for(likelihood)
    found = likelihood.log_density(outputs, labels)
    assert found.shape == (AGENTS, BATCH)
    for agent in range(AGENTS):
        for example in range(BATCH):
            row, label = outputs[agent, example].numpy(), labels[agent, example].numpy()
            by_hand = heads_by_hand if isinstance(likelihood, Heads) else scipys_density
            expected = by_hand(likelihood, row, np.atleast_1d(label))
            # Both in doubles; logs of gamma functions lose two or three digits.
            assert found[agent, example].item() == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_the_loss_is_the_mean_density_and_its_derivative_is_autograds(likelihood):
    outputs, labels = outputs_for(likelihood), labels_for(likelihood)
    leaf = outputs.clone().requires_grad_()
    expected = -likelihood.log_density(leaf, labels).mean(dim=1)
    expected.sum().backward()
    loss, grad = likelihood.loss(outputs.clone(), labels)
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(grad, leaf.grad, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size", [1e4, -1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_outputs_give_finite_losses_and_derivatives(likelihood, size, dtype):
    labels = labels_for(likelihood)
    labels = labels if labels.dtype == torch.int64 else labels.to(dtype)
    for place in range(likelihood.outputs):
        outputs = outputs_for(likelihood, dtype=dtype)
        outputs[:, :, place] = size
        loss, grad = likelihood.loss(outputs.clone(), labels)
        for found in (
            loss,
            grad,
            likelihood.log_density(outputs, labels),
            likelihood.mean(outputs),
            likelihood.variance(outputs),
        ):
            assert torch.isfinite(found).all()


def test_means_and_variances_are_those_of_labels_drawn_by_scipy():
    outputs = torch.tensor([[[0.4, -0.3]]], dtype=torch.float64)
    mean, size = np.exp(0.4), np.exp(0.3)
    law = stats.nbinom(size, size / (size + mean))
    found = Counts(dispersion="learned")
    assert found.mean(outputs).item() == pytest.approx(law.mean(), rel=1e-12)
    assert found.variance(outputs).item() == pytest.approx(law.var(), rel=1e-12)
    law = stats.poisson(mean)
    assert Counts().variance(outputs[:, :, :1]).item() == pytest.approx(law.var(), rel=1e-12)
    for noise, std in (
        (Gaussian("input"), np.exp(-0.15)),
        (Gaussian("learned"), np.exp(-0.3)),
    ):
        assert noise.mean(outputs).item() == pytest.approx(0.4, rel=1e-12)
        assert noise.variance(outputs).item() == pytest.approx(std**2, rel=1e-12)
    shares = Classes(2).mean(outputs)[0, 0]
    assert shares.tolist() == pytest.approx([1 / (1 + np.exp(-0.7)), 1 / (1 + np.exp(0.7))])
    assert Classes(2).variance(outputs)[0, 0, 0] == pytest.approx(shares[0] * shares[1])


def test_heads_predict_one_after_the_other():
    both = Heads((Gaussian("learned"), Classes(2)))
    outputs = torch.tensor([[[5.0, 0.0, 0.0, np.log(2.0)]]])  # mean, two logits, log σ
    assert both.mean(outputs)[0, 0].tolist() == pytest.approx([5.0, 0.5, 0.5])
    assert both.variance(outputs)[0, 0].tolist() == pytest.approx([4.0, 0.25, 0.25])


def test_the_negative_binomial_tends_to_poisson():
    labels = labels_for(Counts())
    outputs = outputs_for(Counts())
    small = torch.full_like(outputs, -14.0)
    found = Counts(dispersion="learned").log_density(torch.cat([outputs, small], dim=2), labels)
    # The first correction is α (y² + μ²) at most, and α is 8e-7.
    torch.testing.assert_close(found, Counts().log_density(outputs, labels), rtol=0, atol=1e-4)


def test_a_derivative_beyond_the_ends_only_leads_back():
    label = torch.tensor([[0.0]], dtype=torch.float64)
    low = torch.tensor([[[0.0, -20.0]]], dtype=torch.float64)  # exact, and ever more sure
    assert Gaussian("learned").loss(low, label)[1][0, 0, 1] == 0.0
    low[0, 0, 0] = 1.0  # wrong, and sure: back
    assert Gaussian("learned").loss(low, label)[1][0, 0, 1] < 0.0
    high = torch.tensor([[[0.0, 20.0]]], dtype=torch.float64)
    assert Gaussian("learned").loss(high, label)[1][0, 0, 1] > 0.0


@given(st.floats(-10, 10), st.floats(-10, 10), st.integers(0, 1000))
def test_a_count_is_as_likely_as_many_digits_say(log_mean, log_alpha, count):
    likelihood = Counts(dispersion="learned")
    outputs = torch.tensor([[[log_mean, log_alpha]]], dtype=torch.float64)
    found = likelihood.log_density(outputs, torch.tensor([[float(count)]])).item()
    with mpmath.workdps(50):
        mean, size = mpmath.exp(log_mean), mpmath.exp(-log_alpha)
        terms = [
            mpmath.loggamma(count + size) - mpmath.loggamma(size),
            -mpmath.loggamma(count + 1),
            size * mpmath.log(size / (size + mean)),
            count * mpmath.log(mean / (size + mean)),
        ]
        expected = float(sum(terms))
        largest = float(max(abs(mpmath.loggamma(count + size)), *map(abs, terms)))
    # A few roundings of the largest term, which cancels against others.
    assert found == pytest.approx(expected, abs=20 * 2**-53 * (1 + largest))


# Words and labels -----------------------------------------------------------------------------


def test_words_name_the_likelihood(likelihood):
    words = json.loads(json.dumps(likelihood.words))
    assert likelihood_of(words) == likelihood


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"kind": "clases", "count": 3}, "likelihood.kind: .*did you mean 'classes'"),
        ({}, "likelihood.kind: expected one of"),
        ("classes", "likelihood: expected a table"),
        ({"kind": "classes"}, "likelihood.count: expected the number of classes, got none"),
        ({"kind": "classes", "count": 1}, "likelihood.count: .*at least 2, got 1"),
        ({"kind": "classes", "count": 3, "std": 1}, "likelihood: expected settings count"),
        ({"kind": "gaussian"}, "likelihood.std: expected a number above 0"),
        ({"kind": "gaussian", "std": -1}, "likelihood.std: .*got -1"),
        ({"kind": "gaussian", "std": "lerned"}, "likelihood.std: .*got 'lerned'"),
        ({"kind": "gaussian", "std": True}, "likelihood.std: "),
        ({"kind": "counts", "dispersion": 2}, "likelihood.dispersion: "),
        ({"kind": "heads"}, "likelihood.parts: "),
        ({"kind": "heads", "parts": []}, "likelihood.parts: "),
        ({"kind": "heads", "parts": [{"kind": "x"}]}, r"likelihood.parts\[0\].kind: "),
    ],
)
def test_bad_words_get_one_line(words, message):
    refused(message, likelihood_of, words)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Classes(1),
        lambda: Gaussian(0.0),
        lambda: Gaussian(1.0, 0),
        lambda: Gaussian("learned", 0),
        lambda: Gaussian("input", -1),
        lambda: Counts(0),
        lambda: Counts(1, "fixed"),
        lambda: Heads(()),
    ],
)
def test_bad_settings_are_refused(build):
    refused("expected", build)


@pytest.mark.parametrize(
    ("likelihood", "labels", "message"),
    [
        (Classes(3), ["a", "b"], "y: expected numbers, got .*replace text"),
        (Classes(3), [0, 3], "y: expected whole numbers from 0 to 2, got 3 in label 1"),
        (Classes(3), [0.5, 1], "y: expected whole numbers from 0 to 2, got 0.5 in label 0"),
        (Classes(3), [-1, 1], "got -1 in label 0"),
        (Classes(3), [[0, 1], [1, 0]], r"y: expected one number a label, got shape \(2, 2\)"),
        (Classes(3), [], "y: expected at least one label, got none"),
        (
            Gaussian("learned"),
            [0.0, np.nan],
            "y: expected finite numbers below 1e38, got nan in label 1",
        ),
        (Gaussian(1.0), [1e300], r"got 1e\+300 in label 0"),
        (Gaussian("input", 2), [1.0, 2.0], r"y: expected 2 numbers a label, got shape \(2,\)"),
        (Counts(), [2.0, -1.0], "y: expected whole numbers from 0 to 16777216, got -1.0"),
        (Counts(), [2.5], "got 2.5 in label 0"),
        (ALL["heads"], [[0, 1.0]], r"y: expected 5 numbers a label, head after head"),
        (ALL["heads"], [[3, 1.0, 2.0, 1, 0]], "y of head 0: .*got 3"),
        (ALL["heads"], [[0, 1.0, 2.0, 1.5, 0]], "y of head 2: .*got 1.5"),
    ],
)
def test_bad_labels_get_one_line(likelihood, labels, message):
    refused(message, likelihood.as_labels, "y", np.array(labels))


def test_labels_are_stored_as_tensors_want_them(likelihood):
    rows = labels_for(likelihood)[0].numpy()
    found = likelihood.as_labels("y", rows)
    assert found.shape == rows.shape
    whole = likelihood in (Classes(4), ALL["one head"])
    assert found.dtype == (np.int64 if whole else np.float32)
    np.testing.assert_allclose(found, rows, rtol=1e-6)  # float32
    # A column of its own for a single number is the same.
    column = rows.reshape(BATCH, -1)
    np.testing.assert_array_equal(likelihood.as_labels("y", column), found)
