"""What a network learns, certified: one front door to all enclosures of a network and a model.

    certify_learning(network, model) → Θ*, I_j, K and what binds it, E and what binds it, C,
    and with δ the ladder of sample sizes.

Every number is an interval that contains the truth for the rationals given; doubles count as the
binary fractions they are. Precision rises by itself until the relative width asked for is met;
where it is not, `notes` says so (docs: mathematics/certified).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from theory.certified.eigenbasis import check_relative_width
from theory.certified.information import (
    Reference,
    certify_exponent,
    certify_rates,
    decide_reference,
)
from theory.certified.ladder import CertifiedLadder, Ladder, certify_sample_sizes
from theory.certified.maximum import Evidence
from theory.certified.network import CertifiedNetwork, certify_network
from theory.numbers import Enclosure
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork
from theory.showing import Shown
from theory.typed import typed


@dataclass(frozen=True, eq=False)
class CertifiedLearning(Shown):
    """K, E and their parts, each number an enclosure of the truth; nats per round.

    Attributes
    ----------
    optimal_hypotheses
        Θ*, decided; empty where no hypothesis is best for every agent; None if undecided.
    reference
        Θ*, or the network compromise where Θ* is empty.
    is_compromise
        Whether Θ* is empty, None if undecided.
    information
        M rows of length K (kinds): I(reference[0], θ), per observation.
    rates
        Length M: Σ_j v_j I_j; exactly zero for the reference.
    rate
        K(Θ); infinite if no hypothesis is wrong.
    binding
        What attains K: one hypothesis, or all that tie or cannot be told apart.
    exponents, tilts, against
        Length M: E_θ (infinite for the reference), the maximising t, and the reference hypothesis
        that θ was compared with.
    exponent
        E(v); a lower bound on the exponent where `reference` has several members.
    binding_for_exponent
        What attains E, as `binding`.
    log_ratio_bound
        C = log(L/α); None where likelihoods have no bound.
    samples
        The ladder, if δ was given.
    notes
        What could not be decided or reached, and why.
    bits
        The highest precision that was needed.
    """

    optimal_hypotheses: tuple[int, ...] | None
    reference: tuple[int, ...]
    is_compromise: bool | None
    information: tuple[tuple[Enclosure, ...], ...]
    rates: tuple[Enclosure, ...]
    rate: Enclosure
    binding: tuple[int, ...]
    exponents: tuple[Enclosure, ...]
    tilts: tuple[Enclosure, ...]
    against: tuple[int, ...]
    exponent: Enclosure
    binding_for_exponent: tuple[int, ...]
    log_ratio_bound: Enclosure | None
    samples: CertifiedLadder | None
    notes: tuple[str, ...]
    bits: int


@typed
def certify_learning(
    network: RationalNetwork,
    model: RationalModel,
    *,
    relative_width: float = 1e-12,
    delta: float | None = None,
    network_certificate: CertifiedNetwork | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CertifiedLearning:
    """Enclose what the network learns, and with `delta` how many rounds it takes.

    Parameters
    ----------
    relative_width
        From 1e-15; of every number that is neither zero nor infinite.
    delta
        In (0, 1): the probability of error for `samples`; None leaves them out.
    network_certificate
        What `certify_network` found, whose D_i and λmax the sample sizes use; found here if None.
    progress
        Called with (wrong hypotheses done, all of them), as exponents are found.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or a number is out of range.

    Examples
    --------
    A fair coin that might be loaded (3/4 heads), tossed by two agents:

    >>> from theory.rational import RationalFiniteAgent
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    ... )
    >>> model = RationalModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> network = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> found = certify_learning(network, model)
    >>> round(found.rate.lower, 12), found.rate.relative_width < 1e-15, found.binding
    (0.143841036226, True, (1,))
    """
    width = check_relative_width(relative_width)
    evidence = Evidence(network, model)
    reference = decide_reference(evidence)
    rates = certify_rates(evidence, reference, relative_width=width)
    exponent = certify_exponent(evidence, reference, relative_width=width, progress=progress)
    samples = None
    if delta is not None:
        certificate = network_certificate or certify_network(network)
        samples = certify_sample_sizes(
            certified_ladder(evidence, reference, certificate),
            delta=delta,
            exponent=exponent.exponent.midpoint,
            second_eigenvalue=certificate.second_eigenvalue,
        )
    bound = model.log_ratio_bound
    return CertifiedLearning(
        optimal_hypotheses=_optimal(reference),
        reference=reference.hypotheses,
        is_compromise=reference.is_compromise,
        information=rates.information,
        rates=rates.rates,
        rate=rates.rate,
        binding=rates.binding,
        exponents=exponent.exponents,
        tilts=exponent.tilts,
        against=exponent.against,
        exponent=exponent.exponent,
        binding_for_exponent=exponent.binding,
        log_ratio_bound=None if bound is None else bound.enclosure(),
        samples=samples,
        notes=(*rates.notes, *exponent.notes),
        bits=max(rates.bits, exponent.bits),
    )


@typed
def certified_ladder(
    evidence: Evidence, reference: Reference, certificate: CertifiedNetwork
) -> Ladder:
    """The bounds behind the sample sizes, with the deviations of a certified network."""
    return Ladder(evidence, reference, deviation=certificate.deviation)


def _optimal(reference: Reference) -> tuple[int, ...] | None:
    if reference.is_compromise is None:
        return None
    return () if reference.is_compromise else reference.hypotheses
