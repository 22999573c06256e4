"""Fingerprints of problems that take seconds to load."""

from __future__ import annotations

from peerbayes.kinds.finite.proofs import fingerprint
from peerbayes.problem.builtins.loading import load_problem


def test_fingerprints_tell_problems_apart() -> None:
    names = ["two-coins", "p2-star", "p2-star a=0.1", "digits", "digits star a=0.1 split 1"]
    found = {fingerprint(load_problem(name)) for name in names}
    assert len(found) == len(names)
    assert fingerprint(load_problem("digits")) == fingerprint(load_problem("digits"))
