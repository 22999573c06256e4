"""Options of a simulation in one dictionary, as parametrized tests vary them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from exact import Run

_RUN = {entry.name for entry in fields(Run)}


def arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """What is a run's goes into `run`; everything else is passed on as it is."""
    run = Run(**{name: value for name, value in options.items() if name in _RUN})
    return {"run": run, **{name: value for name, value in options.items() if name not in _RUN}}
