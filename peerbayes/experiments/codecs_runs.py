"""One part of `codecs`: a training overheard, and every codec tried on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from peerbayes.documents import number as known
from peerbayes.experiments.codecs_documents import CodecsPart, CodecTrial, LimitCurve
from peerbayes.experiments.codecs_setting import CodecSetting, Contender
from peerbayes.experiments.setting import CODECS, behaviour_mark, versions
from peerbayes.experiments.tuned_search import recorded_learner
from theory.progress import Progress

if TYPE_CHECKING:
    from empirical.data import Images
    from empirical.messages.limit import Curves
    from empirical.train.overhearing import Overheard

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
        behaviour=behaviour_mark(CODECS),
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
