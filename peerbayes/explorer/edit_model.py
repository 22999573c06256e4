"""Edits of what agents see and of whole tables: evidence, truths, priors, faults, messages, names.

An edit is a function of a document, decorated by `edit`. Its name is the kind that a table of an
edit names, its other parameters are the keys of that table, checked like those of a problem file.
It makes the document after the edit of the one before, which it leaves alone, and raises a
ValueError of one line if it cannot be meant; a problem that the file refuses is refused when it is
read (`peerbayes.explorer.edits.edited`). Edits of the network are in `peerbayes.explorer.edits`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field, create_model

from peerbayes.explorer.tables import (
    OWN_KEYS,
    Table,
    as_agent,
    as_number,
    as_share,
    entries_of,
    evidence,
    form_of,
    is_exact,
    left_out,
    table_of,
    with_entries,
    written,
)
from peerbayes.messages import choose, describe, nearest, shorten
from peerbayes.problem.changes_section import CHANGES
from peerbayes.problem.entries import Rational, Section
from peerbayes.problem.exchange_sections import FAULTS
from peerbayes.problem.specification import DesignSection
from theory.validation import fail

F = TypeVar("F", bound=Callable[..., Table])
Text = Annotated[str, Field(min_length=1)]
_SPREADS = ("prior_std", "prior_variance", "prior_covariance")


class _OpenSection(Section):
    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True)
class Edit:
    """A kind of edit: the keys of its table, and what it does to a document."""

    keys: type[Section]
    apply: Callable[..., Table]


KINDS: dict[str, Edit] = {}
"""Every edit by its kind."""


def edit(function: F) -> F:
    """Make a function an edit; ``**given`` takes keys of a table of the file, which judges them."""
    _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
    kind = function.__name__.replace("_", "-")
    named = {p.name: p for p in parameters if p.kind is not p.VAR_KEYWORD}
    keys: dict[str, Any] = {
        name: (p.annotation, ... if p.default is p.empty else p.default)
        for name, p in named.items()
    }
    base = Section if len(named) == len(parameters) else _OpenSection
    KINDS[kind] = Edit(create_model(kind, __base__=base, **keys), function)
    return function


# What agents see ----------------------------------------------------------------------------------


def _seen_by(entry: Table, data: Table) -> Table:
    """The entry of an agent that sees other data and is the same in all else."""
    return {key: value for key, value in entry.items() if key in OWN_KEYS} | evidence(data)


def uninformative(document: Table, entry: Table) -> Table:
    """The entry of an agent whose observations say nothing about the hypotheses.

    Raises
    ------
    ValueError
        In a regression, whose agents must see something.
    """
    names = _hypotheses(document, "clear-evidence", "an agent that sees something", _GIVE)
    if "log_likelihoods" in entry:
        truth = entry.get("true_hypotheses") or names[:1]
        row = entry["log_likelihoods"][names.index(truth[0])]
        return {**entry, "log_likelihoods": [row] * len(names), "true_hypotheses": list(names)}
    if "likelihood_mean" in entry:
        means = _truth_of(entry, "likelihood_mean", "truth_mean", names)
        return {**entry, "likelihood_mean": [means] * len(names)}
    table = _truth_of(entry, "likelihood", "truth", names)
    return {**entry, "likelihood": [table] * len(names)}


_GIVE = "give it another agent's data"


def _truth_of(entry: Table, likelihood: str, key: str, names: Sequence[str]) -> Any:
    """The true table, or the row of true means, of an entry that may name a hypothesis instead."""
    named = entry.get("truth")
    if isinstance(named, str) and named in names:
        return entry[likelihood][names.index(named)]
    return entry[key]


def _hypotheses(document: Table, argument: str, wanted: str, remedy: str) -> list[str]:
    """The hypotheses by name; a regression, which has none, is refused in these words."""
    if table_of(document) == "regression":
        raise fail(argument, wanted, "a regression", remedy)
    return list(document["model"]["hypotheses"])


def _each(document: Table, agent: int | None, change: Callable[[Table], Table]) -> Table:
    """The document with the entry of one agent changed, or with those of all."""
    if agent is None:
        key = table_of(document)
        agents = [
            {k: v for k, v in entry.items() if k == "count"} | change(left_out(entry, "count"))
            for entry in document[key]["agents"]
        ]
        return {**document, key: {**document[key], "agents": agents}}
    listed = entries_of(document)
    number = as_agent("agent", agent, len(listed))
    listed[number] = change(listed[number])
    return with_entries(document, listed)


# Evidence, truths and priors --------------------------------------------------------------------


@edit
def set_evidence(document: Table, agent: int, of: int) -> Table:
    """An agent sees what another one sees; its prior and its batch stay its own."""
    listed = entries_of(document)
    as_agent("agent", agent, len(listed))
    data = listed[as_agent("of", of, len(listed))]
    return _each(document, agent, lambda entry: _seen_by(entry, data))


@edit
def swap_evidence(document: Table, a: int, b: int) -> Table:
    """Two agents see what the other one saw."""
    listed = entries_of(document)
    as_agent("a", a, len(listed))
    as_agent("b", b, len(listed))
    listed[a], listed[b] = _seen_by(listed[a], listed[b]), _seen_by(listed[b], listed[a])
    return with_entries(document, listed)


@edit
def clear_evidence(document: Table, agent: int) -> Table:
    """What an agent sees says nothing about the hypotheses from now on."""
    return _each(document, agent, lambda entry: uninformative(document, entry))


@edit
def set_batch(document: Table, value: int, agent: int | None = None) -> Table:
    """How many observations an agent, or every agent, draws a round."""
    learning = document.get("learning", {})
    if agent is None:
        bare = [left_out(entry, "batch") for entry in entries_of(document)]
        rest = with_entries(left_out(document, "learning"), bare)
        return rest if value == 1 else {**rest, "learning": {"batch": value}}
    shared = learning.get("batch")
    if isinstance(shared, list):
        as_agent("agent", agent, len(entries_of(document)))
        batch = [*shared[:agent], value, *shared[agent + 1 :]]
        return {**document, "learning": {**learning, "batch": batch}}
    own = {} if value == (shared or 1) else {"batch": value}
    return _each(document, agent, lambda entry: left_out(entry, "batch") | own)


@edit
def set_truth(
    document: Table,
    agent: int | None = None,
    of: str | int | None = None,
    mixture: dict[str, Any] | None = None,
) -> Table:
    """Which hypothesis is true for an agent, or for all; or a mixture, so that none is.

    A hypothesis goes by name or number; shares of a mixture, by name, sum to 1.
    """
    names = _hypotheses(document, "set-truth", "hypotheses", "its truth is regression.theta")
    if (of is None) == (mixture is None):
        got = "neither" if of is None else "both"
        raise fail("set-truth", "one of of, mixture", got, "name a hypothesis, or give shares")
    if mixture is not None:
        shares = _mixture_of(names, mixture)
        return _each(document, agent, lambda entry: _mixed(entry, names, shares))
    true = hypothesis_name("of", of, names)

    def named(entry: Table) -> Table:
        if "log_likelihoods" in entry:
            wanted = "agents with tables or means of likelihoods"
            remedy = "its outcomes come from data, whose truth is their own"
            raise fail("set-truth", wanted, "outcomes of a data set", remedy)
        return {**left_out(entry, "truth", "truth_mean", "truth_std"), "truth": true}

    return _each(document, agent, named)


@edit
def set_prior(document: Table, agent: int | None = None, prior: Any = None) -> Table:
    """What an agent, or every agent, believes before it sees anything.

    One number a hypothesis, or numbers by name; left out: uniform.
    """
    if table_of(document) == "regression":
        return _set_normal_prior(document, agent, prior)
    names = document["model"]["hypotheses"]
    if isinstance(prior, Mapping):
        for name in prior:
            hypothesis_name("prior", name, names)
        prior = [prior.get(name, 0) for name in names]
    new = {} if prior is None else {"prior": prior}
    return _each(document, agent, lambda entry: left_out(entry, "prior", "log_prior") | new)


def _set_normal_prior(document: Table, agent: int | None, prior: Any) -> Table:
    known = ("prior_mean", *_SPREADS)
    if not isinstance(prior, Mapping) or not set(prior) <= set(known):
        wanted = f"a table with some of {', '.join(known)}"
        raise fail("prior", wanted, describe(prior), "write it like [regression]")
    given = dict(prior)
    replaced = [*given, *(_SPREADS if set(given) & set(_SPREADS) else ())]
    if agent is not None:
        return _each(document, agent, lambda entry: left_out(entry, *replaced) | given)
    document = with_entries(document, [left_out(e, *given) for e in entries_of(document)])
    return {**document, "regression": left_out(document["regression"], *replaced) | given}


@edit
def rename_hypothesis(document: Table, of: str | int, name: Text) -> Table:
    """Another name of a hypothesis, wherever it is named."""
    names = _hypotheses(document, "of", "hypotheses", "choose another kind of problem")
    before = hypothesis_name("of", of, names)

    def renamed(table: Table, *keys: str) -> Table:
        def new(value: Any) -> Any:
            if isinstance(value, list):
                return [name if entry == before else entry for entry in value]
            return name if value == before else value

        return table | {key: new(table[key]) for key in keys if key in table}

    model = renamed(document["model"], "hypotheses")
    model["agents"] = [renamed(entry, "truth", "true_hypotheses") for entry in model["agents"]]
    changed = {**document, "model": model}
    if "agents" in document.get("faults", {}):
        faults = document["faults"]
        told = [renamed(one, "hypothesis", "first", "second") for one in faults["agents"]]
        changed["faults"] = {**faults, "agents": told}
    return changed


def hypothesis_name(argument: str, value: object, names: Sequence[str]) -> str:
    """A hypothesis by name or number.

    Raises
    ------
    ValueError
        If there is no such hypothesis.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return names[value]
    if isinstance(value, str) and value in names:
        return value
    guess = nearest(value, names) if isinstance(value, str) else None
    wanted = f"a hypothesis ({shorten(', '.join(names), length=100)})"
    remedy = f"did you mean {describe(guess)}?" if guess else "name a hypothesis"
    raise fail(argument, wanted, describe(value), remedy)


def _mixture_of(names: Sequence[str], mixture: Mapping[str, Any]) -> dict[int, Rational]:
    """The shares of a mixture by number of hypothesis, those of 0 left out; they sum to 1."""
    shares: dict[int, Rational] = {}
    for name, value in mixture.items():
        place = names.index(hypothesis_name("mixture", name, names))
        share = as_share(f"mixture.{name}", value)
        if share > 0:
            shares[place] = share
    total = sum(float(share) for share in shares.values())
    if abs(total - 1) > 1e-9:
        remedy = "make them sum to 1"
        raise fail("mixture", "shares that sum to 1", f"a sum of {total:.12g}", remedy)
    if not is_exact(shares.values()):
        return {place: float(share) / total for place, share in shares.items()}
    return shares


def _mixed(entry: Table, names: Sequence[str], shares: Mapping[int, Any]) -> Table:
    """The entry of an agent whose labels come from a mixture of the hypotheses' likelihoods."""
    if "likelihood" not in entry:
        wanted = "agents with tables of likelihoods"
        got = "normal likelihoods" if "likelihood_mean" in entry else "outcomes of a data set"
        raise fail("mixture", wanted, got, "name one hypothesis")
    tables = entry["likelihood"]
    shape = _truth_of(entry, "likelihood", "truth", names)

    def mean(x: int, y: int) -> Any:
        """Σ share · probability, exact if all of it is."""
        shared = (share * as_number("likelihood", tables[m][x][y]) for m, share in shares.items())
        return sum(shared, Fraction(0))

    mixture = [[mean(x, y) for y in range(len(row))] for x, row in enumerate(shape)]
    # Doubles over their sum, as the file writes them.
    totals = [1 if is_exact(row) else sum(map(float, row)) for row in mixture]
    rows = zip(mixture, totals, strict=True)
    return {**entry, "truth": [[written(value / total) for value in row] for row, total in rows]}


# Whole tables -----------------------------------------------------------------------------------

_LONG_NAMES = {"random-links": "links", "random-presence": "presence", "delayed": "delays"}
_START_CHANGES: dict[str, Table] = {
    "links": {"up": "9/10"},
    "presence": {"present": "9/10"},
    "delays": {"delay": 1},
    "rotation": {"group_size": 1},
}


def _with_table(document: Table, key: str, table: Table) -> Table:
    """The document with another table of this name, or without it where it is empty."""
    return left_out(document, key) | ({key: table} if table else {})


@edit
def set_changes(document: Table, change: str = "none", **given: Any) -> Table:
    """What happens to the network: the table [network.changes]."""
    network = left_out(document["network"], "changes")
    if form_of(network) == "sequence":
        wanted = "a network of one graph"
        raise fail("kind", wanted, "a sequence of phases", "its phases are what changes")
    if change == "none":
        return {**document, "network": network}
    kind = _LONG_NAMES.get(change, change)
    choose("kind", kind, ["none", *CHANGES, *_LONG_NAMES])
    table = {"kind": kind, **_START_CHANGES.get(kind, {}), **given}
    if "delays" in table:
        table.pop("delay", None)
    return {**document, "network": {**network, "changes": table}}


@edit
def set_faults(
    document: Table,
    faulty: Sequence[int] = (),
    behaviour: str | None = None,
    rule: str | None = None,
    count: int | None = None,
    **given: Any,
) -> Table:
    """Who is faulty and how the others pool: the table [faults]."""
    of_table = ("tolerate", "radius", "pool_every", "beyond_tolerance", "agents")
    table: Table = {} if rule in (None, "average") else {"rule": rule}
    table |= {key: given.pop(key) for key in of_table if key in given}
    if rule == "trimmed-mean":
        table.setdefault("tolerate", len(faulty) if count is None else count)
    if rule == "clip":
        table.setdefault("radius", "1")
    if faulty and "agents" not in table:
        names = document.get("model", {}).get("hypotheses", ["", ""])
        behaviour = choose("behaviour", behaviour or "push", FAULTS)
        start = _start_of_fault(behaviour, names)
        table["agents"] = [{"agents": faulty, "behaviour": behaviour, **start, **given}]
    return _with_table(document, "faults", table)


def _start_of_fault(behaviour: str, names: Sequence[str]) -> Table:
    """What a fault does unless more is said: it speaks for the last hypothesis."""
    last, others = names[-1], len(names) - 1
    starts: dict[str, Table] = {
        "push": {"hypothesis": last, "strength": "1"},
        "split": {"first": names[0], "second": last, "strength": "1"},
        "colluding": {"hypothesis": last},
        "random-lies": {"scale": "1"},
        "stuck-data": {"outcome": 0},
        "constant-belief": {"belief": [*[f"1/{10 * others}"] * others, "9/10"]},
    }
    return starts.get(behaviour, {})


@edit
def set_messages(document: Table, **given: Any) -> Table:
    """What agents send: the table [messages]; no key at all for beliefs as they are."""
    return _with_table(document, "messages", given)


@edit
def set_design(document: Table, key: str, value: Any = None) -> Table:
    """A key of the table [design]; null leaves it out."""
    choose("key", key, DesignSection.model_fields)
    new = {} if value is None else {key: value}
    return _with_table(document, "design", left_out(document.get("design", {}), key) | new)


@edit
def set_name(document: Table, name: str | None = None, title: str | None = None) -> Table:
    """The short name of the problem, and one line about it."""
    given = {"name": name, "title": title}
    new = document | {key: value for key, value in given.items() if value is not None}
    return new if new.get("title") else left_out(new, "title")
