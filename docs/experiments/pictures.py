"""Figures of executed pages."""

from __future__ import annotations

from typing import Any

from IPython import get_ipython
from IPython.core.pylabtools import select_figure_formats


def shown() -> None:
    """Show figures as pictures, whatever the backend; outside a notebook there is nothing to do."""
    shell = get_ipython()
    choose: Any = select_figure_formats  # without types
    if shell is not None:
        choose(shell, {"png"})
