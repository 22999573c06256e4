"""Every kind of problem: the one place that knows which value object is of which kind.

A kind is loaded when it is asked for: whoever analyses two coins needs no regression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from peerbayes.kinds.shared.kind import Kind
    from peerbayes.problem.problems import AnyProblem

# Where each kind is, by the class of its problems.
_HOMES = {
    "Problem": "finite.kind.FiniteKind",
    "ChangingProblem": "changing.kind.ChangingKind",
    "FaultyProblem": "faulty.kind.FaultyKind",
    "RegressionProblem": "regression.kind.RegressionKind",
    "NetworkAlone": "network_alone.NetworkAloneKind",
}


class _Kinds(Sequence["Kind[Any]"]):
    """The kinds, each loaded when it is reached."""

    def __len__(self) -> int:
        return len(_HOMES)

    @overload
    def __getitem__(self, index: int) -> Kind[Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Kind[Any]]: ...

    def __getitem__(self, index: int | slice) -> Kind[Any] | Sequence[Kind[Any]]:
        names = [*_HOMES][index]
        return _load(names) if isinstance(names, str) else [_load(name) for name in names]

    def __iter__(self) -> Iterator[Kind[Any]]:
        return map(_load, _HOMES)


KINDS = _Kinds()


@cache
def _load(name: str) -> Kind[Any]:
    home, _, kind = _HOMES[name].rpartition(".")
    made: Kind[Any] = getattr(import_module(f"peerbayes.kinds.{home}"), kind)()
    return made


def kind_of(problem: AnyProblem) -> Kind[Any]:
    """The kind of a problem.

    Examples
    --------
    >>> from peerbayes.problem.builtins.loading import load_problem
    >>> type(kind_of(load_problem("p1-regression"))).__name__
    'RegressionKind'
    """
    return _load(type(problem).__name__)


def is_problem(value: object) -> bool:
    """Whether something is a problem of any kind; no kind is loaded that it cannot be of."""
    name = type(value).__name__
    return name in _HOMES and type(value) is _load(name).problem


def kind_of_record(form: str | None) -> Kind[Any]:
    """The kind of problem of a record, by its key ``"form"``; None means that there is none."""
    return next((kind for kind in KINDS if kind.form == form), KINDS[0])
