"""What the page says of learning on any network: what it settles on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerbayes.figures.wording import listed, percentage
from peerbayes.quantities.learning import reference_of


def settles(learning: Any, settled: Mapping[str, float]) -> str:
    """What the network settles on, and how much of it did: `settled` is the share of each."""
    reference = reference_of(learning)
    if not learning.rates:
        return f"Every hypothesis is optimal, {listed(reference)}: there is nothing to reject."
    if learning.compromise is None:
        words = f"The network settles on {listed(reference, joint='or')}, best for every agent."
    else:
        words = (
            "No hypothesis is best for every agent (Θ* is empty): the network settles on the "
            f"compromise {listed(reference, joint='or')}, which minimises the v-weighted "
            "divergence."
        )
    share = sum(settled.get(name, 0.0) for name in reference)
    words += f" At the last round {percentage(share)} of all agents in all runs hold it"
    others = sorted(
        ((value, name) for name, value in settled.items() if name not in reference and value),
        reverse=True,
    )
    if others:
        words += f"; {percentage(others[0][0])} hold “{others[0][1]}”"
    return words + "."
