"""Who belongs to a live network, whom each weighs by how much, and what each needs of the problem.

A list of members may be signed. It has an *epoch*: the problem's own network is epoch 0, and of two
lists the one of the higher epoch holds. Agents are numbered by their place in the list. A newcomer
is added at its end; an agent that leaves for good keeps its place, without links, so that numbers
never change their meaning. Weights are rows that are given, or follow from the links by a rule that
needs an agent's own links and its neighbours' degrees only.

An agent's *share* of a problem has all that its process needs, so that it starts quickly: reading a
problem takes a second and a hundred megabytes of packages that a running agent does not need. It is
a JSON file with the list of members and the agent's own law and claims. A problem has the same
shares on every machine (`peerbayes.live.preparing`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from peerbayes.live.transport import encoded
from theory.robustness.faults import RULES, Average, Rule
from theory.validation import FloatArray, as_integer, as_position, fail, read_only

LIST_FORMAT, SHARE_FORMAT = "peerbayes-members", "peerbayes-share"
WEIGHT_RULES = ("metropolis", "lazy-metropolis")
_MOST_BYTES = 64 * 2**20
_KEYS = {
    "format", "schema", "network", "epoch", "names", "weights", "keys", "log_priors", "signature",
}  # fmt: skip
# The number that a robust rule has: its key in a [faults] table, and its type.
_NUMBERS: Mapping[str, tuple[str, type[int | float]]] = {
    "trimmed-mean": ("tolerate", int),
    "clip": ("radius", float),
}


@dataclass(frozen=True)
class Members:
    """The members of a live network.

    Parameters
    ----------
    network
        First 16 hexadecimal digits of the problem's digest.
    epoch
        Number of the list, at least 0.
    names
        The N agents' names, all different.
    rows
        For each agent its row of W: positive weights by the number of the agent weighed; they sum
        to one. None if they follow from `edges` by `rule`.
    edges, rule
        Links, pairs of numbers, and the rule: "metropolis" gives the link of i and j the weight
        1/(1 + max(degree of i, degree of j)) in both directions, and the rest to the agent itself;
        "lazy-metropolis" half of that to links.
    log_priors
        For each agent its log prior over the hypotheses, in nats; empty for nets.
    keys
        Public keys by name, 64 hexadecimal digits; empty without keys.
    signature
        The authority's, over `content`; empty without keys.

    Raises
    ------
    ValueError
        If something does not fit.
    """

    network: str
    epoch: int
    names: tuple[str, ...]
    rows: tuple[Mapping[int, float], ...] | None = None
    edges: tuple[tuple[int, int], ...] = ()
    rule: str = ""
    log_priors: tuple[tuple[float, ...], ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    signature: str = ""

    def __post_init__(self) -> None:
        as_integer("members.epoch", self.epoch, minimum=0)
        if not self.names or len(set(self.names)) != len(self.names) or "" in self.names:
            raise fail("members.names", "different names", list(self.names)[:12], "name each once")
        agents = len(self.names)
        if (self.rows is None) == (self.rule == ""):
            raise fail("members", "rows, or a rule with edges", "both or neither", "keep one")
        if self.rows is not None and len(self.rows) != agents:
            raise fail("members.rows", f"{agents} rows", len(self.rows), "give every agent one")
        for i, row in enumerate(self.rows or ()):
            _check_row(i, row, agents)
        if self.rule and self.rule not in WEIGHT_RULES:
            raise fail(
                "members.rule", f"one of {', '.join(WEIGHT_RULES)}", repr(self.rule), "choose one"
            )
        for pair in self.edges:
            fits = len(pair) == 2 and all(0 <= k < agents for k in pair) and pair[0] != pair[1]
            if not fits:
                wanted = f"pairs of different numbers from 0 to {agents - 1}"
                raise fail("members.edges", wanted, list(pair), "correct it")
        if self.log_priors and len(self.log_priors) != agents:
            got = len(self.log_priors)
            raise fail("members.log_priors", f"{agents} priors", got, "give every agent one")

    @property
    def agents(self) -> int:
        """The number N of agents in the list."""
        return len(self.names)

    def number(self, agent: str | int) -> int:
        """The place of an agent in the list, given by name or by number.

        Raises
        ------
        ValueError
            If there is none.
        """
        if isinstance(agent, str) and agent not in self.names and agent.isascii():
            agent = int(agent) if agent.isdigit() and len(agent) < 10 else agent
        return as_position("agent", agent, self.names)

    def row(self, agent: str | int) -> FloatArray:
        """Shape (N,): the weights that an agent gives to all."""
        i = self.number(agent)
        values = np.zeros(self.agents)
        if self.rows is not None:
            for j, weight in self.rows[i].items():
                values[j] = weight
            return read_only(values)
        share = 0.5 if self.rule == "lazy-metropolis" else 1.0
        for j in self._linked[i]:
            values[j] = share / (1 + max(len(self._linked[i]), len(self._linked[j])))
        values[i] = 1.0 - values.sum()
        return read_only(values)

    def heard(self, agent: str | int) -> tuple[str, ...]:
        """Names of those whom an agent weighs, itself excepted."""
        i = self.number(agent)
        return tuple(self.names[j] for j in self._weighed[i])

    def listeners(self, agent: str | int) -> tuple[str, ...]:
        """Names of those who weigh an agent, itself excepted."""
        i = self.number(agent)
        return tuple(n for j, n in enumerate(self.names) if i in self._weighed[j])

    def lead(self, agent: str | int) -> dict[str, int]:
        """How many rounds those whom an agent weighs can be ahead of it in lock-step.

        A neighbour begins a round when it has heard from all it weighs, hence at most as many
        rounds ahead of an agent as there are steps on which that agent's word reaches it; N where
        it does not.
        """
        i = self.number(agent)
        steps = {i: 0}
        ring = [i]
        while ring:
            ring = [
                k
                for k, weighed in enumerate(self._weighed)
                if k not in steps and any(j in steps for j in weighed)
            ]
            steps.update(dict.fromkeys(ring, max(steps.values()) + 1))
        return {self.names[j]: steps.get(j, self.agents) for j in self._weighed[i]}

    @cached_property
    def _linked(self) -> tuple[frozenset[int], ...]:
        linked: list[set[int]] = [set() for _ in self.names]
        for i, j in self.edges:
            linked[i].add(j)
            linked[j].add(i)
        return tuple(frozenset(one) for one in linked)

    @cached_property
    def _weighed(self) -> tuple[tuple[int, ...], ...]:
        if self.rows is None:
            return tuple(tuple(sorted(one)) for one in self._linked)
        return tuple(tuple(sorted(j for j in row if j != i)) for i, row in enumerate(self.rows))

    def content(self) -> bytes:
        """What is signed: the list without its signature, in its one form."""
        document = self.document()
        del document["signature"]
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()

    def signed(self, signature: str) -> Self:
        """The same list with a signature over `content`."""
        return replace(self, signature=signature)

    def document(self) -> dict[str, Any]:
        """The list as JSON takes it."""
        if self.rows is not None:
            rows = [{str(j): float(w) for j, w in sorted(row.items())} for row in self.rows]
            weights: dict[str, Any] = {"rows": rows}
        else:
            weights = {"rule": self.rule, "edges": [list(pair) for pair in self.edges]}
        return {
            "format": LIST_FORMAT,
            "schema": 1,
            "network": self.network,
            "epoch": self.epoch,
            "names": list(self.names),
            "weights": weights,
            "log_priors": [list(row) for row in self.log_priors],
            "keys": dict(sorted(self.keys.items())),
            "signature": self.signature,
        }

    @classmethod
    def from_document(cls, document: object) -> Self:
        """The list that a document describes.

        Raises
        ------
        ValueError
            If it describes none.
        """
        if not isinstance(document, dict) or document.get("format") != LIST_FORMAT:
            raise fail(
                "members", f'a list with "format": "{LIST_FORMAT}"', "something else", "see docs"
            )
        if document.get("schema") != 1 or document.keys() - _KEYS:
            got = f"schema {document.get('schema')!r}"
            raise fail("members", "schema 1 and its keys", got, "use the same version everywhere")
        try:
            weights = document["weights"]
            rows = weights.get("rows")
            return cls(
                network=str(document["network"]),
                epoch=document["epoch"],
                names=tuple(str(name) for name in document["names"]),
                rows=None
                if rows is None
                else tuple({int(j): float(w) for j, w in row.items()} for row in rows),
                edges=tuple((int(i), int(j)) for i, j in weights.get("edges", ())),
                rule=str(weights.get("rule", "")),
                log_priors=tuple(
                    tuple(float(x) for x in row) for row in document.get("log_priors", ())
                ),
                keys={str(k): str(v) for k, v in document.get("keys", {}).items()},
                signature=str(document.get("signature", "")),
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise fail("members", "a whole list", f"{error!r:.80}", "write it anew") from None

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The list in a file.

        Raises
        ------
        ValueError
            If there is none.
        """
        try:
            with Path(path).open("rb") as file:
                return cls.from_bytes(file.read(_MOST_BYTES + 1))
        except OSError as error:
            reason = error.strerror or "unreadable"
            raise fail(str(path), "a list of members", reason, "give its file") from None

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The list in JSON's bytes.

        Raises
        ------
        ValueError
            If there is none.
        """
        if len(data) > _MOST_BYTES:
            raise fail("members", f"at most {_MOST_BYTES} bytes", len(data), "use another list")
        try:
            return cls.from_document(json.loads(data))
        except (UnicodeDecodeError, RecursionError, json.JSONDecodeError):
            raise fail("members", "JSON", "something else", "use another list") from None


def _check_row(i: int, row: Mapping[int, float], agents: int) -> None:
    values = list(row.values())
    fits = all(0 <= j < agents for j in row) and all(0 < w <= 1 for w in values)
    # As the rows of networks: each entry carries at most half a unit in the last place.
    if not fits or abs(sum(values) - 1) > 1e-12 + agents * 2.3e-16:
        wanted = f"positive weights of agents 0 to {agents - 1} that sum to 1"
        raise fail(f"members.rows[{i}]", wanted, dict(list(row.items())[:6]), "correct it")


@dataclass(frozen=True)
class Share:
    """What one agent needs of a problem.

    Attributes
    ----------
    problem
        The problem's name.
    agent
        The agent's name.
    kind
        "finite" or "net".
    members
        All agents and their weights, by the problem (epoch 0).
    on_loss
        What takes the place of a message that is missing: what a changing network says, or "last".
    rule
        A robust rule's keys in a ``[faults]`` table; empty for the plain average.
    content
        What goes with `kind`. For "finite": `hypotheses`; `law`, with the keys `probabilities`
        (O,), `offsets` (O, M) and for normal labels `slopes` (O, C, M) of log ℓ, from which draws
        are made; `claims`, which turn an observation into log-likelihoods; `batch`, observations a
        round.
    """

    problem: str
    agent: str
    kind: str
    members: Members
    on_loss: str = "last"
    rule: Mapping[str, Any] = field(default_factory=dict)
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def network(self) -> str:
        """First 16 hexadecimal digits of the problem's digest."""
        return self.members.network

    def document(self) -> dict[str, Any]:
        """The share as JSON takes it."""
        members = self.members.document()
        return {"format": SHARE_FORMAT, "schema": 1, **vars(self), "members": members}

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The share in a file.

        Raises
        ------
        ValueError
            If there is none.
        """
        try:
            document = json.loads(Path(path).read_bytes())
        except OSError as error:
            reason = error.strerror or "unreadable"
            raise fail(str(path), "an agent's share", reason, "give its file") from None
        except ValueError:
            raise fail(str(path), "an agent's share", "no JSON", "make it anew") from None
        if not is_share(document):
            raise fail(str(path), "an agent's share", "something else", "make it anew")
        said = {key: value for key, value in document.items() if key not in ("format", "schema")}
        return cls(**said | {"members": Members.from_document(said["members"])})

    def write(self, path: Path) -> None:
        """Write the share to a file, whole or not at all."""
        from exact.whole_files import replacing

        with replacing(path) as file:
            file.write(json.dumps(self.document()).encode())


def is_share(document: object) -> bool:
    """Whether a JSON document is a share of this schema."""
    known = isinstance(document, dict) and document.get("format") == SHARE_FORMAT
    return known and document["schema"] == 1  # type: ignore[index]


def state_folder(out: Path, network: str) -> Path:
    """Where the agents of a network keep their states, below the folder for records.

    >>> state_folder(Path("out"), "0123456789abcdef").as_posix()
    'out/live-0123456789abcdef'
    """
    return out / f"live-{network}"


def own_file(folder: Path, agent: str, kind: str) -> Path:
    """One of an agent's files, such as its ``state``.

    >>> own_file(Path("live"), "../mast", "state").as_posix()
    'live/%2E%2E%2Fmast.state'
    """
    return folder / f"{encoded(agent).replace('.', '%2E')}.{kind}"


# Robust rules -----------------------------------------------------------------------------------


def robust_keys(text: str | None) -> dict[str, Any] | None:
    """A robust rule as keys of a ``[faults]`` table; None if none is named.

    Raises
    ------
    ValueError
        If there is none of that name, or its number is missing.

    Examples
    --------
    >>> robust_keys("trimmed-mean:2"), robust_keys("median")
    ({'rule': 'trimmed-mean', 'tolerate': 2}, {'rule': 'median'})
    """
    if text is None:
        return None
    name, _, number = text.partition(":")
    key, kind = _NUMBERS.get(name, ("", int))
    try:
        if key:
            return {"rule": name, key: kind(number)}
    except ValueError:
        name = ""
    if name not in RULES or number:
        wanted = "average, median, trimmed-mean:F or clip:R"
        raise fail("--robust", wanted, repr(text[:60]), "name a rule, with its number")
    return {"rule": name}


def robust_rule(keys: Mapping[str, Any]) -> Rule | None:
    """The rule that the keys of a ``[faults]`` table name; None for the plain average.

    Raises
    ------
    ValueError
        If there is none, or its number does not fit.
    """
    name = keys.get("rule", "average")
    if name not in RULES:
        wanted = "average, median, trimmed-mean or clip"
        raise fail("robust", wanted, repr(name), "choose a rule")
    numbers = {key: value for key, value in keys.items() if key != "rule"}
    return None if name == "average" else RULES[name](**numbers)


def rule_keys(rule: Rule) -> dict[str, Any]:
    """A robust rule as keys of a ``[faults]`` table; empty for the plain average."""
    if isinstance(rule, Average):
        return {}
    return {"rule": {kind: name for name, kind in RULES.items()}[type(rule)], **asdict(rule)}
