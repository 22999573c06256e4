"""What codecs cost: bytes, time, and bits beyond the limit, on messages of nets in training.

Three tables, each on messages that one agent sends another:

``codecs``  one message of 200 000 weights by every codec of beliefs and by those of weights: bits a
            weight, divergence, and milliseconds beside a copy and zlib of the same numbers
``sets``    the 50 000 largest of 613 514 weights, round by round: bits of the set
``limit``   means in steps of the posterior: bits a weight, and how far above the limit

The beliefs are natural gradient's on Fashion-MNIST, 784-200-200-10, two agents, fifty local steps;
the weights of ``sets`` are those of a convolutional net on MNIST, by Adam, eight local steps.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.limits import interleaved
from benchmarks.tables import Options, Row
from empirical.data import load_digits, load_images
from empirical.messages.beliefs import Scales
from empirical.messages.codec import Codec, Coder, Layout, Memory, Said
from empirical.messages.codecs import codec_of
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

# Steps of means in standard deviations: from four bits a weight to less than one.
STEPS = (0.08, 0.125, 0.25, 0.5, 1.0, 2.0)
LIMIT_ROUNDS = (2, 5)
CODECS: Mapping[str, Codec] = {
    "posterior, step .25": codec_of("posterior", step=0.25),
    "posterior, step 1": codec_of("posterior", step=1.0),
    "samples, width .3": codec_of("samples", width=0.3),
    "quantised, uniform": codec_of("quantised", step=0.05),
    "quantised, Lloyd": codec_of("quantised", kind="lloyd"),
    "topk, tenth, steps": codec_of("topk"),
    "topk, tenth, float32": codec_of("topk", values="float32"),
    "wavelet, tenth, steps": codec_of("wavelet"),
}


@dataclass(frozen=True)
class Task:
    """What is trained, and for how long."""

    net: Architecture
    data: str
    learner: str
    rounds: int
    local_steps: int
    batch: int
    kept: int = 0


BELIEFS = Task(
    perceptron(784, 200, 200, outputs=10), "fashion-mnist", "natural-gradient", 6, 50, 50
)
WEIGHTS = Task(
    Architecture(
        (1, 28, 28),
        (Convolution(32, 3), Convolution(64, 3), MaxPool(2), Dense(64), Dense(64), Dense(10)),
    ),
    "mnist",
    "averaging-adam",
    rounds=10,
    local_steps=8,
    batch=256,
    kept=50_000,
)
TOYS = (
    Task(perceptron(64, 16, outputs=10), "digits", "natural-gradient", 6, 5, 20),
    Task(perceptron(64, 16, outputs=10), "digits", "averaging-adam", 3, 5, 20, kept=200),
)


def messages(task: Task) -> Overheard:
    """What the first of two agents says in each round."""
    images = load_digits() if task.data == "digits" else load_images(task.data, "train")
    return overheard_of_two(
        images,
        task.net,
        recorded_learner(task.learner),
        rounds=task.rounds,
        local_steps=task.local_steps,
        batch=task.batch,
        seed=0,
    )


def codecs(layout: Layout, said: Sequence[Said], *, repeats: int) -> list[Row]:
    """The last message by each codec, all before it said, and how long it takes."""
    last, numbers = said[-1], b"".join(v.numpy().tobytes() for v in said[-1].values())
    rows = []
    for name, codec in CODECS.items():
        coder = codec.coder(layout)
        before = primed(coder, layout, said[:-1], seed=0)
        there = before.memory
        body = coder.encode(last, copied(there), seed=99)
        point = measured(
            coder, copied(there), last, seed=99, examples=layout.examples, known=before.known
        )

        def encode(coder: Coder = coder, memory: Memory = there) -> bytes:
            return coder.encode(last, copied(memory), seed=99)

        def decode(coder: Coder = coder, memory: Memory = there, body: bytes = body) -> None:
            coder.decode(body, copied(memory), seed=99)

        peers = {"copy": lambda: bytearray(numbers), "zlib": lambda: zlib.compress(numbers, 1)}
        times = interleaved({"encode": encode, "decode": decode, **peers}, repeats=repeats)
        both = times["encode"] + times["decode"]
        rows.append(
            {
                "part": "codecs",
                "codec": name,
                "bits a weight": round(point.bits, 3),
                "nats a weight": float(f"{point.nats:.3g}"),
                "milliseconds": {key: 1e3 * value for key, value in times.items()},
                "both over zlib": both / times["zlib"],
            }
        )
    return rows


def copied(memory: Memory) -> Memory:
    """The same numbers in tensors of their own."""
    return {name: values.clone() for name, values in memory.items()}


def sets(layout: Layout, said: Sequence[Said], *, kept: int) -> list[Row]:
    """The largest weights of each round, by what is known of them."""
    kinds = Kinds(layout, layout.begin["mean"].numpy())
    state, last = np.zeros(layout.size, dtype=np.uint8), layout.begin["mean"].numpy().copy()
    never, rows = np.zeros(layout.size, dtype=np.uint8), []
    for number, message in enumerate(said, start=1):
        values = message["mean"].numpy()
        chosen = largest(np.abs(values), kept)
        rows.append(
            {
                "part": "sets",
                "round": number,
                "bits": {
                    "enumerated": enumeration_bits(layout.size, kept),
                    "first values": bits_of(chosen, kinds.of(last, never)),
                    "and what was said": bits_of(chosen, kinds.of(last, state)),
                },
                "stayed_share": float((chosen & (state == MEMBER)).sum()) / kept,
            }
        )
        last[chosen] = values[chosen]
        state[state == MEMBER] = FORMER
        state[chosen] = MEMBER
    return rows


def bits_of(chosen: Flags, kinds: IntArray) -> int:
    """Of a set, in whole words."""
    writer = Tape()
    subset(writer, chosen, kinds)
    return 8 * len(writer.done())


def limit(layout: Layout, said: Sequence[Said]) -> list[Row]:
    """Messages at several steps, beside the curve of their own moves."""
    rows, scales = [], Scales(layout.blocks)
    examples = layout.examples
    for step in STEPS:
        coder = Posterior(step=step).coder(layout)
        memory = coder.memory()
        for number, message in enumerate(said, start=1):
            moved = moves(message, coder.replica(memory), examples=examples)
            point = measured(coder, memory, message, seed=0, examples=examples)
            if number not in LIMIT_ROUNDS:
                continue
            groups = scales.contexts(scales.of(np.rint(moved / step).astype(np.int64)))
            curves = {
                "one normal law": groups_limit(moved, 0 * groups),
                "rows and columns": groups_limit(moved, groups),
                "Shannon's bound": shannon_limit(moved, groups, width=max(0.02, step / 8)),
            }
            rows.append(
                {
                    "part": "limit",
                    "round": number,
                    "step": step,
                    "nats a weight": float(f"{point.nats:.3g}"),
                    "bits a weight": round(point.bits, 3),
                    "bits above": {name: point.above(curve) for name, curve in curves.items()},
                }
            )
    return rows


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    beliefs, weights = TOYS if how.quick else (BELIEFS, WEIGHTS)
    found = messages(beliefs)
    found_rows = codecs(found.layout, found.said, repeats=how.repeats)
    found_rows += limit(found.layout, found.said)
    found = messages(weights)
    return found_rows + sets(found.layout, found.said, kept=weights.kept)
