"""What the parts of `gae` say together: Table 1 beside what was measured, bits beside eqs 4 to 6.

No theorem speaks of accuracies, so that those lines carry no verdict. Counts of bits do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from peerbayes.experiments.experiment import Line
from peerbayes.experiments.gae_rows import (
    CHANGED,
    FEW,
    RUNS,
    TABLE_1,
    TRIALS,
    VARIED,
    GaeAutoencoderPart,
    GaeContent,
    GaeRunPart,
)
from theory.claims.compressed_gossip import FULL, PRUNED

_FLOAT_BITS = 32
_ROUNDS = 300
# Printed gaps between pruning and GAE, in points of accuracy.
_PRINTED_GAPS = {
    "GAE unbalanced 4": ".9562 − .9260; around 3 % in the worst case",
    "GAE unbalanced 16": ".9661 − .9320; around 3 % in the worst case",
}
# Which way of sending is held against which.
_AGAINST = (
    ("GAE", "pruned"), ("spline", "pruned"), ("spline", "GAE"), ("coded", "pruned"),
    ("coded", "GAE"), ("differences", "pruned"), ("differences", "full"),
)  # fmt: skip


def gae_lines(found: GaeContent) -> tuple[Line, ...]:
    """The lines of all parts that are there."""
    lines: list[Line] = []
    for run in RUNS:
        own = found.named(run.name)
        if own:
            lines.append(_accuracy(own))
    for way, other in _AGAINST:
        for run in RUNS:
            if run.name.startswith(f"{way} "):
                lines += _gap(found, run.name, other, _counterpart(run.name, other))
    for run in RUNS:
        for change in VARIED:
            plain = run.name.removesuffix(f" {change}")
            if plain != run.name:
                lines += _gap(found, run.name, plain, plain)
    lines += _tried(found)
    lines += _bits(found)
    lines += _coded_bits(found)
    for name, part in found.autoencoders.items():
        lines += _errors(name, part)
    if found.autoencoders:
        lines += _totals(found, next(iter(found.autoencoders.values())))
    return tuple(lines)


def _accuracy(own: Sequence[GaeRunPart]) -> Line:
    values = [one.accuracy for one in own]
    first = own[0]
    rounds = int(first.recipe["rounds"])
    words = [f"T = {rounds}, {_seeds(len(own))}, {first.images} images"]
    if first.run in {run.name for run in TABLE_1} and rounds != _ROUNDS:
        words.append(f"short: the paper has T = {_ROUNDS}")
    codes = len({one.code_mark for one in own})
    if codes > 1:
        words.append(f"a mean over {codes} versions of the code")
    missing = sum(bool(one.missing_digits) for one in own)
    if missing:
        words.append(f"a digit is held by nobody with {_seeds(missing)}")
    what = f"accuracy after the exchange, {first.run}"
    return Line(what, first.printed, _mean(values), _error(values), None, None, "; ".join(words))


def _tried(found: GaeContent) -> list[Line]:
    """How good each trial became, on images that nobody held."""
    lines = []
    for run in TRIALS:
        own = found.named(run.name)
        if not own:
            continue
        rounds, first = int(own[0].recipe["rounds"]), own[0]
        sent = _mean([one.bits_a_round for one in own]) / 1000
        words = [
            f"T = {rounds}, {_seeds(len(own))}, {first.images} images; {sent:.0f} kbit a round"
        ]
        if first.closing:
            before = _mean([one.closing[0].accuracy for one in own])
            words.append(f"{before:.4f} before its {run.recipe.closing} closing exchanges")
        values = [one.accuracy for one in own]
        what = f"accuracy on images that nobody holds, {run.name}"
        lines.append(Line(what, "", _mean(values), _error(values), None, None, "; ".join(words)))
    return lines


def _counterpart(name: str, other: str) -> str:
    """The run by another way of sending that a run is held against.

    The other one with the same change, if it has any, but for those of our own codecs, and for
    what an autoencoder learnt from.
    """
    rest = name.split(" ", 1)[1]
    for own_change in (*CHANGED, FEW):
        rest = rest.removesuffix(f" {own_change}")
    return f"{other} {rest}"


def _gap(found: GaeContent, name: str, other: str, against: str) -> list[Line]:
    """The accuracy of the run `against` less that of another, seed by seed; `other` in a word."""
    theirs = {one.seed: one.accuracy for one in found.named(against)}
    own = {one.seed: one.accuracy for one in found.named(name)}
    gaps = [100 * (theirs[seed] - own[seed]) for seed in theirs if seed in own]
    if not gaps:
        return []
    return [
        Line(
            f"points of accuracy that {name} loses to {other}",
            _PRINTED_GAPS.get(name, "") if other == "pruned" else "",
            _mean(gaps),
            _error(gaps),
            None,
            None,
            "seeds are paired: same images, same first weights",
        )
    ]


def _bits(found: GaeContent) -> list[Line]:
    """Bits of a message, counted from its bytes, beside eqs 4 to 6."""
    lines, printed = [], {"full": "19.63e6", "pruned": "2.6e6", "autoencoder": "1.02e6"}
    for exchange in ("full", "pruned", "autoencoder", "spline"):
        traffics = [
            one.traffic
            for one in found.runs
            if one.recipe["exchange"] == exchange and one.traffic is not None
        ]
        if not traffics:
            continue
        first = traffics[0]
        lines.append(
            Line(
                f"bits of a message, {'GAE' if exchange == 'autoencoder' else exchange}",
                printed.get(exchange, ""),
                float(first.message_bits),
                None,
                float(first.printed_bits),
                all(one.message_bits == one.printed_bits for one in traffics),
                f"counted from the bytes sent; {first.beside_bits} bits of the sender's loss "
                "come on top, which the paper does not count",
            )
        )
    return lines


def _coded_bits(found: GaeContent) -> list[Line]:
    """Bits that a node sends in a round where messages differ: means over runs and seeds."""
    lines = []
    for run in RUNS:
        sizes = [one.bits_a_round for one in found.named(run.name)]
        if run.recipe.codec is None or not sizes:
            continue
        mean = _mean(sizes)
        shares = f"1/{PRUNED / mean:.1f} of eq. 5, 1/{FULL / mean:.0f} of eq. 4"
        what = f"bits that a node sends in a round, {run.name}"
        lines.append(Line(what, "", mean, _error(sizes), None, None, shares))
    return lines


def _errors(trained: str, part: GaeAutoencoderPart) -> list[Line]:
    """What an autoencoder and a spline leave of held-out curves, over what a constant leaves."""
    lines = []
    for fit in part.fits:
        for name, error in ((f"the {trained}", fit.validation[-1]), ("50 knots", fit.spline)):
            remark = f"held out by {fit.split}; {part.curves} snapshots of {part.images} images"
            lines.append(
                Line(
                    f"mean squared error of sorted weights by {name}, over that of a constant "
                    f"curve, held out by {fit.split}",
                    "",
                    _finite(error / fit.constant),
                    None,
                    None,
                    None,
                    remark,
                )
            )
    return lines


def _totals(found: GaeContent, part: GaeAutoencoderPart) -> list[Line]:
    """Mbit a node in 300 rounds, the autoencoder's own distribution counted."""
    bits = {
        one.recipe["exchange"]: one.traffic.message_bits
        for one in found.runs
        if one.traffic is not None
    }
    if not {"pruned", "autoencoder"} <= bits.keys():
        return []
    own = _FLOAT_BITS * part.weights
    total = own + _ROUNDS * bits["autoencoder"]
    return [
        Line(
            f"Mbit a node receives in {_ROUNDS} rounds of GAE, its autoencoder included",
            "",
            total / 1e6,
            None,
            None,
            None,
            f"{own / 1e6:.1f} of the autoencoder, {_ROUNDS * bits['autoencoder'] / 1e6:.1f} of "
            f"messages; pruning alone: {_ROUNDS * bits['pruned'] / 1e6:.1f}, "
            f"{_ROUNDS * bits['pruned'] / total:.2f} times as many",
        )
    ]


def _seeds(number: int) -> str:
    return "1 seed" if number == 1 else f"{number} seeds"


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _error(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
