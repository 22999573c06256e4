"""What codecs cost: bytes, time, and bits beyond the limit, on messages of nets in training.

All are messages that the first of two agents sends the other. Beliefs are natural gradient's on
Fashion-MNIST, 784-200-200-10, fifty local steps; weights are those of a convolutional net on MNIST,
by Adam, eight local steps.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from benchmarks.contest import contest
from benchmarks.tables import Options, Row
from empirical.data import load_digits, load_images
from empirical.messages.beliefs import Scales
from empirical.messages.codec import Memory
from empirical.messages.codecs import codec_from_words
from empirical.messages.codecs.quantised import largest
from empirical.messages.codecs.samples import Posterior
from empirical.messages.entropy import Tape
from empirical.messages.limit import groups_limit, measured, moves, primed, shannon_limit
from empirical.messages.selected import (
    FORMER,
    MEMBER,
    Flags,
    Kinds,
    enumeration_bits,
    subset,
)
from empirical.nets.architecture import Architecture, Convolution, Dense, MaxPool, perceptron
from empirical.train.overhearing import Overheard, overheard_of_two
from peerbayes.experiments.tuned_search import recorded_learner
from theory.validation import IntArray

_CONVOLUTIONAL = Architecture(
    (1, 28, 28),
    (Convolution(32, 3), Convolution(64, 3), MaxPool(2), Dense(64), Dense(64), Dense(10)),
)


# By what is said: images, net, learner, and rounds, local steps, batch.
SAID: Mapping[str, tuple[str, Architecture, str, tuple[int, int, int]]] = {
    "beliefs": (
        "fashion-mnist", perceptron(784, 200, 200, outputs=10), "natural-gradient", (6, 50, 50)
    ),
    "weights": ("mnist", _CONVOLUTIONAL, "averaging-adam", (10, 8, 256)),
}  # fmt: skip
TOYS = {"beliefs": (6, 5, 20), "weights": (3, 5, 20)}


@cache
def overheard(what: str, *, quick: bool) -> Overheard:
    """All that is said in a training."""
    images, net, learner, lengths = SAID[what]
    if quick:
        net, lengths = perceptron(64, 16, outputs=10), TOYS[what]
    data = load_digits() if quick else load_images(images, "train")
    how = dict(zip(("rounds", "local_steps", "batch"), lengths, strict=True))
    return overheard_of_two(data, net, recorded_learner(learner), **how, seed=0)


def copied(memory: Memory) -> Memory:
    """The same numbers in tensors of their own."""
    return {name: values.clone() for name, values in memory.items()}


def codecs(how: Options, *, words: Mapping[str, Any]) -> Row:
    """The last message by a codec, all before it said, and how long it takes."""
    found = overheard("beliefs", quick=how.quick)
    layout, last = found.layout, found.said[-1]
    numbers = b"".join(values.numpy().tobytes() for values in last.values())
    coder = codec_from_words(words).coder(layout)
    before = primed(coder, layout, found.said[:-1], seed=0)
    memory, examples = before.memory, layout.examples
    body = coder.encode(last, copied(memory), seed=99)
    point = measured(coder, copied(memory), last, seed=99, examples=examples, known=before.known)
    times = contest(
        how,
        {
            "encode": lambda: coder.encode(last, copied(memory), seed=99),
            "decode": lambda: coder.decode(body, copied(memory), seed=99),
            "copy": lambda: bytearray(numbers),
            "zlib": lambda: zlib.compress(numbers, 1),
        },
    )
    seconds = times.seconds
    return {
        "bits a weight": round(point.bits, 3),
        "nats a weight": float(f"{point.nats:.3g}"),
        **times.row(),
        "both over zlib": (seconds["encode"] + seconds["decode"]) / seconds["zlib"],
    }


def limit(how: Options, *, step: float) -> Iterator[Row]:
    """Messages of the second and the fifth round at a step, beside the curve of their own moves."""
    found = overheard("beliefs", quick=how.quick)
    layout, examples = found.layout, found.layout.examples
    scales, coder = Scales(layout.blocks), Posterior(step=step).coder(layout)
    memory = coder.memory()
    for number, message in enumerate(found.said, start=1):
        moved = moves(message, coder.replica(memory), examples=examples)
        point = measured(coder, memory, message, seed=0, examples=examples)
        if number not in (2, 5):
            continue
        groups = scales.contexts(scales.of(np.rint(moved / step).astype(np.int64)))
        curves = {
            "one normal law": groups_limit(moved, 0 * groups),
            "rows and columns": groups_limit(moved, groups),
            "Shannon's bound": shannon_limit(moved, groups, width=max(0.02, step / 8)),
        }
        yield {
            "round": number,
            "step": step,
            "nats a weight": float(f"{point.nats:.3g}"),
            "bits a weight": round(point.bits, 3),
            "bits above": {name: point.above(curve) for name, curve in curves.items()},
        }


def bits_of(chosen: Flags, kinds: IntArray) -> int:
    """Of a set, in whole words."""
    writer = Tape()
    subset(writer, chosen, kinds)
    return 8 * len(writer.done())


def sets(how: Options, *, kept: int) -> Iterator[Row]:
    """The largest weights of each round, by what is known of them."""
    found = overheard("weights", quick=how.quick)
    layout = found.layout
    first = layout.begin["mean"].numpy()
    kinds, last = Kinds(layout, first), first.copy()
    never, state = np.zeros((2, layout.size), dtype=np.uint8)
    for number, message in enumerate(found.said, start=1):
        values = message["mean"].numpy()
        chosen = largest(np.abs(values), kept)
        yield {
            "round": number,
            "bits": {
                "enumerated": enumeration_bits(layout.size, kept),
                "first values": bits_of(chosen, kinds.of(last, never)),
                "and what was said": bits_of(chosen, kinds.of(last, state)),
            },
            "stayed_share": float((chosen & (state == MEMBER)).sum()) / kept,
        }
        last[chosen] = values[chosen]
        state[state == MEMBER] = FORMER
        state[chosen] = MEMBER
