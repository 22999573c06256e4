"""The runs of `gae`: the nine of the paper's Table 1, and controls beside them; and their records.

What they are stands in `empirical/papers/gae.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import Field

from empirical import papers
from empirical.gae.recipe import Recipe
from peerbayes.documents import Document
from peerbayes.experiments.experiment import Made
from peerbayes.experiments.setting import GAE_AUTOENCODER, behaviour_mark, codec_names

if TYPE_CHECKING:
    from empirical.gae.fitting import FitPlan, SnapshotPlan

# The part that trains the autoencoder.
AUTOENCODER = "autoencoder"
# Added where it learns from a tenth of the paper's snapshots.
FEW = "few snapshots"
CHANGED = ("closing", "rare", "fine")
"""Words of our codecs on 16 nodes with something changed."""
VARIED = ("masked", "no dropout", "random neighbour", "aliased")
"""Words of controls with one choice changed, on the same images."""
# Of a trial: images that may be learnt from, and others that it is judged by.
TRIAL_IMAGES, TRIAL_TEST = 15_000, 4_000
# Of a quick run: training images, test images.
QUICK_IMAGES, QUICK_TEST = 1200, 200


@dataclass(frozen=True)
class Run:
    """One line of the table, with any seed.

    Attributes
    ----------
    name
        Such as ``GAE unbalanced 16``, followed by what differs from the paper.
    recipe
        What it does.
    printed
        Its accuracy in Table 1; empty for controls.
    in_quick
        Whether a quick run has it.
    snapshots
        What the autoencoder that it uses learnt from: FEW, or empty for the paper's.
    is_trial
        Whether it learns from a quarter of the training images, and is judged by others of them.
    """

    name: str
    recipe: Recipe
    printed: str = ""
    in_quick: bool = True
    snapshots: str = ""
    is_trial: bool = False

    @property
    def needs_autoencoder(self) -> bool:
        """Whether messages go through the autoencoder."""
        return self.recipe.exchange == "autoencoder"


@dataclass(frozen=True)
class GaePart:
    """One part: a run with a seed, or the training of an autoencoder (`run` is None).

    Attributes
    ----------
    run, seed
        The run, and its seed.
    snapshots
        Of a training: FEW, or empty for the paper's.
    """

    run: Run | None
    seed: int = 0
    snapshots: str = ""

    @property
    def name(self) -> str:
        """Such as ``GAE balanced 4 seed 0``."""
        if self.run is None:
            return f"{AUTOENCODER} {self.snapshots}".strip()
        return f"{self.run.name} seed {self.seed}"

    @property
    def autoencoder(self) -> GaePart:
        """The training of the autoencoder that a run uses; a training itself."""
        return self if self.run is None else GaePart(None, snapshots=self.run.snapshots)


_FILE = papers.tables("gae")


def _run(table: Mapping[str, Any], *, is_trial: bool = False) -> Run:
    recipe = {**(_FILE["trial"] if is_trial else {}), **table["recipe"]}
    if isinstance(recipe.get("codec"), str):
        recipe["codec"] = _FILE["codecs"][recipe["codec"]]
    told = {key: value for key, value in table.items() if key != "recipe"}
    made = papers.built(Recipe, recipe)
    return papers.built(Run, told, recipe=made, is_trial=is_trial)


AUTOENCODERS = (GaePart(None), GaePart(None, snapshots=FEW))
"""The trainings of autoencoders."""

RUNS: tuple[Run, ...] = tuple(_run(one) for one in _FILE["runs"])
"""All runs."""

TABLE_1: tuple[Run, ...] = tuple(run for run in RUNS if run.printed)
"""The nine runs of the paper's Table 1."""

TRIALS: tuple[Run, ...] = tuple(_run(one, is_trial=True) for one in _FILE["trials"])
"""Short runs by which our codecs were chosen; no test image is looked at."""


def recipe_of(part: GaePart, *, is_quick: bool, device: str = "cpu") -> Recipe:
    """The recipe of a part; of a quick run in seconds: its numbers are no result.

    On a GPU products are what the papers' file says.
    """
    recipe = Recipe() if part.run is None else part.run.recipe
    recipe = recipe if device == "cpu" else replace(recipe, **_FILE["on_gpu"])
    return replace(recipe, rounds=3, batch=64, every=1) if is_quick else recipe


def plans_of(part: GaePart, *, is_quick: bool) -> tuple[SnapshotPlan, FitPlan]:
    """How the autoencoder that a part trains or uses is trained."""
    from empirical.gae.fitting import FitPlan, SnapshotPlan

    if is_quick:
        fit = FitPlan(epochs=10, batch=4, held_out=1 / 2)
        return SnapshotPlan(trajectories=2, epochs=6, batch=160), fit
    if part.autoencoder.snapshots:  # a tenth, and as many steps
        return SnapshotPlan(trajectories=11), FitPlan(epochs=250)
    return SnapshotPlan(), FitPlan()


def words_of(part: GaePart, *, is_quick: bool) -> dict[str, Any]:
    """What the file of the autoencoder that a part trains or uses says of itself."""
    snapshots, fit = plans_of(part, is_quick=is_quick)
    plans = {"snapshots": asdict(snapshots), "fit": asdict(fit)}
    return {"plans": plans, "behaviour": behaviour_mark(GAE_AUTOENCODER)}


def looks(rounds: int) -> tuple[int, ...]:
    """The rounds after which test images are looked at: about 20, evenly by their logarithm.

    >>> looks(4)
    (1, 2, 3, 4)
    """
    steps = (round(1.35**k) for k in range(1, 60))
    return (1, *sorted({s for s in steps if 1 < s < rounds}), *((rounds,) if rounds > 1 else ()))


def gae_recipe(part: GaePart) -> str:
    """The recipe of a part of `gae`: what is sent, and how it is heard and merged.

    Examples
    --------
    >>> from peerbayes.experiments.gae_rows import RUNS
    >>> (run,) = (run for run in RUNS if run.name == "GAE unbalanced 4 masked")
    >>> gae_recipe(GaePart(run))
    'gae: autoencoder, masked'
    """
    if part.run is None:
        return GAE_AUTOENCODER
    recipe = part.run.recipe
    words = {
        "+".join(codec_names(recipe.codec)) if recipe.codec else recipe.exchange: True,
        recipe.merge: recipe.merge != "zeros",
        f"{recipe.neighbour} neighbour": recipe.neighbour != "fixed",
        "aliased": recipe.aliased,
        "closing": bool(recipe.closing),
        "another codec": recipe.closing_codec is not None,
    }
    return f"gae: {', '.join(word for word, holds in words.items() if holds)}"


# What `gae` leaves on disk ------------------------------------------------------------------------


class GaeTraffic(Document):
    """What went over the ring."""

    message_bits: float  # of one message's body, counted from its bytes; a mean over the run
    printed_bits: int  # the same by the paper's eqs 4 to 6; eq. 5 beside other codecs
    beside_bits: int  # that a message carries besides: its sender's loss
    messages: int  # in the whole run
    # Of all bodies until each look at the test images; null where all are of one size.
    sent_bits: list[int] | None = None


class GaeClosing(Document):
    """A look between two exchanges after the last round."""

    exchanges: int  # after the last round, so far
    accuracies: list[float]  # of each node
    sent_bits: int  # of all bodies, since the run began

    @property
    def accuracy(self) -> float:
        """The mean over nodes."""
        return sum(self.accuracies) / len(self.accuracies)


class GaeRunPart(Made):
    """One run with one seed."""

    run: str
    seed: int
    printed: str  # accuracy in Table 1; empty for controls
    recipe: dict[str, Any]
    images: int  # of training, that nodes hold
    test_images: int
    digits: list[list[int]]  # that each node holds
    missing_digits: list[int]  # that nobody holds
    rounds: list[int]  # after which test images were looked at
    accuracies: list[list[float]]  # by such round and node, after the exchange
    closing: list[GaeClosing] = Field(
        default_factory=list
    )  # looks after the last round, but for the very last
    mean_losses: list[float]  # u of eq. 8 after each round, nats
    traffic: GaeTraffic | None  # null where nothing is sent
    autoencoder: str | None  # SHA-256 of its file, where one is used
    data: dict[str, str]
    seconds: float  # of training and exchange, without the looking

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.accuracies[-1])

    @property
    def bits_a_round(self) -> float:
        """That a node sends, rounds without an exchange counted."""
        if self.traffic is None:
            return 0.0
        sent = self.traffic.message_bits * self.traffic.messages
        return sent / (self.nodes * int(self.recipe["rounds"]))

    @property
    def accuracy(self) -> float:
        """At the end, the mean over nodes."""
        return sum(self.accuracies[-1]) / self.nodes


class GaeFit(Document):
    """A training of the autoencoder, by one split of the snapshots."""

    split: str
    training: list[float]  # mean squared error of each epoch
    validation: list[float]
    constant: float  # mean squared error of the mean training curve
    spline: float  # that of as many knots on straight lines, validation curves


class GaeCurve(Document):
    """A validation curve, at some of its ranks."""

    ranks: list[int]
    sorted: list[float]
    autoencoder: list[float]
    spline: list[float]


class GaeAutoencoderPart(Made):
    """The autoencoder and what it learnt from."""

    snapshots: dict[str, Any]
    plan: dict[str, Any]
    curves: int
    images: int
    weights: int
    fits: list[GaeFit]  # first the paper's split, whose autoencoder is used
    curve: GaeCurve
    file: str
    sha256: str
    seconds: float


@dataclass(frozen=True)
class GaeContent:
    """All parts that are there: autoencoders by the name of their part, the paper's first.

    Trials are judged by other images than runs.
    """

    autoencoders: dict[str, GaeAutoencoderPart]
    runs: tuple[GaeRunPart, ...]
    trials: tuple[GaeRunPart, ...] = ()

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> GaeContent:
        """The parts of a record."""
        trained = {part.name: content[part.name] for part in AUTOENCODERS if part.name in content}
        others = (part for name, part in content.items() if name not in trained)
        runs = [GaeRunPart.model_validate(part) for part in others]
        tried = {run.name for run in TRIALS}
        return cls(
            {name: GaeAutoencoderPart.model_validate(part) for name, part in trained.items()},
            tuple(one for one in runs if one.run not in tried),
            tuple(one for one in runs if one.run in tried),
        )

    def named(self, run: str) -> tuple[GaeRunPart, ...]:
        """All seeds of a run, or of a trial."""
        return tuple(one for one in (*self.runs, *self.trials) if one.run == run)
