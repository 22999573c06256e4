"""Names of the built-in problems, by their kind: what type checkers know `pb.load` by.

A variant's name, such as ``"p2-star a=0.1"``, is a text like any other to them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

FiniteName: TypeAlias = Literal[
    "two-coins", "p2-star", "p2-grid", "digits", "fashion-mnist", "label-partitions"
]
ChangingName: TypeAlias = Literal["rotating-star", "restless-ring"]
FaultyName: TypeAlias = Literal["liars-torus"]
RegressionName: TypeAlias = Literal["p1-regression", "p2-regression", "diabetes"]
