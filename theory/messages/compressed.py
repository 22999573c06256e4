"""Certified rounds and bytes to δ for compressed beliefs.

A compressed run of W is the uncompressed run of W_γ on the same data but for at most
β = ω B ē at any agent, in any round (`theory.messages.deviation`): ω is 1 where one of the two
hypotheses is the first, which log-ratios are sent against, and 2 elsewhere. So it errs only where
the uncompressed one, started with prior log-odds lower by β, errs; and it errs wherever the one
started with log-odds higher by β does, since all W^n have rows that sum to one. All of
`theory.bounds` holds for these two, and what it certifies brackets the compressed run.
(docs: mathematics/compressed-beliefs)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from theory.bounds import SampleSizes, sample_sizes
from theory.learning.model import FiniteModel
from theory.messages.deviation import exposure, replica_deviation
from theory.messages.levels import MessageLevels, finest_step, message_levels, mixed_network
from theory.messages.quantiser import HEADER, Deadband, Quantiser, Samples, Unacknowledged, Uniform
from theory.messages.speaking import SpeakingShares, speaking_shares
from theory.network import Network
from theory.network.structure import off_diagonal
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail, read_only

# Certified rounds and bytes to δ for compressed beliefs ------------------------------------------


_UP = 1 + 1e-12


@dataclass(frozen=True)
class MeanBytes(Shown):
    """Expected bytes a round on all links together: bounds, and an estimate for little mixing."""

    lower: float
    estimate: float
    upper: float

    @classmethod
    def of(cls, speaking: SpeakingShares, bytes_each: IntArray) -> MeanBytes:
        """Those of agents that speak so often, with so many bytes each time, shape (N,)."""
        ends = (speaking.lower, speaking.estimate, speaking.upper)
        return cls(*(float(bytes_each @ end) for end in ends))


@dataclass(frozen=True, eq=False)
class CompressedLearning(Shown):
    """What is known beforehand of learning with compressed beliefs.

    Attributes
    ----------
    network
        W_γ: that of the run without compression that this one stays close to.
    quantiser
        With its levels: those given, or else the least odd number that is enough. None still if
        log-ratios are unbounded, and for a quantiser without a replica.
    deviation
        Shape (N,): an upper bound on how far compression moves a log-ratio against the first
        hypothesis, in nats; inf where nothing is proved, as without a replica.
    mean_deviation
        Shape (N,): the same of the mean over runs. It is `deviation`, but where chance decides
        what is sent.
    levels
        What the quantiser has to hold.
    heard
        Shape (N,): how many others hear each agent.
    frame
        The bytes of a message, with those of its answer; None without levels.
    speaking
        How often agents send a message, in the mean of the long run.
    uncompressed, compressed, easier
        The ladder of W without compression, and the ladders of W_γ with prior log-odds lower and
        higher by β; None without a replica.
    note
        Why a number is missing; empty if none is.
    """

    network: Network
    quantiser: Quantiser
    deviation: FloatArray
    mean_deviation: FloatArray
    levels: MessageLevels
    heard: IntArray
    frame: int | None
    speaking: SpeakingShares | None
    uncompressed: SampleSizes
    compressed: SampleSizes | None
    easier: SampleSizes | None
    note: str

    @property
    def links(self) -> int:
        """Directed links, each of which carries messages."""
        return int(self.heard.sum())

    @property
    def mean_bytes_per_round(self) -> MeanBytes | None:
        """Of all links together, in the mean of the long run; None without a code."""
        if self.frame is None or self.speaking is None:
            return None
        return MeanBytes.of(self.speaking, self.heard * self.frame)

    @property
    def certified_rounds(self) -> tuple[int | None, int | None]:
        """Certified ends of the least n from which on some agent errs with probability ≤ δ."""
        if self.compressed is None or self.easier is None:
            return None, None
        return self.easier.certified.lower, _enough(self.compressed)

    @property
    def extra_rounds(self) -> int | None:
        """What is certified to be enough with compression, less what is without."""
        before = _enough(self.uncompressed)
        after = self.certified_rounds[1]
        return None if before is None or after is None else after - before

    @property
    def bytes_per_round(self) -> float | None:
        """Of all links together: exactly, or at most where an agent may send nothing."""
        return None if self.frame is None else self.links * self.frame / self.levels.silence

    @property
    def certified_bytes(self) -> tuple[int | None, int | None]:
        """Certified ends of the bytes on all links until then.

        The lower end is that of the rounds, and zero where nothing may be sent.
        """
        lower, upper = self.certified_rounds
        if self.frame is None or (lower is None and upper is None):
            return None, None
        silent = isinstance(self.quantiser, Deadband)
        least = 0 if silent or lower is None else self.bytes_after(lower)
        return least, None if upper is None else self.bytes_after(upper)

    def bytes_after(self, rounds: int) -> int:
        """The most bytes that so many rounds take on all links together.

        Raises
        ------
        ValueError
            If the quantiser has no levels, and so no code.
        """
        if self.frame is None:
            raise fail("levels", "a number of levels", "none", "give the quantiser levels")
        return self.links * self.frame * -(-rounds // self.levels.silence)


def _enough(ladder: SampleSizes) -> int | None:
    """The fewest rounds that a theorem says are enough."""
    known = [ladder.certified.upper, ladder.chernoff.rounds, ladder.repaired.rounds]
    return min((n for n in known if n is not None), default=None)


@typed
def compressed_learning(
    network: Network,
    model: FiniteModel,
    quantiser: Quantiser,
    *,
    delta: float = 0.05,
    uncompressed: SampleSizes | None = None,
) -> CompressedLearning:
    """Bounds on what compression does, and the certified rounds and bytes to δ.

    Everything is rigorous up to the rounding of doubles, as `theory.sample_sizes` is.

    Parameters
    ----------
    network, model
        N agents each; W, not yet W_γ.
    quantiser
        What is sent. Without levels it gets as many as never overload.
    delta
        δ, in (0, 1).
    uncompressed
        The ladder of W without compression for this δ, if it is known.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), network and model have different numbers of agents, the
        network has more than 2000, or the quantiser has fewer levels than keep it from
        overloading.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.messages import Uniform
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> pair = Network([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> found = compressed_learning(pair, model, Uniform(step=0.5))
    >>> found.quantiser.levels, found.bytes_per_round, found.extra_rounds
    (11, 10.0, 5)
    """
    delta = as_probability("delta", delta)
    levels = message_levels(network, model, quantiser)
    quantiser = with_levels(quantiser, levels)
    mixed = mixed_network(network, quantiser.mixing)
    frame = quantiser.frame(len(model.hypotheses) - 1)
    if frame is not None:
        frame += quantiser.answer
    compressed, easier = None, None
    deviation = mean_deviation = np.full(network.agents, np.inf)
    if quantiser.has_replica:
        moved = exposure(mixed, quantiser).moved * _UP
        deviation, mean_deviation = moved * levels.error, moved * levels.mean_error
    if np.isfinite(deviation).all():
        worst = float(deviation.max())
        compressed = sample_sizes(mixed, shifted(mixed, model, -worst), delta=delta)
        easier = sample_sizes(mixed, shifted(mixed, model, worst), delta=delta)
    speaking = None
    if math.isfinite(levels.reach):
        speaking = speaking_shares(mixed, model, quantiser, levels)
    columns = off_diagonal(network.weights).column
    return CompressedLearning(
        network=mixed,
        quantiser=quantiser,
        deviation=read_only(deviation),
        mean_deviation=read_only(mean_deviation),
        levels=levels,
        heard=read_only(np.bincount(columns, minlength=network.agents).astype(np.int64)),
        frame=frame,
        speaking=speaking,
        uncompressed=uncompressed or sample_sizes(network, model, delta=delta),
        compressed=compressed,
        easier=easier,
        note=_note(quantiser, levels, frame),
    )


def _note(quantiser: Quantiser, levels: MessageLevels, frame: int | None) -> str:
    """Why a number is missing; empty if none is."""
    if isinstance(quantiser, Unacknowledged):
        return "nothing is guaranteed of replicas that get out of step"
    if isinstance(quantiser, Samples):
        return "log-ratios stay bounded where samples are pooled, and learning ends"
    if not quantiser.has_replica:
        return "nothing is guaranteed without a replica"
    if math.isfinite(levels.mean_error) and math.isinf(levels.error):
        return "log-ratios wait by chance, without end: bounds are on means alone"
    if math.isinf(levels.error):
        return "where log-ratios wait, nothing is proved with so much mixing, nor of normal data"
    return "unbounded log-ratios have no code of fixed length" if frame is None else ""


def with_levels(quantiser: Quantiser, levels: MessageLevels) -> Quantiser:
    """The quantiser with levels that never overload: its own, or the least odd number.

    Without a replica, and without a bound on log-ratios, it is returned as it is.

    Raises
    ------
    ValueError
        If it has levels and a replica, and they are too few, or log-ratios have no bound.
    """
    if isinstance(quantiser, Samples) or not quantiser.has_replica:
        return quantiser
    if quantiser.levels is None and levels.least is None:
        return quantiser
    if levels.least is None:
        wanted = "no number of levels where what there is to send has no proved bound"
        raise fail("levels", wanted, quantiser.levels, "leave it out")
    if quantiser.levels is None:
        return replace(quantiser, levels=levels.least | 1)
    if quantiser.levels < levels.least:
        wanted = f"at least {levels.least}, which never overload"
        raise fail("levels", wanted, quantiser.levels, "use more levels, or larger steps")
    return quantiser


def shifted(network: Network, model: FiniteModel, shift: float) -> FiniteModel:
    """The model with every agent's prior log-odds Λ(θ*, θ) higher by ω · `shift`, θ* the best.

    ω is 1 where θ* alone is the first hypothesis, or θ is, and 2 elsewhere.
    """
    best = model.reference_hypotheses(network.stationary_distribution)
    odds = np.zeros(len(model.hypotheses))
    for theta in set(range(odds.size)) - set(best):
        odds[theta] = shift * (1 if theta == 0 or best == (0,) else 2)
    return replace(model, log_priors=model.log_priors - odds)


# The step, the mixing and the levels that take the fewest certified bytes on a given W -----------


MIXINGS = tuple(
    Fraction(part) for part in ("1", "3/4", "1/2", "3/8", "1/4", "3/16", "1/8", "1/16", "1/32")
)
"""Shares of mixing that are tried."""
# Payloads of more bytes are as good as no compression.
_MOST_PAYLOAD = 64
# Candidates by Chernoff's bound that are certified in the end.
_CERTIFIED = 3


@dataclass(frozen=True, eq=False)
class FewestBytes(Shown):
    """The cheapest quantiser that was found, and what it costs.

    Attributes
    ----------
    best
        Its certified rounds and bytes.
    tried
        How many quantisers were bounded; `best` has the fewest certified bytes of the few that
        Chernoff's bound liked most.
    """

    best: CompressedLearning
    tried: int

    @property
    def quantiser(self) -> Uniform:
        """What to send."""
        found = self.best.quantiser
        assert isinstance(found, Uniform)
        return found

    @property
    def certified_bytes(self) -> int:
        """Certified to be enough, on all links together."""
        found = self.best.certified_bytes[1]
        assert found is not None
        return found


@typed
def fewest_bytes(
    network: Network,
    model: FiniteModel,
    *,
    delta: float = 0.05,
    header: int = HEADER,
    mixings: Sequence[float | Fraction] = MIXINGS,
    progress: Callable[[int, int], None] | None = None,
) -> FewestBytes:
    """Search the uniform quantiser with the fewest certified bytes to δ on this network.

    A search: no other quantiser is excluded. What it finds is certified.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), log-ratios have no bound, nothing is proved of any number of
        rounds, or network and model do not fit.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> found = fewest_bytes(Network([["9/10", "1/10"], ["3/5", "2/5"]]), model)
    >>> found.quantiser.levels, found.best.frame, found.quantiser.mixing
    (256, 5, Fraction(1, 1))
    """
    delta = as_probability("delta", delta)
    header = as_integer("header", header, minimum=0)
    candidates: list[tuple[int, Uniform]] = []
    best: int | None = None
    for done, mixing in enumerate(mixings):
        if progress is not None:
            progress(done, len(mixings))
        mixed = mixed_network(network, mixing)
        without = _chernoff(mixed, model, 0.0, delta)
        largest = replica_deviation(mixed).largest
        for payload in range(1, _MOST_PAYLOAD + 1):
            frame = header + payload
            if without is None or (best is not None and frame * without >= best):
                break
            quantiser = _finest(network, model, payload, mixing, header)
            if quantiser is None:
                continue
            rounds = _chernoff(mixed, model, -largest * quantiser.error_bound, delta)
            if rounds is not None:
                candidates.append((frame * rounds, quantiser))
                best = frame * rounds if best is None else min(best, frame * rounds)
    if not candidates:
        wanted = "bounded log-ratios, and a network that is proved to learn"
        raise fail("model", wanted, "none of which any quantiser is certified", "see analyse")
    ladder = sample_sizes(network, model, delta=delta)
    return _certified(network, model, candidates, delta, ladder)


def _certified(
    network: Network,
    model: FiniteModel,
    candidates: list[tuple[int, Uniform]],
    delta: float,
    uncompressed: SampleSizes,
) -> FewestBytes:
    """The best of the most promising few, certified."""
    ranked = sorted(candidates, key=lambda one: one[0])[:_CERTIFIED]
    found = [
        compressed_learning(network, model, quantiser, delta=delta, uncompressed=uncompressed)
        for _, quantiser in ranked
    ]
    best = min(found, key=lambda one: one.certified_bytes[1] or 10**30)
    return FewestBytes(best, len(candidates))


def _finest(
    network: Network, model: FiniteModel, payload: int, mixing: float | Fraction, header: int
) -> Uniform | None:
    """The quantiser of the finest step that fits into so many bytes."""
    numbers = len(model.hypotheses) - 1
    levels = _root(256**payload, numbers)
    if levels < 2:
        return None
    step = finest_step(network, model, levels=levels, mixing=mixing)
    if step is None or step <= 0:
        return None
    return Uniform(step=step, mixing=mixing, levels=levels, header=header)


def _root(value: int, degree: int) -> int:
    """The largest whole number whose power of that degree is at most `value`."""
    low, high = 1, value
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= value:
            low = middle
        else:
            high = middle - 1
    return low


def _chernoff(mixed: Network, model: FiniteModel, shift: float, delta: float) -> int | None:
    """Rounds that Chernoff's bound asks for, with prior log-odds moved by `shift`."""
    sizes = sample_sizes(mixed, shifted(mixed, model, shift), delta=delta, certify=False)
    return sizes.chernoff.rounds
