"""Ticks that are few, round and apart from one another, and ranges that hold their data.

Ticks are chosen before anything is drawn, so that the space for their labels is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from peerbayes.figures.canvas import SMALL
from peerbayes.figures.wording import power_of_ten


@dataclass(frozen=True)
class Scale:
    """One axis: its range, its ticks with their labels, and the power of ten taken out of them."""

    lower: float
    upper: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    is_log: bool = False
    power: int = 0

    def unit(self, unit: str) -> str:
        """The unit, with the power of ten that the labels leave out.

        >>> Scale(0, 1e-5, (), (), power=-5).unit("nats")
        '10⁻⁵ nats'
        """
        return f"{power_of_ten(self.power)} {unit}" if self.power else unit

    @property
    def label_width(self) -> float:
        """Room for the widest label, in inches: a digit of DejaVu Sans is 0.64 em wide."""
        longest = max((len(label) for label in self.labels), default=0)
        return longest * 0.64 * SMALL / 72

    def apply(self, axes: Axes, which: str) -> None:
        """Set range, scale and ticks of the ``"x"`` or ``"y"`` axis."""
        if self.is_log:
            getattr(axes, f"set_{which}scale")("log")
        getattr(axes, f"set_{which}lim")(self.lower, self.upper)
        axis = getattr(axes, f"{which}axis")
        axis.set_minor_locator(NullLocator())
        axis.set_major_locator(FixedLocator(list(self.ticks)))
        axis.set_ticklabels(list(self.labels))


def linear_scale(
    values: Iterable[float], *, most: int = 5, zero: bool = False, room: float = 0.04
) -> Scale:
    """A linear scale for the finite ones of `values`.

    Parameters
    ----------
    most
        At most so many intervals between ticks.
    zero
        Whether 0 belongs on the axis.
    room
        Empty share at each end (not below zero, where zero is the end).
    """
    finite = [float(value) for value in values if math.isfinite(value)]
    lower, upper = min(finite, default=0.0), max(finite, default=1.0)
    if zero:
        lower, upper = min(lower, 0.0), max(upper, 0.0)
    if upper - lower <= 1e-9 * max(abs(lower), abs(upper)):
        # One value: the axis shows it in its middle, or zero and it.
        reach = abs(upper) / 2 or 1.0
        lower, upper = (lower - reach, upper + reach) if not zero else (lower, lower + 1.0)
    reach = room * (upper - lower)
    lower = lower if zero and lower == 0 else lower - reach
    upper = upper if zero and upper == 0 else upper + reach
    ticks = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(lower, upper)
    inside = [float(tick) for tick in ticks if lower <= tick <= upper]
    largest = max(abs(tick) for tick in inside)
    power = math.floor(math.log10(largest)) if largest else 0
    power = 0 if -3 <= power <= 3 else power
    shown = [tick / 10.0**power for tick in inside]
    step = shown[1] - shown[0] if len(shown) > 1 else (abs(shown[0]) or 1.0)
    decimals = next((d for d in range(8) if abs(step * 10**d - round(step * 10**d)) < 1e-6), 8)
    labels = [f"{tick + 0.0:.{decimals}f}".replace("-", "−") for tick in shown]
    return Scale(lower, upper, tuple(inside), tuple(labels), power=power)


def log_scale(values: Iterable[float], *, most: int = 6, room: float = 0.05) -> Scale:
    """A logarithmic scale for the positive finite ones of `values`, cut off at 10 to the ±250.

    An axis to the ends of floating point would round to zero or infinity once room is added.
    """
    logs = [math.log10(value) for value in values if value > 0 and math.isfinite(value)]
    finite = [min(max(value, -250.0), 250.0) for value in logs]
    lower, upper = min(finite, default=0.0), max(finite, default=1.0)
    if upper - lower < 0.3:
        lower, upper = lower - 0.15, upper + 0.15
    reach = room * (upper - lower)
    lower, upper = lower - reach, upper + reach
    decades = range(math.ceil(lower), math.floor(upper) + 1)
    keep = max(1, math.ceil(len(decades) / most))
    ticks: list[tuple[float, int]] = [(1, decade) for decade in decades if decade % keep == 0]
    # Less than three decades: ticks between them, as many as there is room for.
    for steps in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        finer = [
            (step, decade)
            for decade in range(math.floor(lower), math.ceil(upper) + 1)
            for step in steps
            if lower <= math.log10(step) + decade <= upper
        ]
        if len(ticks) < 3 and len(finer) <= most:
            ticks = finer
    return Scale(
        10.0**lower,
        10.0**upper,
        tuple(step * 10.0**decade for step, decade in ticks),
        tuple(_log_label(step, decade) for step, decade in ticks),
        is_log=True,
    )


def _log_label(step: float, decade: int) -> str:
    if -4 <= decade <= 3:
        digits = max(0, -decade + (step != int(step)))
        return f"{step * 10.0**decade:.{digits}f}"
    return power_of_ten(decade) if step == 1 else f"{step:g}·{power_of_ten(decade)}"
