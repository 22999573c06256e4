"""What the parts of `codecs` say together: bits measured, beside the least that there can be.

The limit is that of a normal source, and moves of nets are not normal, so that no line carries a
verdict: a point below the curve contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from peerbayes.experiments.codecs_documents import CodecsPart, CodecTrial
from peerbayes.experiments.experiment import Line
from peerbayes.experiments.net_documents import mean_and_error

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
