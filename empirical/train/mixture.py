"""What agents predict: mixtures over nets drawn from their beliefs.

An agent's prediction for an input x is (1/S) Σ_s ℓ(· | net_s(x)) over S nets whose weights are
drawn from its belief; with S = 0 draws, or a belief without width, it is that of the mean weights.
Agents are taken one by one and draws one by one, so that memory holds one drawn net and a few
numbers an input, however many draws and agents there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.likelihoods.heads import Heads
from empirical.likelihoods.laws import Likelihood
from empirical.train.net import Net
from theory.showing import Shown
from theory.validation import FloatArray, read_only

# What agents predict -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prediction:
    """One agent's predictive mixture for n inputs; estimates, for finitely many nets are drawn.

    Attributes
    ----------
    mean
        Shape (n, m): E_s of the drawn nets' means, or of their probabilities.
    within
        Shape (n, m): E_s of the variance that each drawn net says the label has.
    between
        Shape (n, m): the variance over s of the drawn nets' means.
    entropy_within
        Shape (n,): E_s of the entropy of each drawn net's probabilities, nats; classes only.
    log_density
        Shape (n,): log of the mixture's density or probability at the labels, nats; None without.
    rank
        Shape (n, k): the mixture's distribution function at the labels, the probability integral
        transform; for normal noise only. Uniform on (0, 1) where predictions are calibrated.
    heads
        The same of each of several heads by itself; empty where there is one.
    """

    mean: FloatArray
    within: FloatArray
    between: FloatArray
    entropy_within: FloatArray | None
    log_density: FloatArray | None
    rank: FloatArray | None
    heads: tuple[Prediction, ...] = ()


def drawn_weights(
    mean: Tensor,
    variance: Tensor | None,
    *,
    draws: int,
    seed: int,
    agent: int,
    in_turn: bool = False,
) -> Iterator[Tensor]:
    """Yield weights drawn from a belief, shape (1, d) each; the mean once if nothing is random.

    A draw depends on the seed, the agent's number and the draw's alone: the same on all devices.
    `in_turn`: all of an agent's draws come from one stream of numbers on the belief's device, as
    in records of the papers' rows.
    """
    if draws == 0 or variance is None:
        yield mean[None]
        return
    std = variance.sqrt()
    generator = torch.Generator(mean.device if in_turn else "cpu")
    if in_turn:
        generator.manual_seed(int(np.random.SeedSequence((seed, agent)).generate_state(1)[0]))
    for draw in range(draws):
        if not in_turn:
            word = np.random.SeedSequence((seed, agent, draw)).generate_state(1, np.uint64)[0]
            generator.manual_seed(int(word >> np.uint64(1)))
        noise = torch.randn(mean.shape, generator=generator, device=generator.device)
        yield torch.addcmul(mean, std, noise.to(mean.device))[None]


def predict(
    net: Net,
    likelihood: Likelihood,
    weights: Iterable[Tensor],
    inputs: Tensor,
    labels: Tensor | None = None,
) -> Prediction:
    """The mixture over nets with these weights, shape (1, d) each (:func:`drawn_weights`).

    Parameters
    ----------
    inputs
        Shape (n, …), of the kind that the net takes.
    labels
        Shape (n,) or (n, k), as the likelihood stores them; left out: nothing is said of labels.
    """
    mixture = _Mixture(likelihood)
    for own in weights:
        outputs = net.outputs_of(own, inputs[None].to(own.device))
        mixture.add(outputs, None if labels is None else labels[None].to(own.device))
    return mixture.prediction()


class _Mixture:
    """Running means over drawn nets, in float64."""

    def __init__(self, likelihood: Likelihood) -> None:
        self._likelihood, self._draws = likelihood, 0
        self._means: dict[str, Tensor] = {}
        self._heads = [_Mixture(part) for part in getattr(likelihood, "parts", ())]

    def add(self, outputs: Tensor, labels: Tensor | None) -> None:
        """Take in what one net says of n inputs, and of their labels if there are any.

        `outputs` have shape (1, n, outputs), `labels` (1, n) or (1, n, k).
        """
        likelihood, kind = self._likelihood, self._likelihood.words["kind"]
        self._draws += 1
        centre = likelihood.mean(outputs)[0].double()
        spread = likelihood.variance(outputs)[0].double()
        # Welford's update: no cancellation where the draws agree.
        gap = self._average("mean", centre)
        self._of("squares", gap).add_(gap * (centre - self._means["mean"]))
        self._average("within", spread)
        if kind == "classes":
            self._average("entropy", torch.special.entr(centre).sum(dim=1))
        if labels is not None:
            density = likelihood.log_density(outputs, labels)[0].double()
            known = self._of("density", density, fill=-torch.inf)
            torch.logaddexp(known, density, out=known)
        if labels is not None and kind == "gaussian":
            off = labels[0].double().reshape(centre.shape) - centre
            self._average("rank", torch.special.ndtr(off / spread.sqrt()))
        if isinstance(likelihood, Heads):
            each = likelihood.split_outputs(outputs)
            own = [None] * len(each) if labels is None else likelihood.split_labels(labels)
            for head, its, given in zip(self._heads, each, own, strict=True):
                head.add(its, given)

    def prediction(self) -> Prediction:
        """What all nets together say."""
        found = {name: np.asarray(values.cpu().numpy()) for name, values in self._means.items()}
        density = found.get("density")
        return Prediction(
            found["mean"],
            found["within"],
            found["squares"] / self._draws,
            found.get("entropy"),
            None if density is None else density - np.log(self._draws),
            found.get("rank"),
            tuple(head.prediction() for head in self._heads),
        )

    def _of(self, name: str, like: Tensor, *, fill: float = 0.0) -> Tensor:
        return self._means.setdefault(name, torch.full_like(like, fill))

    def _average(self, name: str, values: Tensor) -> Tensor:
        """Move a mean; returns how far the values lie from the mean before."""
        total = self._of(name, values)
        gap = values - total
        total += gap / self._draws
        return gap


# How sure a prediction is, and which part of the doubt more data would remove --------------------


@dataclass(frozen=True, eq=False)
class Uncertainty(Shown):
    """Total uncertainty of predictions, and its two parts: total = aleatoric + epistemic.

    **Classes** (entropies, nats). With p_s the probabilities of the net drawn s-th and p = E_s p_s,

        H(p) = E_s H(p_s) + E_s KL(p_s ‖ p),

    for E_s KL(p_s ‖ p) = E_s Σ_k p_sk log p_sk − Σ_k (E_s p_sk) log p_k = H(p) − E_s H(p_s). The
    second part is the mutual information of label and weights: at least 0, and 0 if and only if
    all drawn nets agree.

    **Numbers and counts** (variances, in squared units of the label). With μ_s and v_s the mean and
    the variance that the s-th net gives, the law of total variance says

        Var y = E_s v_s + Var_s μ_s.

    The first part is what the data cannot remove (noise, as the likelihood has it), the second what
    more data would: it is the drawn nets' disagreement, and vanishes as beliefs narrow. Both are
    estimates from finitely many draws, whose sum is exact for those draws, up to rounding.

    Attributes
    ----------
    total, aleatoric, epistemic
        Shape (N, n) for classes, (N, n, m) for m numbers.
    unit
        ``"nats"``, or ``"squared units of the label"``.
    """

    total: FloatArray
    aleatoric: FloatArray
    epistemic: FloatArray
    unit: str

    def __post_init__(self) -> None:
        for values in (self.total, self.aleatoric, self.epistemic):
            read_only(values)


def uncertainty_of(prediction: Prediction) -> tuple[FloatArray, FloatArray]:
    """One agent's aleatoric and epistemic uncertainty, shape (n,) for classes, else (n, m)."""
    if prediction.entropy_within is None:
        return prediction.within, prediction.between
    p = prediction.mean
    entropy = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
    # Below zero by rounding only.
    return prediction.entropy_within, np.maximum(entropy - prediction.entropy_within, 0.0)


def doubt(prediction: Prediction) -> FloatArray:
    """One number an input, shape (n,), that grows with the total uncertainty."""
    aleatoric, epistemic = uncertainty_of(prediction)
    total = aleatoric + epistemic
    return total if total.ndim == 1 else np.asarray(total.sum(axis=1))
