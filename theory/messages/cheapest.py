"""The step, the mixing and the levels that take the fewest certified bytes on a given W.

For a given length of message and mixing one step is best: the finest that its levels hold
(`theory.messages.levels.finest_step`), since coarser ones take more rounds for the same bytes. What
is left is a search over lengths, one byte after the other, and over mixings on a grid. A length is
not tried where even without compression its bytes exceed the best so far.
(docs: mathematics/compressed-beliefs)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from theory.bounds import SampleSizes, sample_sizes
from theory.learning.model import FiniteModel
from theory.messages.cells import HEADER
from theory.messages.compressed import CompressedLearning, compressed_learning, shifted
from theory.messages.deviation import replica_deviation
from theory.messages.levels import finest_step
from theory.messages.mixing import mixed_network
from theory.messages.quantiser import Uniform
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_integer, as_probability, fail

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
