"""`codecs`: bits against nats of divergence, codec by codec, beside the least that there can be.

Two agents train a net; what the first says, round by round, is said by every codec, and the last
message is measured (:mod:`empirical.messages.limit`). What the limit is and whom it binds is in
docs: mathematics/message-limit. It is that of a normal source, and moves of nets are not normal, so
that no line carries a verdict: a point below the curve contradicts nothing. Codecs of plain
weights, which write no beliefs, are not here. The codecs stand in `empirical/papers/codecs.toml`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from empirical import papers
from peerbayes.documents import Document, Number
from peerbayes.documents import number as known
from peerbayes.experiments.experiment import (
    Experiment,
    Job,
    Line,
    Made,
    line,
    mean_and_error,
)
from peerbayes.experiments.setting import CODECS as RECIPE
from peerbayes.experiments.tuned_search import recorded_learner
from theory.lazy import later
from theory.validation import fail, install_extra

if TYPE_CHECKING:
    import numpy as np

    from empirical.data import Images
    from empirical.messages.limit import Curves
    from empirical.train.overhearing import Overheard
else:
    np = later("numpy")

FORM = "codecs"
_EXTRAS = {"torch": "train", "pywt": "messages"}
# Points of a curve, from this divergence to that of silence.
_POINTS, _LEAST_NATS = 120, 1e-8
# Rates, in bits a weight, over which the distance to the limit is summed up, and the codec.
_RATES, _NEAREST = (1.0, 4.0), "posterior"


@dataclass(frozen=True)
class Contender:
    """A codec of beliefs with its settings.

    Attributes
    ----------
    family
        What it shares a curve with.
    words
        Of the codec (``empirical.messages.codecs.codec_from_words``).
    setting
        What it differs in from others of its family, in words; empty where it has none beside it.
    in_quick
        Whether a quick run has it.
    """

    family: str
    words: Mapping[str, Any]
    setting: str = ""
    in_quick: bool = True


CONTENDERS: tuple[Contender, ...] = tuple(
    papers.built(Contender, one) for one in papers.tables("codecs")["contenders"]
)
"""All codecs of beliefs, some with several settings."""


@dataclass(frozen=True)
class CodecSetting:
    """Whose messages codecs are tried on.

    Attributes
    ----------
    dataset
        ``"digits"``, which come with scikit-learn, or a name in `empirical.data.CHECKSUMS`.
    hidden
        Widths of the hidden layers.
    rounds
        The message of this round is measured; those before are said before it.
    local_steps, batch
        Of the training between two messages.
    """

    dataset: str = "fashion-mnist"
    hidden: tuple[int, ...] = (200, 200)
    rounds: int = 6
    local_steps: int = 50
    batch: int = 50
    learner: str = "natural-gradient"


QUICK = CodecSetting("digits", (128, 64), local_steps=10, batch=20)
"""A small net on digits."""


@dataclass(frozen=True)
class CodecsSeed:
    """One part: a training, with this seed."""

    seed: int

    @property
    def name(self) -> str:
        """Such as ``codecs seed 0``."""
        return f"codecs seed {self.seed}"


@dataclass(frozen=True)
class CodecsExperiment(Experiment[CodecsSeed]):
    """Every codec of Gaussian beliefs on the messages of one training, a seed each.

    A quick run has a small net and fewer codecs.

    Attributes
    ----------
    training
        Whose messages; None: those of a net of usual size, or of a small one for a quick run.
    """

    training: CodecSetting | None = None
    title: str = "codecs of beliefs: bits against nats of divergence, beside the limit"
    source: str = "theory: the least that a message can cost"

    @property
    def name(self) -> str:
        """``codecs``, or ``codecs quick``."""
        return "codecs quick" if self.is_quick else "codecs"

    @property
    def whose(self) -> CodecSetting:
        """Whose messages."""
        return self.training or (QUICK if self.is_quick else CodecSetting())

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """The codecs that are tried."""
        return tuple(one for one in CONTENDERS if one.in_quick or not self.is_quick)

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If a library or the data are missing; in one line that says how to get them.
        """
        device = self.setting.device
        if device != "cpu":
            raise fail("--device", "cpu, where codecs work", repr(device), "leave it out")
        for library, extra in _EXTRAS.items():
            if find_spec(library) is None:
                raise fail(self.name, library, f"no {library}", install_extra(extra))
        if self.whose.dataset != "digits":
            from empirical.data import locate

            locate(self.whose.dataset, directory=self.setting.data)

    def settings(self) -> dict[str, Any]:
        """What all parts have in common; `form` is what a report goes by."""
        return {"form": FORM, "quick": self.is_quick, **asdict(self.whose)}

    def depends(self, part: CodecsSeed) -> dict[str, Any]:
        """What the numbers of a part depend on: the training, and the codecs."""
        return {**self.settings(), "codecs": [dict(one.words) for one in self.contenders]}

    def recipes(self, part: CodecsSeed) -> tuple[str, ...]:
        """One, which all parts share."""
        return (RECIPE,)

    def find(self, part: CodecsSeed, job: Job) -> CodecsPart:
        """Train, and measure the last message by every codec."""
        from empirical.messages.limit import curves

        said = overheard_in(self.whose, self._images(), seed=job.seed)
        steps, trials = 1 + len(self.contenders), []
        for done, one in enumerate((None, *self.contenders), 1):
            if one is not None:
                trials.append(trial_of(one, said, seed=job.seed))
            if job.progress is not None:
                job.progress(done, steps)
        both = curves(said.layout, said.said)
        return CodecsPart(
            seed=part.seed,
            weights=said.layout.size,
            silence=both.normal.silence,
            curve=_curve(both),
            trials=trials,
        )

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """A line a codec, and one for the distance to the limit."""
        runs = [CodecsPart.model_validate(part) for part in parts.values()]
        by_name: dict[str, list[CodecTrial]] = {}
        for run in runs:
            for one in run.trials:
                by_name.setdefault(one.name, []).append(one)
        return (*(_line(name, own) for name, own in by_name.items()), *_distance(runs))

    @property
    def table(self) -> dict[str, CodecsSeed]:
        """A training a seed."""
        own = (CodecsSeed(seed) for seed in range(self.seeds))
        return {part.name: part for part in own}

    def _images(self) -> Images:
        from empirical.data import load_digits, load_images

        if self.whose.dataset == "digits":
            return load_digits()
        return load_images(self.whose.dataset, "train", directory=self.setting.data)


CODECS = CodecsExperiment()
"""The experiment."""


# What is left on disk -----------------------------------------------------------------------------


class CodecTrial(Document):
    """The measured message of one codec."""

    family: str
    setting: str  # what it differs in from others of its family
    codec: dict[str, Any]  # name and settings
    bits: float  # a weight: the whole frame over their number
    nats: float  # a weight: mean divergence of what is heard from what was said
    # Bits on the curve since the codec's own replica at that divergence; null where nothing is
    # lost.
    limit: Number
    common: Number  # the same on the curve since the message before

    @property
    def name(self) -> str:
        """Such as ``posterior, step 0.25``."""
        return f"{self.family}, {self.setting}" if self.setting else self.family

    @property
    def above(self) -> float | None:
        """Bits a weight beyond the curve of its own replica; None where nothing is lost."""
        return None if self.limit is None else self.bits - self.limit


class LimitCurve(Document):
    """The least bits a weight at some divergences, given the message before."""

    nats: list[float]
    normal: list[float]  # normal moves, one size a class of rows and columns
    shannon: list[float]  # Shannon's lower bound from histograms, an estimate


class CodecsPart(Made):
    """All codecs on the messages of one training."""

    seed: int
    weights: int
    silence: float  # nats a weight if nothing were said
    curve: LimitCurve
    trials: list[CodecTrial]


# One part -----------------------------------------------------------------------------------------


def _curve(both: Curves) -> LimitCurve:
    nats = np.geomspace(_LEAST_NATS, both.normal.silence, _POINTS).tolist()
    return LimitCurve(
        nats=nats,
        normal=[both.normal.bits(one) for one in nats],
        shannon=[both.shannon.bits(one) for one in nats],
    )


def trial_of(contender: Contender, said: Overheard, *, seed: int) -> CodecTrial:
    """The last of some messages, measured by one codec.

    Raises
    ------
    ValueError
        If the codec does not fit the messages.
    """
    from empirical.messages.codecs import codec_from_words
    from empirical.messages.limit import trial

    codec = codec_from_words(contender.words)
    found = trial(codec, said.layout, said.said, seed=seed)
    return CodecTrial(
        family=contender.family,
        setting=contender.setting,
        codec=codec.words(),
        bits=found.bits,
        nats=found.nats,
        limit=known(found.limit),
        common=known(found.common),
    )


def overheard_in(setting: CodecSetting, images: Images, *, seed: int) -> Overheard:
    """What one of two agents says who learn from these images.

    Raises
    ------
    ValueError
        If training breaks down.
    """
    from empirical.nets.architecture import perceptron
    from empirical.train.overhearing import overheard_of_two

    pixels = math.prod(images.pixels.shape[1:])
    return overheard_of_two(
        images,
        perceptron(pixels, *setting.hidden, outputs=len(images.classes)),
        recorded_learner(setting.learner),
        rounds=setting.rounds,
        local_steps=setting.local_steps,
        batch=setting.batch,
        seed=seed,
    )


# What the parts say together: bits measured, beside the least that there can be -------------------


def _line(name: str, own: Sequence[CodecTrial]) -> Line:
    """A codec: bits measured, and the curve of its own replica."""
    what, bits = f"bits a weight, {name}", [one.bits for one in own]
    mean, _ = mean_and_error(bits)
    nats = float(np.mean([one.nats for one in own]))
    limits = [one.limit for one in own if one.limit is not None]
    if len(limits) < len(own):
        return line(what, bits, remark="nothing is lost")
    commons = [one.common for one in own if one.common is not None]
    limit, common = float(np.mean(limits)), float(np.mean(commons))
    words = f"at {nats:.3g} nats a weight: {mean - limit:.2f} above the limit"
    if limit != common:  # it has a replica
        words += f" given its replica, {mean - common:.2f} given the message before"
    return line(what, bits, predicted=limit, remark=words)


def _distance(runs: Sequence[CodecsPart]) -> list[Line]:
    """The largest distance of the nearest codec to the limit, seed by seed."""
    low, high = _RATES
    largest = []
    for run in runs:
        own = [one for one in run.trials if one.family == _NEAREST and low <= one.bits <= high]
        above = [one.above for one in own if one.above is not None]
        if above:
            largest.append(max(above))
    if not largest:
        return []
    what = f"bits a weight above the limit, {_NEAREST}, the largest from {low:g} to {high:g} bits"
    remark = "given its replica; quantising one number at a time wastes .25 at high rate"
    return [line(what, largest, remark=remark)]
