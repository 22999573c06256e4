"""Ten trained classifiers as a finite set of hypotheses, and agents that hold real images.

A classifier θ claims probabilities ℓ(y | θ, x) for the label y of image x. An agent whose law is
the *empirical* one of its images, drawn with replacement, then has

    D_j(θ) = mean over the agent's images of −log ℓ(y | θ, x)      (nats)
    I_j(θ*, θ) = D_j(θ) − D_j(θ*)

exactly: no expectation is estimated, and theory predicts a run without any freedom.

**The hypotheses.** Multinomial logistic regressions on pooled pixels, fixed once and the same for
every network and label split. They differ in the balance of their training labels, in the
penalty, and in the number of images (:data:`RECIPES`). The balances were chosen so that agents
disagree: labels 5, 7, 9 belong to the edges in both Fashion-MNIST splits of P2, labels 1 and 2
change sides, the rest belong to the centre. A classifier trained mostly on the edges' labels
suits the edges and fails the centre, and the other way round, so that usually no hypothesis is
best for everybody, Θ* is empty, and the network settles on a compromise that depends on its
stationary distribution (docs: mathematics/rate). Several degrees of imbalance are there so that
the compromise may move with the centre's weight, and their steps were picked, by trying a few, so
that two leading hypotheses rarely tie. Which hypothesis wins where is computed, never assumed; it
depends on the seed of the training samples.

**Bounded likelihoods.** A classifier's probabilities p are mixed with the uniform law,
ℓ = (1 − ε) p + ε / (number of classes), so that every log-likelihood lies between
log(ε / classes) and 0; a class never seen in training gets this lower bound alone.

The images a classifier was trained on are among those it is judged by. Accuracies are therefore
optimistic as forecasts for new images; the predictions of a run are not, since the agents draw
from these very images.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from empirical.data import Images
from empirical.partition import Partition, in_proportion
from theory.learning import FiniteAgent, FiniteModel
from theory.showing import Shown
from theory.validation import (
    FloatArray,
    IntArray,
    as_integer,
    as_positive,
    as_probability,
    fail,
    read_only,
)

# Ten trained classifiers as a finite set of hypotheses, and agents that hold real images ---------


# The share of the uniform law in every prediction: likelihoods are at least 0.002 for ten classes.
UNIFORM_SHARE = 0.02
# Pooling 2 x 2 pixels until a side has at most this many keeps ten trainings within seconds.
LARGEST_SIDE = 16
# The largest component of the gradient of the mean log-loss at which training stops: divergences
# are then within 1e-4 nats of the exact minimiser's on Fashion-MNIST (measured against 1e-7), so
# that other machines' rounding does not change which hypothesis wins.
GRADIENT_TOLERANCE = 1e-5
MOST_ITERATIONS = 2000


@dataclass(frozen=True)
class Recipe:
    """How one classifier is trained.

    Parameters
    ----------
    name
        The hypothesis' name.
    balance
        One non-negative number per class: relative frequencies of the labels in the training
        sample; zero leaves a class out.
    images
        Size of the training sample; smaller where a class has too few images, of which at most
        half are used.
    penalty
        Weight of ½‖coefficients‖² beside the mean log-loss.

    Raises
    ------
    ValueError
        If fewer than two classes have a positive share, or a number is out of range.
    """

    name: str
    balance: tuple[float, ...]
    images: int = 3000
    penalty: float = 3e-4

    def __post_init__(self) -> None:
        shares = np.array(self.balance, dtype=np.float64)
        if not np.isfinite(shares).all() or (shares < 0).any() or (shares > 0).sum() < 2:
            wanted = "finite shares of at least 0, two of them positive"
            remedy = "give at least two classes a positive share"
            raise fail("balance", wanted, list(self.balance), remedy)
        as_integer("images", self.images, minimum=2)
        as_positive("penalty", self.penalty)


def _balance(**shares: float) -> tuple[float, ...]:
    """One for every label but those named in `shares`, as in ``_2579=4``."""
    balance = np.ones(10)
    for labels, share in shares.items():
        balance[[int(label) for label in labels.lstrip("_")]] = share
    return tuple(balance.tolist())


RECIPES: tuple[Recipe, ...] = (
    Recipe("balanced", _balance()),
    Recipe("0,3,4,6,8 at 4:1", _balance(_03468=4)),
    Recipe("2,5,7,9 at 4:1", _balance(_2579=4)),
    Recipe("1,2,5,7,9 at 10:1", _balance(_12579=10)),
    Recipe("only 1,2,5,7,9", _balance(_03468=0)),
    Recipe("without 5,7,9", _balance(_579=0)),
    Recipe("2 at 8:1", _balance(_2=8)),
    Recipe("6 at 8:1", _balance(_6=8)),
    Recipe("strong penalty", _balance(), penalty=2e-2),
    Recipe("few images", _balance(), images=150, penalty=1e-2),
)


@dataclass(frozen=True, eq=False)
class Classifier(Shown):
    """A trained multinomial logistic regression.

    Parameters
    ----------
    recipe
        How it was trained.
    seen
        Shape (S,): the classes in its training sample.
    coefficients, intercepts
        Shape (S, F) and (S,).
    trained_on
        The positions of its training images.
    iterations, converged
        Of the optimiser (L-BFGS); not converged means stopped before the gradient was small,
        which is a fair hypothesis all the same.
    """

    recipe: Recipe
    seen: IntArray
    coefficients: FloatArray
    intercepts: FloatArray
    trained_on: IntArray
    iterations: int
    converged: bool

    def probabilities(
        self, features: FloatArray, *, uniform_share: float = UNIFORM_SHARE
    ) -> FloatArray:
        """ℓ(y | θ, x) of shape (n, classes), for `features` of shape (n, F).

        Rows sum to one and every entry is at least `uniform_share` / classes.
        """
        classes = len(self.recipe.balance)
        values = np.full((features.shape[0], classes), uniform_share / classes)
        predicted = softmax(features @ self.coefficients.T + self.intercepts, axis=1)
        values[:, self.seen] += (1 - uniform_share) * predicted
        return values


@dataclass(frozen=True, eq=False)
class LikelihoodTable(Shown):
    """What every hypothesis says about every image.

    Attributes
    ----------
    hypotheses
        M distinct names.
    log_likelihoods
        Shape (M, n), in nats: log ℓ(y | θ, x) of each image's own label; read-only.
    accuracies
        Shape (M,): the share of the n images whose label is the most likely one.
    classifiers
        The M trained classifiers, if the hypotheses are such.
    """

    hypotheses: tuple[str, ...]
    log_likelihoods: FloatArray
    accuracies: FloatArray
    classifiers: tuple[Classifier, ...] = ()

    def only(self, chosen: Iterable[int]) -> LikelihoodTable:
        """The table of some of the hypotheses, by their numbers."""
        rows = list(chosen)
        return LikelihoodTable(
            tuple(self.hypotheses[k] for k in rows),
            read_only(self.log_likelihoods[rows]),
            read_only(self.accuracies[rows]),
            tuple(self.classifiers[k] for k in rows if self.classifiers),
        )


def image_features(images: Images) -> FloatArray:
    """Pixels pooled 2 x 2 until no side exceeds 16, scaled to [0, 1]; shape (n, F).

    28 x 28 images give 196 features, 8 x 8 digits 64.
    """
    pooled: NDArray[np.uint8 | np.uint32] = images.pixels
    blocks = 1
    while max(pooled.shape[1:]) > LARGEST_SIDE and not any(s % 2 for s in pooled.shape[1:]):
        count, height, width = pooled.shape
        corners = pooled.reshape(count, height // 2, 2, width // 2, 2)
        pooled = corners.sum(axis=(2, 4), dtype=np.uint32)
        blocks *= 4
    return pooled.reshape(len(images), -1) / np.float64(images.white * blocks)


def training_sample(labels: IntArray, recipe: Recipe, *, seed: int) -> IntArray:
    """Positions of a recipe's training images: random, with the balance of labels it asks for.

    At most half of a class's images are used: if the balance asks for more, the whole sample
    shrinks. Each class with a positive share has at least one image.

    Raises
    ------
    ValueError
        If a class with a positive share has no image.
    """
    shares = np.array(recipe.balance, dtype=np.float64)
    shares /= shares.sum()
    wanted = np.flatnonzero(shares)
    available = np.bincount(labels, minlength=shares.size)
    if (available[wanted] == 0).any():
        asked = f"images of every class in the recipe {recipe.name!r}"
        got = f"none of class {wanted[available[wanted] == 0][0]}"
        raise fail("images", asked, got, "leave the class out of the recipe")
    size = min(recipe.images, float((available[wanted] / 2 / shares[wanted]).min()))
    generator = np.random.default_rng(seed)
    chosen = [
        generator.permutation(np.flatnonzero(labels == label))[: max(1, round(size * share))]
        for label, share in zip(wanted, shares[wanted], strict=True)
    ]
    return np.concatenate(chosen)


def train_classifier(
    features: FloatArray, labels: IntArray, recipe: Recipe, *, seed: int
) -> Classifier:
    """Fit one classifier on its recipe's sample of (features, labels).

    The problem is strictly convex, so that the result depends on `seed` only through the sample,
    and on the machine's arithmetic within the optimiser's tolerance.

    Raises
    ------
    ValueError
        As for :func:`training_sample`.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    chosen = training_sample(labels, recipe, seed=seed)
    # scikit-learn adds ½‖w‖² to C times the *sum* of the losses.
    regression = LogisticRegression(
        C=1 / (recipe.penalty * chosen.size), tol=GRADIENT_TOLERANCE, max_iter=MOST_ITERATIONS
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        regression.fit(features[chosen], labels[chosen])
    stopped = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    coefficients, intercepts = regression.coef_, regression.intercept_
    if coefficients.shape[0] == 1:  # two classes: scikit-learn keeps the second one's score only
        coefficients = np.vstack([np.zeros_like(coefficients), coefficients])
        intercepts = np.append(0.0, intercepts)
    return Classifier(
        recipe,
        read_only(np.array(regression.classes_, dtype=np.int64)),
        read_only(coefficients),
        read_only(intercepts),
        read_only(chosen),
        int(np.max(regression.n_iter_)),
        not stopped,
    )


def likelihood_table(
    images: Images,
    *,
    recipes: Sequence[Recipe] = RECIPES,
    seed: int,
    uniform_share: float = UNIFORM_SHARE,
    progress: Callable[[int, int], None] | None = None,
) -> LikelihoodTable:
    """Train the classifiers on subsamples of `images` and evaluate them on all of them.

    Parameters
    ----------
    images
        The data set.
    recipes
        One per hypothesis.
    seed
        Of the training samples; recipe k draws from its own stream.
    uniform_share
        ε in (0, 1): the share of the uniform law in every prediction.
    progress
        Called with (classifiers done, classifiers in all) after each.

    Raises
    ------
    ValueError
        If a recipe has another number of classes than `images`, or asks for a class without
        images.

    Examples
    --------
    >>> from empirical.data import load_digits
    >>> table = likelihood_table(load_digits(), recipes=RECIPES[:2], seed=0)
    >>> table.log_likelihoods.shape
    (2, 1797)
    """
    uniform_share = as_probability("uniform_share", uniform_share)
    seed = as_integer("seed", seed, minimum=0)
    classes = len(images.classes)
    for recipe in recipes:
        if len(recipe.balance) != classes:
            wanted = f"one share for each of the {classes} classes"
            remedy = "match the data set's classes"
            raise fail(f"recipe {recipe.name!r}", wanted, len(recipe.balance), remedy)
    features, labels = image_features(images), images.labels
    everyone = np.arange(len(images))
    classifiers, rows, accuracies = [], [], []
    for index, recipe in enumerate(recipes):
        own_seed = int(np.random.SeedSequence([seed, index]).generate_state(1)[0])
        classifier = train_classifier(features, labels, recipe, seed=own_seed)
        probabilities = classifier.probabilities(features, uniform_share=uniform_share)
        classifiers.append(classifier)
        rows.append(np.log(probabilities[everyone, labels]))
        accuracies.append(float((probabilities.argmax(axis=1) == labels).mean()))
        if progress is not None:
            progress(index + 1, len(recipes))
    return LikelihoodTable(
        tuple(recipe.name for recipe in recipes),
        read_only(np.array(rows)),
        read_only(np.array(accuracies)),
        tuple(classifiers),
    )


def classifier_model(table: LikelihoodTable, partition: Partition) -> FiniteModel:
    """The hypotheses of `table`, seen by agents that draw their own images with replacement.

    D_j(θ) is the exact mean of −log ℓ over the agent's images, in nats per image (floating
    point, no sampling); the prior is uniform.

    Raises
    ------
    ValueError
        If the partition names an image that the table does not have.
    """
    images = table.log_likelihoods.shape[1]
    largest = max(int(own[-1]) for own in partition.indices)
    if largest >= images:
        wanted = f"positions below {images}, the number of images in the table"
        raise fail("partition", wanted, largest, "partition the labels of the same data set")
    agents = [
        FiniteAgent.from_log_likelihoods(table.log_likelihoods[:, own]) for own in partition.indices
    ]
    return FiniteModel.from_agents(table.hypotheses, agents)


# What images look like to the simplest of classifiers --------------------------------------------


def look_table(images: Images, *, per: int = 1000) -> IntArray:
    """Shares of looks, shape (classes, classes), as whole numbers of which each row sums to `per`.

    The *look* of an image is the class whose mean image is nearest to it, pixel by pixel. The table
    q[y, x] = the share of class y's images that look like class x says how much alike classes are
    before anything finer than a mean image is learnt. No random number is involved.

    Row y counts class y's images by the class of the nearest mean image, and is rounded by the
    method of largest remainders.

    Raises
    ------
    ValueError
        If a class has no image, or `per` is less than 1.

    Examples
    --------
    >>> from empirical import load_digits
    >>> table = look_table(load_digits())
    >>> table.sum(axis=1).tolist() == [1000] * 10, int(table[4, 4])
    (True, 928)
    """
    if per < 1:
        raise fail("per", "a whole number of at least 1", per, "use 1000")
    classes = len(images.classes)
    present = np.bincount(images.labels, minlength=classes)
    if (present == 0).any():
        got = f"none of class {int(present.argmin())}"
        raise fail("images", "images of every class", got, "use images of all classes")
    pixels = images.pixels.reshape(len(images), -1).astype(np.float64)
    # Sums of whole numbers below 2^53: exact, so that the means are the same on every machine.
    sums = np.array([pixels[images.labels == y].sum(axis=0) for y in range(classes)])
    means = sums / present[:, None]
    # ‖pixels − mean‖² less ‖pixels‖², which is the same for every mean.
    distances = (means * means).sum(axis=1) - 2 * pixels @ means.T
    looks = distances.argmin(axis=1)
    counts = np.array(
        [np.bincount(looks[images.labels == y], minlength=classes) for y in range(classes)]
    )
    return np.array([in_proportion(row, per) for row in counts])
