"""`codecs`: bits against nats of divergence, codec by codec, beside the least that there can be.

Two agents train a net; what the first says, round by round, is said by every codec, and the last
message is measured (:mod:`empirical.messages.limit`). What the limit is and whom it binds is in
docs: mathematics/message-limit. Codecs of plain weights, which write no beliefs, are not here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from peerbayes.documents import Document, Number
from peerbayes.documents import number as known
from peerbayes.experiments.experiment import Line, Made, PartsBySeed, RunSummary, parts_named
from peerbayes.experiments.net_documents import mean_and_error
from peerbayes.experiments.setting import CODECS as RECIPE
from peerbayes.experiments.setting import behaviour_mark, versions
from peerbayes.experiments.tuned_search import recorded_learner
from theory.progress import Progress
from theory.validation import fail, install_extra

if TYPE_CHECKING:
    from empirical.data import Images
    from empirical.messages.limit import Curves
    from empirical.train.overhearing import Overheard


# Whose messages `codecs` tries which codecs on, as frozen configurations -------------------------


@dataclass(frozen=True)
class Contender:
    """A codec of beliefs with its settings.

    Attributes
    ----------
    family
        What it shares a curve with.
    setting
        What it differs in from others of its family, in words; empty where it has none beside it.
    words
        Of the codec (``empirical.messages.codecs.codec_from_words``).
    in_quick
        Whether a quick run has it.
    """

    family: str
    setting: str
    words: Mapping[str, Any]
    in_quick: bool = True


def _contenders() -> tuple[Contender, ...]:
    def stepped(step: float, **words: Any) -> dict[str, Any]:
        return {**words, "inner": {"codec": "quantised", "step": step}}

    steps, kinds = (0.08, 0.125, 0.25, 0.5, 1.0, 2.0), ("float32", "float16", "bfloat16")
    relative, shares = (0.01, 0.05, 0.2, 0.5), (0.03, 0.1, 0.3)
    difference = {"codec": "difference", "mixing": 1.0}
    found = [Contender("posterior", f"step {s}", {"codec": "posterior", "step": s}) for s in steps]
    found += [
        Contender("samples", f"width {w}", {"codec": "samples", "width": w}, in_quick=w == 0.5)
        for w in (0.3, 0.5, 1.0)
    ]
    found += [
        Contender("difference + quantised", f"step {s}", stepped(s, **difference)) for s in relative
    ]
    found += [
        Contender(f"difference + {inner}", "", {**difference, "inner": inner})
        for inner in ("sign", "topk")
    ]
    found.append(Contender("replica + quantised", "step 0.2", stepped(0.2, codec="replica")))
    found += [
        Contender("quantised", f"step {s}", {"codec": "quantised", "step": s}) for s in relative
    ]
    found.append(Contender("quantised", "Lloyd", {"codec": "quantised", "kind": "lloyd"}))
    found += [Contender("topk", f"share {s}", {"codec": "topk", "share": s}) for s in shares]
    found += [Contender(name, "", {"codec": name}) for name in ("wavelet", "seeds", "sign")]
    found += [Contender("low-rank", f"rank {r}", {"codec": "low-rank", "rank": r}) for r in (1, 4)]
    return (*found, *(Contender("plain", kind, {"codec": "plain", "kind": kind}) for kind in kinds))


CONTENDERS: tuple[Contender, ...] = _contenders()
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
    data
        Folder of the images; it changes no number.
    """

    dataset: str = "fashion-mnist"
    hidden: tuple[int, ...] = (200, 200)
    rounds: int = 6
    local_steps: int = 50
    batch: int = 50
    learner: str = "natural-gradient"
    data: Path | None = None

    def content(self) -> dict[str, Any]:
        """Everything but the folder, in plain values."""
        return {k: v for k, v in asdict(self).items() if k != "data"}


QUICK = CodecSetting("digits", (128, 64), local_steps=10, batch=20)
"""A small net on digits."""


# What `codecs` leaves on disk, as types ----------------------------------------------------------


class CodecTrial(Document):
    """The measured message of one codec."""

    family: str
    setting: str = Field(description="what it differs in from others of its family")
    codec: dict[str, Any] = Field(description="name and settings")
    bits: float = Field(description="a weight: the whole frame over their number")
    nats: float = Field(description="a weight: mean divergence of what is heard from what was said")
    limit: Number = Field(
        description="bits on the curve since the codec's own replica at that divergence;"
        " null where nothing is lost"
    )
    common: Number = Field(description="the same on the curve since the message before")

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
    normal: list[float] = Field(description="normal moves, one size a class of rows and columns")
    shannon: list[float] = Field(description="Shannon's lower bound from histograms, an estimate")


class CodecsPart(Made):
    """All codecs on the messages of one training."""

    seed: int
    weights: int
    silence: float = Field(description="nats a weight if nothing were said")
    curve: LimitCurve
    trials: list[CodecTrial]


class CodecsSettings(Document):
    """What all parts of a record have in common."""

    quick: bool
    dataset: str
    hidden: list[int]
    rounds: int
    local_steps: int
    learner: str


class CodecsRun(RunSummary):
    """A record of `codecs`."""

    settings: CodecsSettings
    content: dict[str, CodecsPart]

    @property
    def runs(self) -> list[CodecsPart]:
        """The parts in order."""
        return [self.content[name] for name in self.parts]


# What the parts of `codecs` say together ---------------------------------------------------------


# Rates, in bits a weight, over which the distance to the limit is summed up, and the codec.
_RATES, _NEAREST = (1.0, 4.0), "posterior"


def codecs_lines(parts: Mapping[str, Any]) -> tuple[Line, ...]:
    """The lines of all seeds that are there: documents, or their plain values."""
    runs = [CodecsPart.model_validate(part) for part in parts.values()]
    by_name: dict[str, list[CodecTrial]] = {}
    for run in runs:
        for one in run.trials:
            by_name.setdefault(one.name, []).append(one)
    return (*(_line(name, own) for name, own in by_name.items()), *_distance(runs))


def _line(name: str, own: Sequence[CodecTrial]) -> Line:
    """A codec: bits measured, and the curve of its own replica."""
    mean, error = mean_and_error([one.bits for one in own])
    nats = float(np.mean([one.nats for one in own]))
    limits = [one.limit for one in own if one.limit is not None]
    if len(limits) < len(own):
        return Line(f"bits a weight, {name}", "", mean, error, None, None, "nothing is lost")
    commons = [one.common for one in own if one.common is not None]
    limit, common = float(np.mean(limits)), float(np.mean(commons))
    words = f"at {nats:.3g} nats a weight: {mean - limit:.2f} above the limit"
    if limit != common:  # it has a replica
        words += f" given its replica, {mean - common:.2f} given the message before"
    return Line(f"bits a weight, {name}", "", mean, error, limit, None, words)


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
    mean, error = mean_and_error(largest)
    return [
        Line(
            f"bits a weight above the limit, {_NEAREST}, the largest from {low:g} to {high:g} bits",
            "",
            mean,
            error,
            None,
            None,
            "given its replica; quantising one number at a time wastes .25 at high rate",
        )
    ]


# One part of `codecs` ----------------------------------------------------------------------------


# Points of a curve, from this divergence to that of silence.
_POINTS, _LEAST_NATS = 120, 1e-8


def run_codecs(
    setting: CodecSetting,
    contenders: Sequence[Contender],
    *,
    number: int,
    seed: int,
    progress: Progress | None,
) -> CodecsPart:
    """Train, and measure the last message by every codec.

    Raises
    ------
    ValueError
        If images are missing, training breaks down, or a codec does not fit the messages.
    """
    from empirical.messages.limit import curves

    said = overheard_in(setting, _images(setting), seed=seed)
    steps = 1 + len(contenders)
    if progress is not None:
        progress(1, steps)
    found = []
    for place, one in enumerate(contenders, start=2):
        found.append(trial_of(one, said, seed=seed))
        if progress is not None:
            progress(place, steps)
    both = curves(said.layout, said.said)
    return CodecsPart(
        seed=number,
        weights=said.layout.size,
        silence=both.normal.silence,
        curve=_curve(both),
        trials=found,
        behaviour=behaviour_mark(RECIPE),
        versions=versions(),
    )


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


def _images(setting: CodecSetting) -> Images:
    from empirical.data import load_digits, load_images

    if setting.dataset == "digits":
        return load_digits()
    return load_images(setting.dataset, "train", directory=setting.data)


# `codecs` ----------------------------------------------------------------------------------------


FORM = "codecs"
_PART = "codecs seed "
_EXTRAS = {"torch": "train", "pywt": "messages"}


@dataclass(frozen=True)
class CodecsExperiment(PartsBySeed):
    """Every codec of Gaussian beliefs on the messages of one training, for several seeds.

    Attributes
    ----------
    seeds
        How many trainings.
    is_quick
        A small net and fewer codecs. It has a name, and so records, of its own.
    setting
        Whose messages.
    """

    seeds: int = 3
    is_quick: bool = False
    setting: CodecSetting = field(default_factory=CodecSetting)
    title: str = "codecs of beliefs: bits against nats of divergence, beside the limit"
    source: str = "theory: the least that a message can cost"

    @property
    def name(self) -> str:
        """``codecs``, or ``codecs quick``."""
        return "codecs quick" if self.is_quick else "codecs"

    @property
    def parts(self) -> tuple[str, ...]:
        """One a seed."""
        return tuple(f"{_PART}{k}" for k in range(self.seeds))

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """The codecs that are tried."""
        return tuple(one for one in CONTENDERS if one.in_quick or not self.is_quick)

    def parts_with(self, words: str, *, seeds: int) -> tuple[str, ...]:
        """The parts of the first seeds whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        return parts_named(self.parts[:seeds], words)

    def quick(self) -> CodecsExperiment:
        """The same in less than a minute."""
        return replace(self, is_quick=True, setting=replace(QUICK, data=self.setting.data))

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If a library or the data are missing; in one line that says how to get them.
        """
        for library, extra in _EXTRAS.items():
            if find_spec(library) is None:
                raise fail(self.name, library, f"no {library}", install_extra(extra))
        if self.setting.dataset != "digits":
            from empirical.data import locate

            locate(self.setting.dataset, directory=self.setting.data)

    def settings(self) -> dict[str, Any]:
        """What all parts have in common; `form` is what a report goes by."""
        return {"form": FORM, "quick": self.is_quick, **self.setting.content()}

    def part_settings(self, part: str) -> dict[str, Any]:
        """What the numbers of a part depend on: the training, the codecs, what code does."""
        words = [dict(one.words) for one in self.contenders]
        return {**self.settings(), "codecs": words, "behaviour": behaviour_mark(RECIPE)}

    def stream(self, part: str) -> int:
        """The number of its seed."""
        return int(part.removeprefix(_PART))

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
        """Train, and try every codec on what was said.

        Raises
        ------
        ValueError
            If something is missing, or training breaks down.
        """
        self.check()  # before torch is asked for
        from empirical.nets.threads import one_thread

        with one_thread():
            return run_codecs(
                self.setting, self.contenders, number=self.stream(part), seed=seed,
                progress=progress,
            )  # fmt: skip

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """A line a codec, and one for the distance to the limit."""
        return codecs_lines(parts)


CODECS = CodecsExperiment()
"""The experiment."""
