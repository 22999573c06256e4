"""Agents of a problem file: entries of a table, each for one agent or for some in a row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from peerbayes.explorer.editing.rows import Table
from theory.validation import fail

OWN_KEYS = (
    "count",
    "batch",
    "prior",
    "log_prior",
    "prior_mean",
    "prior_std",
    "prior_variance",
    "prior_covariance",
    "tempering",
)
"""What of an entry belongs to the agent that learns, and not to the data that it sees."""


def table_of(document: Table) -> str:
    """Which table describes the agents: ``model`` or ``regression``."""
    return "regression" if "regression" in document else "model"


def entries_of(document: Table) -> list[Table]:
    """One entry an agent, without its count; agents of one entry share the very same table."""
    listed: list[Table] = []
    for entry in document[table_of(document)]["agents"]:
        one = {key: value for key, value in entry.items() if key != "count"}
        listed += [one] * int(entry.get("count", 1))
    return listed


def with_entries(document: Table, listed: Sequence[Table]) -> Table:
    """The document with these entries, one an agent; equal ones in a row share one."""
    agents: list[Table] = []
    for entry, members in groupby(listed):
        count = len(list(members))
        agents.append(({"count": count} if count > 1 else {}) | entry)
    key = table_of(document)
    return {**document, key: {**document[key], "agents": agents}}


def evidence(entry: Table) -> Table:
    """What an agent sees, of its entry."""
    return {key: value for key, value in entry.items() if key not in OWN_KEYS}


def own(entry: Table) -> Table:
    """What of an entry belongs to the agent itself: prior, batch and tempering."""
    return {key: value for key, value in entry.items() if key in OWN_KEYS}


def seen_by(entry: Table, data: Table) -> Table:
    """The entry of an agent that sees other data and is the same in all else."""
    return own(entry) | evidence(data)


def uninformative(document: Table, entry: Table) -> Table:
    """The entry of an agent whose observations say nothing about the hypotheses.

    Raises
    ------
    ValueError
        In a regression, whose agents must see something.
    """
    if table_of(document) == "regression":
        wanted = "an agent that sees something"
        raise fail("clear-evidence", wanted, "a regression", "give it another agent's data")
    names = document["model"]["hypotheses"]
    if "log_likelihoods" in entry:
        truth = entry.get("true_hypotheses") or names[:1]
        row = entry["log_likelihoods"][names.index(truth[0])]
        return {**entry, "log_likelihoods": [row] * len(names), "true_hypotheses": list(names)}
    if "likelihood_mean" in entry:
        means = truth_of(entry, "likelihood_mean", "truth_mean", names)
        return {**entry, "likelihood_mean": [means] * len(names)}
    table = truth_of(entry, "likelihood", "truth", names)
    return {**entry, "likelihood": [table] * len(names)}


def truth_of(entry: Table, likelihood: str, key: str, names: Sequence[str]) -> Any:
    """The true table, or the row of true means, of an entry that may name a hypothesis instead."""
    named = entry.get("truth")
    if isinstance(named, str) and named in names:
        return entry[likelihood][names.index(named)]
    return entry[key]
