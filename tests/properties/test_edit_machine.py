"""Edits of a problem in the explorer, and the edits that take them back: the same problem again.

Undo itself goes back to an earlier document (peerbayes/explorer/page/js/state.js). Here each edit
is undone by another edit, which knows nothing of what there was before.
"""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from peerbayes.explorer.documents import problem_of
from peerbayes.explorer.edits import edited
from tests.peerbayes.explore.starts import BLIND, COIN, Table, finite
from tests.properties.support import often
from theory.network.structure import as_dense

AGENTS = 4
EXACT = [
    ["1/2", "1/4", "1/4", "0"],
    ["1/3", "1/3", "0", "1/3"],
    ["0", "1/5", "3/5", "1/5"],
    ["1/8", "0", "3/8", "1/2"],
]
agents = st.integers(0, AGENTS - 1)
shares = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)
words = st.text("abcxyz", min_size=1, max_size=4)


class Edits(RuleBasedStateMachine):
    """A document, the edits that made it, and for each the document before and its inverse."""

    @initialize(
        network=st.sampled_from(
            [
                {"weights": EXACT},
                {"topology": "ring", "agents": AGENTS, "rule": "metropolis"},
                {"edges": [[0, 1], [1, 2], [2, 3], [3, 0]], "agents": AGENTS},
            ]
        ),
        batch=st.lists(st.integers(1, 3), min_size=AGENTS, max_size=AGENTS),
    )
    def begin(self, network: Table, batch: list[int]) -> None:
        kinds = [COIN, {"count": 2, **BLIND}, COIN]
        self.document = edited(finite(network, kinds, learning={"batch": batch}), [])
        self.done: list[tuple[Table, Table, Table]] = []
        self.undone: list[Table] = []

    def does(self, edit: Table, inverse: Table) -> None:
        before, text = self.document, json.dumps(self.document)
        # Refused: a name that is taken, a network that falls apart.
        with suppress(ValueError):
            self.document = edited(before, [edit])
            self.done.append((before, edit, inverse))
            self.undone = []
        assert json.dumps(before) == text  # what was there is there to be undone

    def row(self, agent: int) -> list[Fraction]:
        weights = as_dense(problem_of(self.document).network.weights)
        return [Fraction(float(w)).limit_denominator(10**9) for w in weights[agent]]

    @rule(listener=agents, speaker=agents, share=shares)
    def sets_a_weight(self, listener: int, speaker: int, share: Fraction) -> None:
        """The old weight again; the others of the row keep their proportions throughout."""
        old = self.row(listener)[speaker]
        if not 0 < old < 1 or "weights" not in self.document["network"]:
            return
        kind = {"kind": "set-weight", "from": listener, "to": speaker}
        self.does({**kind, "value": str(share)}, {**kind, "value": str(old)})

    @rule(listener=agents, speaker=agents)
    def draws_a_link(self, listener: int, speaker: int) -> None:
        link = {"from": listener, "to": speaker, "both": False}
        if listener != speaker and not self.row(listener)[speaker]:
            link["both"] = "weights" not in self.document["network"]
            if not link["both"] or not self.row(speaker)[listener]:
                self.does({"kind": "add-link", **link}, {"kind": "remove-link", **link})

    @rule(agent=agents, name=words)
    def renames_an_agent(self, agent: int, name: str) -> None:
        old = names_of(self.document)[agent]
        kind = {"kind": "rename-agent", "agent": agent}
        self.does({**kind, "name": name}, {**kind, "name": old})

    @rule(of=st.integers(0, 1), name=words)
    def renames_a_hypothesis(self, of: int, name: str) -> None:
        old = self.document["model"]["hypotheses"][of]
        self.does(
            {"kind": "rename-hypothesis", "of": old, "name": name},
            {"kind": "rename-hypothesis", "of": name, "name": old},
        )

    @rule(a=agents, b=agents)
    def swaps_evidence(self, a: int, b: int) -> None:
        edit = {"kind": "swap-evidence", "a": a, "b": b}
        self.does(edit, edit)

    @rule(agent=agents, value=st.integers(1, 4))
    def sets_a_batch(self, agent: int, value: int) -> None:
        old = int(problem_of(self.document).model.batches[agent])
        kind = {"kind": "set-batch", "agent": agent}
        self.does({**kind, "value": value}, {**kind, "value": old})

    @rule(name=words, title=words)
    def renames_the_problem(self, name: str, title: str) -> None:
        old = {"name": self.document["name"], "title": self.document.get("title", "")}
        self.does({"kind": "set-name", "name": name, "title": title}, {"kind": "set-name", **old})

    @precondition(lambda self: getattr(self, "done", []))
    @rule(times=st.integers(1, 4))
    def takes_back(self, times: int) -> None:
        for _ in range(min(times, len(self.done))):
            before, edit, inverse = self.done.pop()
            after = edited(self.document, [inverse])
            assert same(after, before), (edit, inverse)
            self.document = after
            self.undone.append(edit)

    @precondition(lambda self: getattr(self, "undone", []))
    @rule()
    def does_again(self) -> None:
        """All that was taken back, in one request."""
        edits = self.undone[::-1]
        one = edited(self.document, edits)
        for edit in edits:
            self.document = edited(self.document, [edit])
        assert one == self.document
        self.done, self.undone = [], []

    @invariant()
    def a_document_is_what_the_problem_file_writes(self) -> None:
        if hasattr(self, "document"):
            assert edited(self.document, []) == self.document
            weights = as_dense(problem_of(self.document).network.weights)
            np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-15)


def names_of(document: Table) -> list[str]:
    names = problem_of(document).network.names
    return [str(i) for i in range(AGENTS)] if names is None else list(names)


def same(one: Table, other: Table) -> bool:
    """Whether two documents are one problem, with equal weights, names and evidence."""
    a, b = problem_of(one), problem_of(other)
    np.testing.assert_allclose(as_dense(a.network.weights), as_dense(b.network.weights), atol=1e-15)
    rest: list[Any] = [
        (p.name, p.title, p.model.hypotheses, p.model.batches.tolist()) for p in (a, b)
    ]
    laws = [[p.model.kinds[k].log_likelihoods.tolist() for k in p.model.assignment] for p in (a, b)]
    return rest[0] == rest[1] and laws[0] == laws[1] and names_of(one) == names_of(other)


TestEdits = Edits.TestCase
TestEdits.settings = settings(often(35), stateful_step_count=20)
