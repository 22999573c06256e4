"""Who belongs to a live network, and whom each weighs by how much: a list that may be signed.

A list has an *epoch*: the problem's own network is epoch 0, and of two lists the one of the higher
epoch holds. Agents are numbered by their place in the list. A newcomer is added at its end; an
agent that leaves for good keeps its place, without links, so that numbers never change their
meaning. Weights are rows that are given, or follow from the links by a rule that needs an agent's
own links and its neighbours' degrees only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from theory.validation import FloatArray, as_integer, as_position, fail, read_only

FORMAT = "peerbayes-members"

RULES = ("metropolis", "lazy-metropolis")

_MOST_BYTES = 64 * 2**20

_KEYS = {
    "format", "schema", "network", "epoch", "names", "weights", "keys", "log_priors", "signature",
}  # fmt: skip


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
        if self.rule and self.rule not in RULES:
            raise fail("members.rule", f"one of {', '.join(RULES)}", repr(self.rule), "choose one")
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
            "format": FORMAT,
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
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise fail("members", f'a list with "format": "{FORMAT}"', "something else", "see docs")
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
