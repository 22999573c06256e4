"""`gae`: compressed gossip by pruning and an autoencoder, as its paper has it, and controls.

A part is one run with one seed, or the training of the autoencoder, which runs of the exchange
"GAE" need: it is kept in the folder of the parts. Seeds are paired: runs of a seed share first
weights and, of a split, the images of each node.

Lines lay Table 1 beside what was measured, and bits beside eqs 4 to 6. No theorem speaks of
accuracies, so that those lines carry no verdict. Counts of bits do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from empirical import papers
from peerbayes.documents import Document
from peerbayes.experiments.experiment import Experiment, Job, Line, line, mean_and_error
from peerbayes.experiments.gae_rows import (
    AUTOENCODERS,
    CHANGED,
    FEW,
    RUNS,
    TABLE_1,
    TRIAL_IMAGES,
    TRIAL_TEST,
    TRIALS,
    VARIED,
    GaeAutoencoderPart,
    GaeContent,
    GaePart,
    GaeRunPart,
    gae_recipe,
    recipe_of,
    words_of,
)
from peerbayes.experiments.setting import forget_unfinished

FORM = "gae"


@dataclass(frozen=True)
class GaeExperiment(Experiment[GaePart]):
    """The nine runs of the paper's Table 1, with controls.

    A quick run has few images, three rounds, and fewer controls.
    """

    seeds: int = 5
    title: str = "gossip of pruned and autoencoded weights on a ring, MNIST"
    source: str = "GAE, section 5"

    dataset = "mnist"
    options = Experiment.options | {"workers"}
    shown = slice(10)

    @property
    def name(self) -> str:
        """``gae``, or ``gae quick``."""
        return "gae quick" if self.is_quick else "gae"

    def settings(self) -> dict[str, Any]:
        """What all parts have in common."""
        return {"form": FORM, "quick": self.is_quick, "device": self.setting.device}

    def depends(self, part: GaePart) -> dict[str, Any]:
        """What the numbers of one part depend on: its recipe, and the autoencoder's."""
        from empirical.data import CHECKSUMS

        found = {**self.settings(), "data": dict(CHECKSUMS[self.dataset])}
        if part.run is not None:
            found["recipe"] = recipe_of(part, is_quick=self.is_quick).as_json()
            if part.run.is_trial:
                found["images"] = [TRIAL_IMAGES, TRIAL_TEST]
        if part.run is None or part.run.needs_autoencoder:
            found["autoencoder"] = words_of(part, is_quick=self.is_quick)["plans"]
        return found

    def recipes(self, part: GaePart) -> tuple[str, ...]:
        """That of what is sent and merged, or of the autoencoder's training."""
        return (gae_recipe(part),)

    def find(self, part: GaePart, job: Job) -> Document:
        """One run, or the training of an autoencoder (`gae_runs`)."""
        from peerbayes.experiments.gae_runs import run_gae, train_autoencoder

        run = train_autoencoder if part.run is None else run_gae
        return run(part, job, is_quick=self.is_quick, setting=self.setting)

    def settled(self, part: str) -> None:
        """The part is on record: what was kept to take it up again goes."""
        from empirical.gae.fitting import SPLITS

        own = self.part(part)
        forget_unfinished(own, self.setting, *(SPLITS if own.run is None else ()))

    def damage(self, part: str, content: Mapping[str, Any], folder: Path) -> str | None:
        """What is wrong with the autoencoder that a part on record keeps; None if nothing."""
        if self.part(part).run is not None:
            return None
        from empirical.keeping import verify_file

        try:
            right = verify_file(folder / content["file"]).sha256 == content["sha256"]
        except ValueError as error:
            return str(error)
        return None if right else "another autoencoder"

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """Table 1 and the bits, beside what was measured."""
        return gae_lines(GaeContent.of(parts))

    @property
    def table(self) -> dict[str, GaePart]:
        """The trainings of autoencoders, then all runs, seed by seed."""
        runs = [run for run in (*RUNS, *TRIALS) if run.in_quick or not self.is_quick]
        own = [GaePart(run, seed) for seed in range(self.seeds) for run in runs]
        trained = AUTOENCODERS[:1] if self.is_quick else AUTOENCODERS
        return {part.name: part for part in (*trained, *own)}


GAE = GaeExperiment()
"""The experiment."""


# What the parts say together ----------------------------------------------------------------------

_FLOAT_BITS = 32
_ROUNDS = 300
# Printed gaps between pruning and GAE, in points of accuracy; bits of a message; which way of
# sending is held against which.
_PRINTED_GAPS, _PRINTED_BITS, _AGAINST = (
    papers.tables("gae")[name] for name in ("printed_gaps", "printed_bits", "against")
)


def gae_lines(found: GaeContent) -> tuple[Line, ...]:
    """The lines of all parts that are there."""
    lines = [_accuracy(own) for run in RUNS if (own := found.named(run.name))]
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
    return line(
        f"accuracy after the exchange, {first.run}",
        [one.accuracy for one in own],
        printed=first.printed,
        remark="; ".join(words),
    )


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
        what = f"accuracy on images that nobody holds, {run.name}"
        lines.append(line(what, [one.accuracy for one in own], remark="; ".join(words)))
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
    what = f"points of accuracy that {name} loses to {other}"
    printed = _PRINTED_GAPS.get(name, "") if other == "pruned" else ""
    remark = "seeds are paired: same images, same first weights"
    return [line(what, gaps, printed=printed, remark=remark)]


def _bits(found: GaeContent) -> list[Line]:
    """Bits of a message, counted from its bytes, beside eqs 4 to 6."""
    lines = []
    for exchange, printed in _PRINTED_BITS.items():
        own = [one for one in found.runs if one.recipe["exchange"] == exchange]
        traffics = [one.traffic for one in own if one.traffic is not None]
        if not traffics:
            continue
        first = traffics[0]
        lines.append(
            line(
                f"bits of a message, {'GAE' if exchange == 'autoencoder' else exchange}",
                [float(first.message_bits)],
                printed=printed,
                predicted=float(first.printed_bits),
                holds=all(one.message_bits == one.printed_bits for one in traffics),
                remark=f"counted from the bytes sent; {first.beside_bits} bits of the sender's "
                "loss come on top, which the paper does not count",
            )
        )
    return lines


def _coded_bits(found: GaeContent) -> list[Line]:
    """Bits that a node sends in a round where messages differ: means over runs and seeds."""
    from theory.claims.compressed_gossip import FULL, PRUNED

    lines = []
    for run in RUNS:
        sizes = [one.bits_a_round for one in found.named(run.name)]
        if run.recipe.codec is None or not sizes:
            continue
        mean = _mean(sizes)
        shares = f"1/{PRUNED / mean:.1f} of eq. 5, 1/{FULL / mean:.0f} of eq. 4"
        lines.append(line(f"bits that a node sends in a round, {run.name}", sizes, remark=shares))
    return lines


def _errors(trained: str, part: GaeAutoencoderPart) -> list[Line]:
    """What an autoencoder and a spline leave of held-out curves, over what a constant leaves."""
    return [
        line(
            f"mean squared error of sorted weights by {name}, over that of a constant curve, "
            f"held out by {fit.split}",
            [error / fit.constant],
            remark=f"held out by {fit.split}; {part.curves} snapshots of {part.images} images",
        )
        for fit in part.fits
        for name, error in ((f"the {trained}", fit.validation[-1]), ("50 knots", fit.spline))
    ]


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
        line(
            f"Mbit a node receives in {_ROUNDS} rounds of GAE, its autoencoder included",
            [total / 1e6],
            remark=f"{own / 1e6:.1f} of the autoencoder, {_ROUNDS * bits['autoencoder'] / 1e6:.1f} "
            f"of messages; pruning alone: {_ROUNDS * bits['pruned'] / 1e6:.1f}, "
            f"{_ROUNDS * bits['pruned'] / total:.2f} times as many",
        )
    ]


def _seeds(number: int) -> str:
    return "1 seed" if number == 1 else f"{number} seeds"


def _mean(values: Sequence[float]) -> float:
    return mean_and_error(values)[0]
