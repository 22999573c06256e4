"""From what files hold to what agents learn from: classes, splits, standardised numbers.

The steps, in this order:

1. labels are read as their targets say; the classes are those that occur in any agent's data for
   training, and a class that occurs in test data alone is refused;
2. a share is held out of every agent's data for the test, unless test data are given;
3. a share of the rest is held out for validation;
4. the agents pool the moments of what is left, their training data; all missing inputs are filled
   and all data standardised with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from empirical.train.data.agents_data import AgentsData, Filling, Scaling
from empirical.train.data.examples import (
    Examples,
    Kind,
    Target,
    as_inputs,
    generator,
    listed,
    pooled_moments,
    split_by_class,
    split_rows,
)
from empirical.train.data.notation import class_names, label_numbers, missing_classes, names_alike
from empirical.train.data.source_files import LabelledRows
from theory.network.labels import as_names
from theory.validation import as_integer, fail, read_only

# Rows that are standardised at a time.
_BLOCK = 4096


@dataclass(frozen=True)
class LabelColumn:
    """What one column of the labels is.

    Attributes
    ----------
    name
        The target's name.
    kind
        ``"classes"``, ``"numbers"`` or ``"counts"``.
    count
        How many classes there are, if that is known; None: those that occur.
    standardise
        Whether numbers are standardised; classes and counts never are.
    """

    name: str = "label"
    kind: Kind = "classes"
    count: int | None = None
    standardise: bool = False

    def __post_init__(self) -> None:
        if self.count is not None:
            as_integer("count", self.count, minimum=2)
        if self.standardise and self.kind != "numbers":
            remedy = "leave standardise out"
            raise fail("standardise", "a target of numbers", f"one of {self.kind}", remedy)


@dataclass(frozen=True)
class Preparation:
    """What is done to data that were read.

    Parameters
    ----------
    labels
        What each column of the labels is.
    validation, test
        Shares in [0, 1) that are held out of every agent's data; a test share of 0 if test data
        are given, or none are wanted.
    standardise
        Whether inputs are standardised.
    tokens
        Whether inputs are whole numbers that stand for words; they are not standardised.
    seed
        Of what is held out.
    missing
        Missing inputs, NaN: ``"refuse"`` them; or, with ``"mean"``, fill them with the mean of the
        training data, and for each column that has some let another one say where.

    Raises
    ------
    ValueError
        If there is no label, two have one name, or a share or the seed is out of range.
    """

    labels: tuple[LabelColumn, ...] = (LabelColumn(),)
    validation: float = 0.1
    test: float = 0.0
    standardise: bool = True
    tokens: bool = False
    seed: int = 0
    missing: Literal["refuse", "mean"] = "refuse"

    def __post_init__(self) -> None:
        if self.missing not in ("refuse", "mean"):
            raise fail("missing", '"refuse" or "mean"', repr(self.missing), "choose one of them")
        names = [label.name for label in self.labels]
        if not names or len(set(names)) < len(names):
            raise fail("labels", "targets of distinct names", names, "name each target once")
        for argument in ("validation", "test"):
            share = getattr(self, argument)
            known = isinstance(share, int | float) and not isinstance(share, bool)
            if not known or not 0 <= share < 1:
                raise fail(argument, "a share in [0, 1)", share, "leave some data for training")
        as_integer("seed", self.seed, minimum=0)

    @property
    def fills(self) -> bool:
        """Whether missing inputs are filled."""
        return self.missing == "mean"


def prepare(
    names: Sequence[str],
    parts: Sequence[LabelledRows],
    how: Preparation,
    *,
    test: LabelledRows | None = None,
    other: LabelledRows | None = None,
    notes: Iterable[str] = (),
) -> AgentsData:
    """The agents' data, from what each of them has.

    Parameters
    ----------
    names, parts
        The agents' names, and what each has, one entry an agent.
    test
        Test data; left out: the share `how.test` of every agent's data, if it is above 0.
    other
        Inputs of another data set; labels are not looked at.
    notes
        What is known already and belongs to the data's notes.

    Raises
    ------
    ValueError
        If a label is not what its target says, inputs of two agents differ in shape, or a class
        occurs in test data alone.
    """
    as_names(names, agents=len(parts))
    if test is not None and how.test:
        wanted = "either test data or a share that is held out for the test"
        raise fail("test", wanted, "both", "keep one of them")
    _check_names(parts)
    parts = [part.in_order_of(parts[0]) for part in parts]
    test, other = (
        None if extra is None else extra.in_order_of(parts[0]) for extra in (test, other)
    )
    everything = [*parts, *(extra for extra in (test, other) if extra is not None)]
    _check_shapes(everything)
    said = [*notes, *_warnings(parts[0])]
    targets = _targets(parts, how)
    for target in targets:
        said += names_alike(f"classes of {target.name!r},", target.classes or ())
    own = [_Numbered.of(part, targets, how) for part in parts]
    held: list[_Numbered] = []
    if how.test:
        own, held = _hold_out("test", names, own, targets, how, said)
    elif test is not None:
        held = [_Numbered.of(test, targets, how)]
    whole = [part.inputs for part in own]
    training, checking = _hold_out("validation", names, own, targets, how, said)
    features, filling = parts[0].features, None
    if how.fills:
        there = [part.inputs for part in training]
        filling = Filling.of(parts[0].where, whole, there, features)
        training, checking, held = (
            [replace(part, inputs=filling.apply(part.inputs)) for part in some]
            for some in (training, checking, held)
        )
        if filling.columns:
            called = _called(filling.columns, features)
            said.append(f"missing inputs filled with the mean, and marked: {called}")
        features = None if features is None else filling.names(features)
    for k, target in enumerate(targets):
        if target.kind == "classes":
            note = missing_classes(names, [part.column(k) for part in training], target)
            said += [note] if note else []
    scaling, target_scaling = _scalings(training, how, features, said)
    strange = None if other is None else _as_asked(other, how)
    if strange is not None and filling is not None:
        strange = filling.apply(strange)

    def examples(some: Sequence[_Numbered]) -> Examples:
        labels = np.concatenate([part.labels for part in some])
        if target_scaling is not None:
            labels = target_scaling.apply(labels)
        inputs = _stored(some[0].where, [part.inputs for part in some], scaling)
        return Examples(inputs, read_only(labels))

    return AgentsData(
        tuple(str(name) for name in names),
        tuple(examples([part]) for part in training),
        tuple(examples([part]) for part in checking),
        examples(held) if held else None,
        features,
        None if strange is None else _stored("other", [strange], scaling),
        tuple(dict.fromkeys(chain.from_iterable(part.sources for part in everything))),
        targets,
        scaling,
        target_scaling,
        tuple(said),
        filling,
    )


def _stored(where: str, arrays: Sequence[NDArray[Any]], scaling: Scaling | None) -> NDArray[Any]:
    """Inputs one after the other as nets take them, read-only; `where` is for messages."""
    blocks = [
        as_inputs(where, block if scaling is None else scaling.apply(block))
        for array in arrays
        for block in np.split(array, range(_BLOCK, len(array), _BLOCK))
    ]
    return read_only(np.concatenate(blocks))


def _check_names(parts: Sequence[LabelledRows]) -> None:
    """See that all agents' inputs have names of columns, or none has."""
    first = parts[0].features is None
    odd = next((part for part in parts if (part.features is None) != first), None)
    if odd is not None:
        both = ["a frame", "an array without names"]
        wanted = f"{both[first]}, as in {parts[0].where}"
        remedy = "give all agents frames, or all of them arrays"
        raise fail(f"{odd.where}, inputs", wanted, both[not first], remedy)


def _warnings(part: LabelledRows) -> list[str]:
    """What looks like a mistake in the shape of inputs."""
    shape = part.inputs.shape[1:]
    if not has_channels_last(shape):
        return []
    return [
        f"inputs of shape {shape} look like images with their channels last, where they are "
        "expected first: numpy.moveaxis(inputs, -1, 1) moves them"
    ]


def has_channels_last(shape: Sequence[int]) -> bool:
    """Whether the shape of an input looks like (height, width, channels).

    >>> has_channels_last((32, 32, 3)), has_channels_last((3, 32, 32))
    (True, False)
    """
    colours = (1, 3, 4)
    return len(shape) == 3 and shape[-1] in colours and shape[0] not in colours


def _called(columns: Iterable[int], features: Sequence[str] | None) -> str:
    """The first columns by name, or by number."""
    return listed([features[k] if features else f"number {k}" for k in columns])


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Inputs and numbered labels of one agent, or a part of them."""

    where: str
    inputs: NDArray[Any]
    labels: NDArray[Any]

    @classmethod
    def of(cls, part: LabelledRows, targets: Sequence[Target], how: Preparation) -> _Numbered:
        return cls(part.where, _as_asked(part, how), label_numbers(part, targets))

    def take(self, rows: NDArray[np.int64]) -> _Numbered:
        return _Numbered(self.where, self.inputs[rows], self.labels[rows])

    def column(self, k: int) -> NDArray[Any]:
        return self.labels if self.labels.ndim == 1 else self.labels[:, k]


def _as_asked(part: LabelledRows, how: Preparation) -> NDArray[Any]:
    """Inputs as tokens or as real numbers."""
    if not how.tokens:
        return part.inputs if part.inputs.dtype.kind == "f" else part.inputs.astype(np.float64)
    if part.inputs.dtype.kind != "i":
        wanted = "whole numbers, for tokens"
        raise fail(part.where, wanted, str(part.inputs.dtype), "save integers, or leave out tokens")
    return part.inputs


def _targets(parts: Sequence[LabelledRows], how: Preparation) -> tuple[Target, ...]:
    for part in parts:
        if len(part.labels) != len(how.labels):
            wanted = f"labels of {', '.join(label.name for label in how.labels)}"
            got = f"{len(part.labels)} columns of labels"
            raise fail(part.where, wanted, got, "give one column for each target")
    return tuple(target_of(parts, k, label) for k, label in enumerate(how.labels))


def target_of(parts: Sequence[LabelledRows], column: int, label: LabelColumn) -> Target:
    """A target with the classes that occur in any of the parts.

    Raises
    ------
    ValueError
        As for :func:`empirical.train.data.notation.class_names`.
    """
    classes = class_names(parts, column, count=label.count) if label.kind == "classes" else None
    return Target(label.name, label.kind, classes)


def _hold_out(
    what: str,
    names: Sequence[str],
    parts: Sequence[_Numbered],
    targets: Sequence[Target],
    how: Preparation,
    said: list[str],
) -> tuple[list[_Numbered], list[_Numbered]]:
    """Each agent's examples without, and with, those of one purpose."""
    share: float = getattr(how, what)
    splits = []
    for name, part in zip(names, parts, strict=True):
        rng = generator(how.seed, what, str(name))
        if len(targets) == 1 and targets[0].kind == "classes":
            split = split_by_class(part.labels, share, rng)
        else:
            split = split_rows(len(part.labels), share, rng)
        if share and not split.held.size:
            why = "the only one" if len(part.labels) == 1 else "the only ones of their classes"
            said.append(f"agent {name} has no examples for {what}: it trains on {why}")
        splits.append(split)
    pairs = list(zip(parts, splits, strict=True))
    return [p.take(s.kept) for p, s in pairs], [p.take(s.held) for p, s in pairs]


def _check_shapes(parts: Sequence[LabelledRows]) -> None:
    """See that the inputs of all parts have one shape; names both where they do not."""
    first = parts[0]
    for part in parts[1:]:
        if part.inputs.shape[1:] == first.inputs.shape[1:]:
            continue
        here, there = (
            f"{tuple(p.inputs.shape[1:])} (in {p.where}, {p.place(0)})" for p in (part, first)
        )
        remedy = "give all agents inputs of one shape; of images, set size or colour"
        raise fail(part.where, f"inputs of shape {there}", here, remedy)


def _scalings(
    training: Sequence[_Numbered],
    how: Preparation,
    features: Sequence[str] | None,
    said: list[str],
) -> tuple[Scaling | None, Scaling | None]:
    """How inputs and labels are scaled, by pooled moments of the agents' training data."""
    scaling = target_scaling = None
    if how.standardise and not how.tokens:
        moments = pooled_moments("inputs", [part.inputs for part in training], features)
        scaling = Scaling.from_moments(moments)
        constant = np.flatnonzero(moments.is_constant)
        if constant.size:
            said.append(f"constant inputs, only centred: {_called(constant, features)}")
    scaled = np.array([label.standardise for label in how.labels])
    if scaled.any():
        names = [label.name for label in how.labels]
        moments = pooled_moments("labels", [part.labels for part in training], names)
        target_scaling = Scaling.from_moments(moments)
        if len(scaled) > 1:
            mean = np.where(scaled, target_scaling.mean, 0.0)
            target_scaling = Scaling(mean, np.where(scaled, target_scaling.std, 1.0))
    return scaling, target_scaling
