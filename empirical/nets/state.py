"""The state of a run as named tensors: what a checkpoint keeps, and what is read back."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from theory.validation import fail


def restore_tensors(mine: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
    """Copy the tensors of `state` over those of a run, name by name, in place.

    Parameters
    ----------
    mine
        The run's own, which are overwritten.
    state
        As it was kept; what else it holds is left alone.

    Raises
    ------
    ValueError
        If a tensor is missing or of another shape; nothing is overwritten then.
    """
    for name, value in mine.items():
        if name not in state or state[name].shape != value.shape:
            got = f"shape {tuple(state[name].shape)}" if name in state else "none"
            raise fail(
                f"state[{name!r}]",
                f"shape {tuple(value.shape)}",
                got,
                "give the state of a run with the same agents and nets",
            )
    for name, value in mine.items():
        value.copy_(state[name])
