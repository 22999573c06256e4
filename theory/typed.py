"""The doors of the packages: arguments of the wrong kind are refused in one line.

`typed` reads the annotations of a function and checks each argument that has to be one of the
packages' own objects, so that swapped arguments and bare arrays get an answer at once:

>>> from theory.robustness import tolerated_liars
>>> tolerated_liars([[0.5, 0.5], [0.5, 0.5]])
Traceback (most recent call last):
    ...
ValueError: network: expected a Network, got a list; wrap it: Network(network)
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from importlib import import_module
from typing import ParamSpec, TypeAlias, TypeVar, Union, get_args, get_origin

from theory.lazy import homes
from theory.validation import fail

_Function: TypeAlias = Callable[..., object]
P = ParamSpec("P")
R = TypeVar("R")

_PACKAGES = ("theory", "exact", "empirical", "peerbayes")
# What turns the kind that came into the kind that is expected, by their names.
_CONVERSIONS = {
    ("Network", "RationalNetwork"): "convert it: {0}.as_network()",
    ("RationalNetwork", "Network"): "convert it: RationalNetwork.from_network({0})",
    ("FiniteModel", "RegressionModel"): "regressions have functions of their own",
    ("DesignGraph", "Network"): "convert it: DesignGraph.from_network({0})",
}
# How an object is made, for the kinds that most doors take.
_MAKERS = {
    "Faults": "write Faults({agent: behaviour, ...}, rule)",
    "Run": "write Run(rounds=..., replicates=..., seed=...)",
    "Network": "make one, such as Network(weights) or Network.from_topology",
    "RationalNetwork": "make one with RationalNetwork.from_rows or RationalNetwork.from_network",
    "DesignGraph": "make one with DesignGraph.from_network or DesignGraph.from_edges",
    "FiniteModel": "make one with FiniteModel.from_agents",
    "RationalModel": "make one with RationalModel.from_agents",
    "Architecture": "describe the net with Architecture(input_shape, layers) or perceptron(…)",
    "RegressionModel": "make one with RegressionModel.from_agents",
}


@dataclass(frozen=True)
class _Argument:
    """An argument that has to be one of some kinds of object, or, if `others`, no object of ours.

    `place` is its position among the arguments. Without kinds anything will do.
    """

    name: str
    place: int
    kinds: tuple[type, ...]
    others: bool

    def admits(self, value: object) -> bool:
        return isinstance(value, self.kinds) or (self.others and not _is_ours(type(value)))


class _Declared:
    """An argument as it is annotated; its kinds are loaded where its name alone does not decide."""

    def __init__(self, name: str, place: int, annotation: object, function: _Function) -> None:
        self.name, self.place = name, place
        self._annotation, self._function = annotation, function
        text = annotation if isinstance(annotation, str) else ""
        self._names = frozenset(re.findall(r"\w+", text))

    @cached_property
    def argument(self) -> _Argument:
        kinds, others = _kinds(_evaluated(self._annotation, self._function))
        return _Argument(self.name, self.place, kinds, others)

    def admits(self, value: object) -> bool:
        kind = type(value)
        if kind.__name__ in self._names and _is_ours(kind):
            return True
        return not self.argument.kinds or self.argument.admits(value)


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, checking that arguments annotated as objects of ours are such.

    Raises
    ------
    ValueError
        When called, if an argument is of another kind; the message says what to do about it.
    """
    plan: list[_Declared] = []

    @wraps(function)
    def door(*args: P.args, **kwargs: P.kwargs) -> R:
        if not plan:
            plan.extend(_plan(function))
        for argument in plan:
            if argument.place < len(args):
                value = args[argument.place]
            elif argument.name in kwargs:
                value = kwargs[argument.name]
            else:
                continue
            if not argument.admits(value):
                arguments = [one.argument for one in plan if one.argument.kinds]
                raise _refusal(argument.argument, value, arguments)
        return function(*args, **kwargs)

    return door


def require(argument: str, value: object, *kinds: type) -> None:
    """Check that an argument is an object of one of these kinds.

    Raises
    ------
    ValueError
        If it is not; the message says how to make one.
    """
    if not isinstance(value, kinds):
        raise _refusal(_Argument(argument, 0, kinds, others=False), value, [])


def _plan(function: _Function) -> list[_Declared]:
    """The arguments that may have to be checked, by the annotations."""
    plan = []
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        # Plain types begin with a small letter.
        if not re.search(r"[A-Z]", str(parameter.annotation).replace("None", "")):
            continue
        keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        there = 1 << 30 if keyword else place
        plan.append(_Declared(parameter.name, there, parameter.annotation, function))
    return plan


def _evaluated(annotation: object, function: _Function) -> object:
    if not isinstance(annotation, str):
        return annotation
    names = _Names(getattr(function, "__globals__", {}))
    try:
        return eval(annotation, {}, names)
    except (NameError, TypeError):  # of another package, or a name in quotes
        return None


class _Names(dict[str, object]):
    """A module's names, those that it imports for type checkers alone among them."""

    def __missing__(self, name: str) -> object:
        home = homes(str(self["__file__"])).get(name, "") if "__file__" in self else ""
        if home.partition(".")[0] not in _PACKAGES:
            raise KeyError(name)
        return getattr(import_module(home), name)


def _kinds(annotation: object) -> tuple[tuple[type, ...], bool]:
    """The classes of ours in an annotation, None among them, and whether it names others."""
    union = get_origin(annotation) in (Union, types.UnionType)
    members = get_args(annotation) if union else (annotation,)
    ours = tuple(m for m in members if isinstance(m, type) and _is_ours(m))
    if not ours:
        return (), True
    none = (types.NoneType,) if types.NoneType in members else ()
    return (*ours, *none), len(ours) + len(none) < len(members)


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _PACKAGES and not getattr(
        kind, "_is_protocol", False
    )


def _refusal(argument: _Argument, value: object, plan: list[_Argument]) -> ValueError:
    names = [kind.__name__ for kind in argument.kinds if kind is not types.NoneType]
    expected = _choice(names, others=argument.others)
    return fail(argument.name, expected, _described(value), _remedy(argument, names, value, plan))


def _choice(names: list[str], *, others: bool) -> str:
    """The kinds in words; all networks that change are named by where they are."""
    words = [_with_article(name) for name in names] + ["an array"] * others
    if {"PeriodicNetwork", "MarkovNetwork"} <= set(names):
        change = "one of the kinds in theory.changing"
        return f"a network, or {change}" if "Network" in names else change
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _remedy(argument: _Argument, names: list[str], value: object, plan: list[_Argument]) -> str:
    if isinstance(value, type):
        return "give an object, not its class"
    given = type(value).__name__
    for name in names:
        if (name, given) in _CONVERSIONS:
            return _CONVERSIONS[name, given].format(argument.name)
    if any(other is not argument and isinstance(value, other.kinds) for other in plan):
        return f"give the arguments in this order: {', '.join(other.name for other in plan)}"
    if "Network" in names:
        if type(value).__module__.startswith("networkx"):
            return f"convert it: Network.from_graph({argument.name})"
        if isinstance(value, list | tuple) or hasattr(value, "shape"):
            return f"wrap it: Network({argument.name})"
    known = [_MAKERS[name] for name in names if name in _MAKERS]
    return known[0] if known else f"make one, such as {names[0]}(…)"


def _described(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"an array of shape {shape}"
    return "None" if value is None else _with_article(type(value).__name__)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
