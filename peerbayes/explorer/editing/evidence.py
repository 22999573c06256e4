"""Edits of what agents see: whose data, how many of them, which truth, which prior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from pydantic import Field

from peerbayes.explorer.editing.edit import Edit
from peerbayes.explorer.editing.entries import (
    entries_of,
    seen_by,
    table_of,
    truth_of,
    uninformative,
    with_entries,
)
from peerbayes.explorer.editing.networks import as_agent
from peerbayes.explorer.editing.rows import Table, as_number, as_share, is_exact, written
from peerbayes.messages import describe, nearest, shorten
from peerbayes.problem.entries import Rational
from theory.validation import fail

_TRUTHS = ("truth", "truth_mean", "truth_std")
_PRIORS = ("prior_mean", "prior_std", "prior_variance", "prior_covariance")


class SetEvidence(Edit):
    """An agent sees what another one sees; its prior and its batch stay its own."""

    kind: ClassVar[str] = "set-evidence"
    agent: int
    of: int

    def apply(self, document: Table) -> Table:
        listed = entries_of(document)
        agent = as_agent("agent", self.agent, len(listed))
        data = listed[as_agent("of", self.of, len(listed))]
        listed[agent] = seen_by(listed[agent], data)
        return with_entries(document, listed)


class SwapEvidence(Edit):
    """Two agents see what the other one saw."""

    kind: ClassVar[str] = "swap-evidence"
    a: int
    b: int

    def apply(self, document: Table) -> Table:
        listed = entries_of(document)
        a, b = (as_agent(key, getattr(self, key), len(listed)) for key in ("a", "b"))
        listed[a], listed[b] = seen_by(listed[a], listed[b]), seen_by(listed[b], listed[a])
        return with_entries(document, listed)


class ClearEvidence(Edit):
    """What an agent sees says nothing about the hypotheses from now on."""

    kind: ClassVar[str] = "clear-evidence"
    agent: int

    def apply(self, document: Table) -> Table:
        return _each(document, self.agent, lambda entry: uninformative(document, entry))


class SetBatch(Edit):
    """How many observations an agent, or every agent, draws a round."""

    kind: ClassVar[str] = "set-batch"
    agent: int | None = None
    value: int

    def apply(self, document: Table) -> Table:
        learning = document.get("learning", {})
        if self.agent is None:
            rest = {key: value for key, value in document.items() if key != "learning"}
            bare = [{k: v for k, v in e.items() if k != "batch"} for e in entries_of(document)]
            rest = with_entries(rest, bare)
            return rest if self.value == 1 else {**rest, "learning": {"batch": self.value}}
        listed = entries_of(document)
        agent = as_agent("agent", self.agent, len(listed))
        shared = learning.get("batch")
        if isinstance(shared, list):
            batch = [*shared[:agent], self.value, *shared[agent + 1 :]]
            return {**document, "learning": {**learning, "batch": batch}}
        listed[agent] = {**listed[agent], "batch": self.value}
        if self.value == (shared or 1):
            listed[agent] = {key: v for key, v in listed[agent].items() if key != "batch"}
        return with_entries(document, listed)


class SetTruth(Edit):
    """Which hypothesis is true for an agent, or for all; or a mixture, so that none is."""

    kind: ClassVar[str] = "set-truth"
    agent: int | None = None
    of: str | int | None = Field(default=None, description="The hypothesis, by name or number.")
    mixture: dict[str, Any] | None = Field(
        default=None, description="Shares of hypotheses, by name; they sum to 1."
    )

    def apply(self, document: Table) -> Table:
        if table_of(document) == "regression":
            wanted = "hypotheses"
            raise fail("set-truth", wanted, "a regression", "its truth is regression.theta")
        names = document["model"]["hypotheses"]
        if (self.of is None) == (self.mixture is None):
            got = "neither" if self.of is None else "both"
            raise fail("set-truth", "one of of, mixture", got, "name a hypothesis, or give shares")
        if self.mixture is not None:
            shares = mixture_of(names, self.mixture)
            return _each(document, self.agent, lambda entry: mixed(entry, names, shares))
        true = hypothesis_name("of", self.of, names)
        return _each(document, self.agent, lambda entry: _named(entry, true))


class SetPrior(Edit):
    """What an agent, or every agent, believes before it sees anything."""

    kind: ClassVar[str] = "set-prior"
    agent: int | None = None
    prior: Any = Field(
        default=None, description="One number a hypothesis, or by name; left out: uniform."
    )

    def apply(self, document: Table) -> Table:
        if table_of(document) == "regression":
            return self._normal(document)
        names = document["model"]["hypotheses"]
        prior = self.prior
        if isinstance(prior, Mapping):
            for name in prior:
                hypothesis_name("prior", name, names)
            prior = [prior.get(name, 0) for name in names]

        def change(entry: Table) -> Table:
            rest = {k: v for k, v in entry.items() if k not in ("prior", "log_prior")}
            return rest if prior is None else {**rest, "prior": prior}

        return _each(document, self.agent, change)

    def _normal(self, document: Table) -> Table:
        if not isinstance(self.prior, Mapping) or not set(self.prior) <= set(_PRIORS):
            wanted = f"a table with some of {', '.join(_PRIORS)}"
            raise fail("prior", wanted, describe(self.prior), "write it like [regression]")
        given = dict(self.prior)
        forms = _PRIORS[1:]

        def change(entry: Table) -> Table:
            replaced = set(given) | (set(forms) if set(given) & set(forms) else set())
            return {k: v for k, v in entry.items() if k not in replaced} | given

        if self.agent is not None:
            return _each(document, self.agent, change)
        bare = [{k: v for k, v in e.items() if k not in given} for e in entries_of(document)]
        document = with_entries(document, bare)
        return {**document, "regression": change(document["regression"])}


class RenameHypothesis(Edit):
    """Another name of a hypothesis, wherever it is named."""

    kind: ClassVar[str] = "rename-hypothesis"
    of: str | int
    name: str = Field(min_length=1)

    def apply(self, document: Table) -> Table:
        if table_of(document) == "regression":
            raise fail("of", "hypotheses", "a regression", "choose another kind of problem")
        names = document["model"]["hypotheses"]
        before = hypothesis_name("of", self.of, names)

        def new(name: Any) -> Any:
            return self.name if name == before else name

        listed = []
        for entry in document["model"]["agents"]:
            entry = dict(entry)
            if "truth" in entry:
                entry["truth"] = new(entry["truth"])
            if "true_hypotheses" in entry:
                entry["true_hypotheses"] = [new(name) for name in entry["true_hypotheses"]]
            listed.append(entry)
        model = {**document["model"], "hypotheses": [new(n) for n in names], "agents": listed}
        changed = {**document, "model": model}
        if "faults" in document and "agents" in document["faults"]:
            faults = [
                {k: new(v) if k in ("hypothesis", "first", "second") else v for k, v in e.items()}
                for e in document["faults"]["agents"]
            ]
            changed["faults"] = {**document["faults"], "agents": faults}
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


def mixture_of(names: Sequence[str], mixture: Mapping[str, Any]) -> dict[int, Rational]:
    """The shares of a mixture by number of hypothesis, those of 0 left out.

    Raises
    ------
    ValueError
        If a hypothesis is unknown, a share is none, or they do not sum to 1.
    """
    found: dict[int, Rational] = {}
    for name, value in mixture.items():
        place = names.index(hypothesis_name("mixture", name, names))
        share = as_share(f"mixture.{name}", value)
        if share > 0:
            found[place] = share
    total = sum(float(share) for share in found.values())
    if abs(total - 1) > 1e-9:
        remedy = "make them sum to 1"
        raise fail("mixture", "shares that sum to 1", f"a sum of {total:.12g}", remedy)
    if not is_exact(found.values()):
        return {place: float(share) / total for place, share in found.items()}
    return found


def mixed(entry: Table, names: Sequence[str], shares: Mapping[int, Any]) -> Table:
    """The entry of an agent whose labels come from a mixture of the hypotheses' likelihoods.

    Raises
    ------
    ValueError
        If its likelihoods are no tables.
    """
    if "likelihood" not in entry:
        wanted = "agents with tables of likelihoods"
        got = "normal likelihoods" if "likelihood_mean" in entry else "outcomes of a data set"
        raise fail("mixture", wanted, got, "name one hypothesis")
    tables = entry["likelihood"]
    shape = truth_of(entry, "likelihood", "truth", names)
    mixture = [
        [_mean([(share, tables[m][x][y]) for m, share in shares.items()]) for y in range(len(row))]
        for x, row in enumerate(shape)
    ]
    return {**entry, "truth": [_stochastic(row) for row in mixture]}


def _mean(parts: Sequence[tuple[Any, Any]]) -> Any:
    """Σ share · probability, exact if all of it is."""
    numbers = [(share, as_number("likelihood", value)) for share, value in parts]
    if all(is_exact(pair) for pair in numbers):
        return sum((a * b for a, b in numbers), Fraction(0))
    return sum(float(a) * float(b) for a, b in numbers)


def _stochastic(row: Sequence[Any]) -> list[Any]:
    """The row as the file writes it; doubles over their sum."""
    if is_exact(row):
        return [written(value) for value in row]
    total = sum(map(float, row))
    return [float(value) / total for value in row]


def _named(entry: Table, truth: str) -> Table:
    """The entry of an agent for whom the hypothesis is true."""
    if "log_likelihoods" in entry:
        wanted = "agents with tables or means of likelihoods"
        remedy = "its outcomes come from data, whose truth is their own"
        raise fail("set-truth", wanted, "outcomes of a data set", remedy)
    rest = {key: value for key, value in entry.items() if key not in _TRUTHS}
    return {**rest, "truth": truth}


def _each(document: Table, agent: int | None, change: Callable[[Table], Table]) -> Table:
    """The document with the entry of one agent changed, or with those of all."""
    if agent is None:
        key = table_of(document)
        agents = [
            ({"count": e["count"]} if "count" in e else {})
            | change({k: v for k, v in e.items() if k != "count"})
            for e in document[key]["agents"]
        ]
        return {**document, key: {**document[key], "agents": agents}}
    listed = entries_of(document)
    number = as_agent("agent", agent, len(listed))
    listed[number] = change(listed[number])
    return with_entries(document, listed)
