"""What the page says of learning on any network: what it settles on, and when it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerbayes.figures.views import (
    Fact,
)
from peerbayes.figures.wording import count, listed, number, percentage


def settles(problem: Mapping[str, Any]) -> str:
    """What the network settles on, and how much of it did."""
    learning = problem["analysis"]["learning"]
    reference = learning["compromise"] or learning["optimal_hypotheses"]
    if not problem["rates"]:
        return f"Every hypothesis is optimal, {listed(reference)}: there is nothing to reject."
    if learning["compromise"] is None:
        words = f"The network settles on {listed(reference, joint='or')}, best for every agent."
    else:
        words = (
            "No hypothesis is best for every agent (Θ* is empty): the network settles on the "
            f"compromise {listed(reference, joint='or')}, which minimises the v-weighted "
            "divergence."
        )
    settled = problem["settled"]
    share = sum(settled.get(name) or 0.0 for name in reference)
    words += f" At the last round {percentage(share)} of all agents in all runs hold it"
    others = sorted(
        ((value, name) for name, value in settled.items() if name not in reference and value),
        reverse=True,
    )
    if others:
        words += f"; {percentage(others[0][0])} hold “{others[0][1]}”"
    return words + "."


def rounds_that_suffice(samples: Mapping[str, Any]) -> Fact:
    """The smallest number of rounds that is proved to be enough, and what proves it."""
    certified = samples.get("certified")
    proofs = {
        "certified": None if certified is None else certified[1],
        "Chernoff": samples["chernoff"],
        "Hoeffding": samples["repaired"],
    }
    known = {proof: rounds for proof, rounds in proofs.items() if rounds is not None}
    proof = min(known, key=known.__getitem__, default="Chernoff")
    return Fact(
        "Rounds that suffice", count(known.get(proof)), f"{proof}, δ = {number(samples['delta'])}"
    )
