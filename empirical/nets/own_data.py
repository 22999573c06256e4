"""Data of one's own as the shares of agents that train nets: arrays of any kind, checked.

:class:`empirical.nets.shares.Shares` holds tensors of fixed types; here each agent brings its
inputs and labels as it has them, numpy arrays, tensors or lists, in any type of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.typed import require
from theory.validation import fail

if TYPE_CHECKING:
    from empirical.nets.architecture import Architecture
    from empirical.nets.shares import Shares


def shares_of(
    data: Sequence[tuple[ArrayLike, ArrayLike]],
    architecture: Architecture,
    *,
    real_labels: bool = False,
) -> Shares:
    """The shares of agents, each with inputs and labels of its own.

    Parameters
    ----------
    data
        One pair for each agent: inputs of shape (n, …), as the architecture takes them, and n
        labels, numbers of classes from 0 to the net's outputs − 1. Stored as float32 and int64.
    architecture
        The net that the data are for.
    real_labels
        Whether labels are real numbers, for a regression; then they are stored as float32.

    Raises
    ------
    ValueError
        If the architecture is something else, such as a torch module; if inputs have another
        shape, are not finite or none; if there is not one label for each, or a label is no class
        of the net.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> rng = np.random.default_rng(0)
    >>> data = [(rng.normal(size=(n, 4)), rng.integers(3, size=n)) for n in (10, 20)]
    >>> shares_of(data, perceptron(4, 8, outputs=3)).sizes
    (10, 20)
    """
    # Here, so that the package is imported without torch.
    import torch

    from empirical.nets.architecture import Architecture
    from empirical.nets.shares import Shares

    require("architecture", architecture, Architecture)
    if not len(data):
        raise fail("data", "inputs and labels of at least one agent", "none", "give some")
    inputs, labels, rows, start = [], [], [], 0
    for agent, pair in enumerate(data):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise fail(
                f"data[{agent}]",
                "a pair of inputs and labels",
                type(pair).__name__,
                "give one pair for each agent",
            )
        x = _inputs(f"data[{agent}][0]", pair[0], architecture)
        y = _labels(f"data[{agent}][1]", pair[1], len(x), None if real_labels else architecture)
        inputs.append(x)
        labels.append(y)
        rows.append(torch.arange(start, start + len(x)))
        start += len(x)
    return Shares(
        torch.from_numpy(np.concatenate(inputs)),
        torch.from_numpy(np.concatenate(labels)),
        tuple(rows),
    )


def _numbers(argument: str, values: Any) -> NDArray[np.float64]:
    if hasattr(values, "detach"):  # a tensor
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise fail(
            argument, "an array of numbers", "ragged or other values", "give rows of one length"
        ) from None
    if not np.isfinite(array).all():
        raise fail(argument, "finite numbers", "some that are not", "replace them")
    return array


def _inputs(argument: str, values: Any, architecture: Architecture) -> NDArray[np.float32]:
    array = _numbers(argument, values)
    if array.shape[1:] != architecture.input_shape or not len(array):
        shape = ", ".join(str(size) for size in architecture.input_shape)
        raise fail(
            argument,
            f"inputs of shape (n, {shape}), as the architecture takes",
            f"shape {array.shape}",
            "reshape the inputs, or change input_shape",
        )
    return array.astype(np.float32)


def _labels(
    argument: str, values: Any, count: int, architecture: Architecture | None
) -> NDArray[Any]:
    """Labels as float32, or as classes of the architecture, int64."""
    array = _numbers(argument, values)
    if array.shape != (count,):
        raise fail(
            argument, f"one label for each of {count} inputs", f"shape {array.shape}", "match them"
        )
    if architecture is None:
        return array.astype(np.float32)
    wrong = np.flatnonzero(
        (array != np.floor(array)) | (array < 0) | (array >= architecture.outputs)
    )
    if wrong.size:
        raise fail(
            argument,
            f"classes from 0 to {architecture.outputs - 1}, the architecture's outputs",
            f"{array[wrong[0]]:g} at {wrong[0]}",
            "number the classes from 0, or give the net more outputs; for a regression set "
            "real_labels",
        )
    return array.astype(np.int64)
