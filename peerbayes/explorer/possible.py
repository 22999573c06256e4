"""Which edits a problem admits, and in one line why not the others."""

from __future__ import annotations

from peerbayes.explorer.documents import Table
from peerbayes.explorer.editing.networks import form_of
from peerbayes.explorer.edits import EDITS

Possible = dict[str, bool | str]

_REGRESSION = {
    "clear-evidence": "every agent of a regression must see something",
    "set-truth": "a regression's truth is its coefficients",
    "rename-hypothesis": "a regression has no hypotheses",
    "set-faults": "a regression has honest agents alone",
    "set-messages": "a regression's beliefs are sent as they are",
    "set-changes": "a regression's network stays as it is",
}


def possible_edits(document: Table) -> Possible:
    """True, or the reason why not, for every kind of edit."""
    found: Possible = dict.fromkeys(EDITS, True)
    network = document["network"]
    form = form_of(network)
    if form == "sequence":
        found["set-rule"] = "the phases have weights of their own"
        found["set-changes"] = "the phases are what changes"
        found["free-weights"] = "the phases have weights of their own already"
    if form in ("weights", "links"):
        found["free-weights"] = "the weights are free already"
    if form not in ("topology", "edges"):
        plain = not (document.get("faults") or document.get("messages") or "changes" in network)
        if plain:
            found["set-parameter"] = "no parameter is left: the weights are free"
    changes = form == "sequence" or "changes" in network
    if changes:
        found["set-faults"] = "agents are faulty on networks that stay as they are"
        found["set-messages"] = "messages are coded on networks that stay as they are"
    if "faults" in document:
        found["set-messages"] = "messages are coded where nobody is faulty"
        found["set-changes"] = "networks change where nobody is faulty"
    if "messages" in document:
        found["set-faults"] = "agents are faulty where messages are not coded"
        found["set-changes"] = "networks change where messages are not coded"
    if "regression" in document:
        found |= _REGRESSION
    elif any("log_likelihoods" in entry for entry in document["model"]["agents"]):
        found["set-truth"] = "the truth of a data set is its own"
    return found


def possible_objectives(document: Table) -> Possible:
    """True, or the reason why not, for every objective of a design."""
    objectives = ("rate", "exponent", "samples", "mixing", "next-edge", "placement")
    found: Possible = dict.fromkeys(objectives, True)
    network = document["network"]
    if "regression" in document:
        for name in ("exponent", "samples", "next-edge"):
            found[name] = "a regression has errors in place of hypotheses"
    elif form_of(network) == "sequence" or "changes" in network:
        for name in ("exponent", "samples", "mixing", "next-edge"):
            found[name] = "of a network that changes the rate alone is designed"
    return found
