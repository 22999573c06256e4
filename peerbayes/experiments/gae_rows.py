"""The runs of `gae`: the nine of the paper's Table 1, and controls beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from empirical.gae.recipe import Recipe
from peerbayes.documents import Document
from peerbayes.experiments.experiment import Made, RunSummary
from peerbayes.experiments.setting import GAE_AUTOENCODER, codec_names

# The runs of `gae` -------------------------------------------------------------------------------


# The part that trains the autoencoder.
AUTOENCODER = "autoencoder"
# Added where it learns from a tenth of the paper's snapshots.
FEW = "few snapshots"
# Table 1, by exchange, split and nodes.
_PRINTED = {
    ("none", "balanced", 1): ".9904",
    ("pruned", "balanced", 4): ".9893",
    ("pruned", "balanced", 16): ".9780",
    ("autoencoder", "balanced", 4): ".9861",
    ("autoencoder", "balanced", 16): ".9747",
    ("pruned", "unbalanced", 4): ".9562",
    ("pruned", "unbalanced", 16): ".9661",
    ("autoencoder", "unbalanced", 4): ".9260",
    ("autoencoder", "unbalanced", 16): ".9320",
}
_WORDS = {"none": "alone", "autoencoder": "GAE"}
# Codecs of ours beside those of the paper. "coded": as many weights as its baseline keeps, their
# set coded, values in steps. "differences": what changed of all weights, coarsely, and as many
# local epochs between two exchanges as make a hundredth of full exchange of it.
_CODECS: dict[str, dict[str, Any]] = {
    "coded": {"codec": {"codec": "topk", "share": 50_000 / 613_514, "step": 0.3}},
    "differences": {
        "codec": {
            "codec": "difference",
            "inner": {"codec": "quantised", "step": 1.0},
            "mixing": 1.0,
        },
        "every": 6,
    },
}
# The strongest rival, after JWINS: the steps of the best of its trials, and the share at which 300
# rounds cost what differences "closing" do.
_WAVELET: dict[str, Any] = {
    "codec": {"codec": "wavelet", "share": 0.05, "step": 0.3},
    "closing": 10,
}
CHANGED: dict[str, tuple[str, dict[str, Any]]] = {
    "closing": ("differences", {"every": 7, "closing": 10}),
    "rare": ("differences", {"every": 16, "closing": 8}),
    "fine": ("coded", {"codec": {"codec": "topk", "share": 50_000 / 613_514, "step": 0.02}}),
}
"""Our codecs on 16 nodes with something changed, by word.

Differences with fewer exchanges on the way and some at last, which cost a hundredth and a
two-hundredth of full exchange; and coded weights in steps that do not swallow what a round changes.
"""
VARIED = ("masked", "no dropout", "random neighbour", "aliased")
"""Words of controls with one choice changed, on the same images."""
# A trial: images that may be learnt from, others that it is judged by, and its recipe.
TRIAL_IMAGES, TRIAL_TEST = 15_000, 4_000
_TRIAL: dict[str, Any] = {"split": "unbalanced", "nodes": 16, "rounds": 60, "batch": 512}
# Of a quick run: training images, test images, rounds, batch; and its autoencoder.
QUICK_IMAGES, QUICK_TEST = 1200, 200
_QUICK: dict[str, Any] = {"rounds": 3, "batch": 64, "every": 1}


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


def _of(exchange: str, split: str, nodes: int, words: str = "", **other: Any) -> Run:
    recipe = Recipe(exchange=exchange, split=split, nodes=nodes, **other)
    is_central = nodes == 1
    name = "central" if is_central else f"{_WORDS.get(exchange, exchange)} {split} {nodes}"
    printed = "" if words else _PRINTED.get((exchange, split, nodes), "")
    return Run(f"{name} {words}".strip(), recipe, printed)


def _controls() -> Iterator[Run]:
    """Codecs of ours, no exchange, full weights, the spline; and the paper's with one change."""
    for word, own in _CODECS.items():
        for split in ("balanced", "unbalanced"):
            for nodes in (4, 16):
                recipe = Recipe(exchange="codec", split=split, nodes=nodes, **own)
                quick = (split, nodes) == ("unbalanced", 4)
                yield Run(f"{word} {split} {nodes}", recipe, in_quick=quick)
    for word, (way, own) in CHANGED.items():
        for split in ("balanced", "unbalanced"):
            recipe = Recipe(exchange="codec", split=split, nodes=16, **{**_CODECS[way], **own})
            yield Run(f"{way} {split} 16 {word}", recipe, in_quick=False)
    for split in ("balanced", "unbalanced"):
        recipe = Recipe(exchange="codec", split=split, nodes=16, **_WAVELET)
        yield Run(f"wavelet {split} 16 closing", recipe, in_quick=False)
    for exchange in ("none", "full", "spline"):
        for split in ("balanced", "unbalanced"):
            for nodes in (4, 16):
                one = _of(exchange, split, nodes)
                yield replace(one, in_quick=(split, nodes) == ("unbalanced", 4))
    for split in ("balanced", "unbalanced"):
        for nodes in (4, 16):
            one = _of("autoencoder", split, nodes, FEW)
            yield replace(one, snapshots=FEW, in_quick=False)
    for exchange in ("pruned", "autoencoder"):
        first = exchange == "autoencoder"
        for nodes in (4, 16):
            masked = _of(exchange, "unbalanced", nodes, "masked", merge="masked")
            yield replace(masked, in_quick=first and nodes == 4)
        for nodes in (4, 16):
            bare = _of(exchange, "unbalanced", nodes, "no dropout", dropout=0.0)
            yield replace(bare, in_quick=first and nodes == 4)
        for nodes in (4, 16):
            one = _of(exchange, "unbalanced-all", nodes)
            yield replace(one, in_quick=first and nodes == 4)
        yield replace(
            _of(exchange, "unbalanced", 16, "random neighbour", neighbour="random"),
            in_quick=first,
        )
    yield replace(_of("pruned", "balanced", 4, "aliased", aliased=True), in_quick=False)


def _trials() -> Iterator[Run]:
    """What to send, and when, at a hundredth of full exchange; and what costs more or less."""

    def changes(inner: dict[str, Any], mixing: float = 1.0) -> dict[str, Any]:
        return {"codec": {"codec": "difference", "inner": inner, "mixing": mixing}}

    def steps(step: float) -> dict[str, Any]:
        return {"codec": "quantised", "step": step}

    def largest(share: float, codec: str = "topk", step: float = 0.3) -> dict[str, Any]:
        return {"codec": codec, "share": share, "step": step}

    def in_place(inner: dict[str, Any]) -> dict[str, Any]:
        return {"codec": {"codec": "replica", "inner": inner}}

    fine = {"closing": 16, "closing_codec": in_place(steps(1.0))["codec"]}
    others: dict[str, dict[str, Any]] = {
        "full": {"exchange": "full", "closing": 16},
        "pruned": {"exchange": "pruned"},
        "coded fine": CHANGED["fine"][1],
        "differences": {**_CODECS["differences"], "closing": 16},
        "differences every 12": {**_CODECS["differences"], "every": 12, "closing": 16},
        "differences step 3": changes(steps(3.0)),
        "quantised": {"codec": steps(1.0), "every": 6},
        "CHOCO 0.01": changes(largest(0.01)),
        "CHOCO 0.03": changes(largest(0.03)),
        "CHOCO 0.03 mixing 0.3": changes(largest(0.03), 0.3),
        "in place 0.03": {**in_place(largest(0.03)), **fine},
        "wavelet 0.03": {"codec": largest(0.03, "wavelet")},
        "wavelet 0.04": {"codec": largest(0.04, "wavelet"), "closing": 16},
        "wavelet 0.05 step 1": {"codec": largest(0.05, "wavelet", 1.0), "closing": 16},
        "wavelet 0.08 every 2": {"codec": largest(0.08, "wavelet"), "every": 2, "closing": 16},
    }
    for name, own in others.items():
        recipe = Recipe(**{"exchange": "codec", **_TRIAL, **own})
        yield Run(f"trial {name}", recipe, in_quick=False, is_trial=True)


AUTOENCODERS = (GaePart(None), GaePart(None, snapshots=FEW))
"""The trainings of autoencoders."""

TABLE_1: tuple[Run, ...] = tuple(_of(*key) for key in _PRINTED)
"""The nine runs of the paper's Table 1."""

RUNS: tuple[Run, ...] = (*TABLE_1, *_controls())
"""All runs."""

TRIALS: tuple[Run, ...] = tuple(_trials())
"""Short runs by which our codecs were chosen; no test image is looked at."""


def quick_recipe(recipe: Recipe) -> Recipe:
    """The same in seconds; its numbers are no result."""
    return replace(recipe, **_QUICK)


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


# What `gae` leaves on disk, as types -------------------------------------------------------------


class GaeTraffic(Document):
    """What went over the ring."""

    message_bits: float = Field(
        description="of one message's body, counted from its bytes; a mean over the run"
    )
    printed_bits: int = Field(
        description="the same by the paper's eqs 4 to 6; eq. 5 beside other codecs"
    )
    beside_bits: int = Field(description="that a message carries besides: its sender's loss")
    messages: int = Field(description="in the whole run")
    sent_bits: list[int] | None = Field(
        default=None,
        description="of all bodies until each look at the test images; null where all are of one"
        " size",
    )


class GaeClosing(Document):
    """A look between two exchanges after the last round."""

    exchanges: int = Field(description="after the last round, so far")
    accuracies: list[float] = Field(description="of each node")
    sent_bits: int = Field(description="of all bodies, since the run began")

    @property
    def accuracy(self) -> float:
        """The mean over nodes."""
        return sum(self.accuracies) / len(self.accuracies)


class GaeRunPart(Made):
    """One run with one seed."""

    run: str
    seed: int
    printed: str = Field(description="accuracy in Table 1; empty for controls")
    recipe: dict[str, Any]
    images: int = Field(description="of training, that nodes hold")
    test_images: int
    digits: list[list[int]] = Field(description="that each node holds")
    missing_digits: list[int] = Field(description="that nobody holds")
    rounds: list[int] = Field(description="after which test images were looked at")
    accuracies: list[list[float]] = Field(description="by such round and node, after the exchange")
    closing: list[GaeClosing] = Field(
        default_factory=list, description="looks after the last round, but for the very last"
    )
    mean_losses: list[float] = Field(description="u of eq. 8 after each round, nats")
    traffic: GaeTraffic | None = Field(description="null where nothing is sent")
    autoencoder: str | None = Field(description="SHA-256 of its file, where one is used")
    data: dict[str, str]
    seconds: float = Field(description="of training and exchange, without the looking")

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
    training: list[float] = Field(description="mean squared error of each epoch")
    validation: list[float]
    constant: float = Field(description="mean squared error of the mean training curve")
    spline: float = Field(description="that of as many knots on straight lines, validation curves")


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
    fits: list[GaeFit] = Field(description="first the paper's split, whose autoencoder is used")
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
        trained = [part.name for part in AUTOENCODERS]
        runs = [
            GaeRunPart.model_validate(part) for name, part in content.items() if name not in trained
        ]
        tried = {run.name for run in TRIALS}
        return cls(
            {
                name: GaeAutoencoderPart.model_validate(content[name])
                for name in trained
                if name in content
            },
            tuple(one for one in runs if one.run not in tried),
            tuple(one for one in runs if one.run in tried),
        )

    def named(self, run: str) -> tuple[GaeRunPart, ...]:
        """All seeds of a run, or of a trial."""
        return tuple(one for one in (*self.runs, *self.trials) if one.run == run)


class GaeSettings(Document):
    """What all parts of a record have in common."""

    quick: bool


class GaeRun(RunSummary):
    """A record of `gae`."""

    settings: GaeSettings
    content: dict[str, Any]

    @property
    def found(self) -> GaeContent:
        """The parts of the record."""
        return GaeContent.of(self.content)
