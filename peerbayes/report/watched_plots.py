"""A live network: its agents' log-ratios over time, with the growth that theory predicts."""

from __future__ import annotations

import numpy as np

from peerbayes.figures.canvas import COLOURS, LegendEntry, Plot, axis_label
from peerbayes.figures.panels import MOST_SERIES, panel, series_style
from peerbayes.figures.scales import linear_scale
from peerbayes.figures.wording import number
from peerbayes.live.watch.documents import LiveCourse, LiveRate, LiveStretch


def live_course_plot(course: LiveCourse, stretches: list[LiveStretch]) -> Plot:
    """A line an agent, and in every stretch of time the slope that was predicted for it."""
    series = [
        (name, np.array(seconds), np.array(ratios))
        for name, seconds, ratios in zip(
            course.agents, course.seconds, course.log_ratios, strict=True
        )
    ]
    lines = [line for one in stretches if (line := _predicted(course, one, series)) is not None]
    seconds = np.concatenate([s for _, s, _ in series])
    ratios = np.concatenate([r for _, _, r in series] + [y for _, y in lines])
    figure, axes = panel(linear_scale([0.0, *seconds], zero=True), linear_scale([0.0, *ratios]))
    legend = []
    for index, (name, x, y) in enumerate(series):
        if len(series) <= MOST_SERIES:
            colour = series_style(index)[0]
            axes.plot(x, y, color=COLOURS[colour], linewidth=1.2, zorder=3)
            legend.append(LegendEntry("line", colour, name))
        else:
            axes.plot(x, y, color=COLOURS["cloud"], linewidth=0.7, zorder=2)
    if len(series) > MOST_SERIES:
        legend.append(LegendEntry("line", "cloud", "agents"))
    for x, y in lines:
        axes.plot(x, y, color=COLOURS["ink"], linewidth=1.4, dashes=(4, 2.5), zorder=4)
    if lines:
        legend.append(LegendEntry("dashes", "ink", "growth predicted by who was heard, how late"))
    axis_label(axes, x="seconds", y="log belief ratio [nats]")
    return Plot(
        figure,
        "Log belief ratio while it was watched",
        f"How much more “{course.reference}” is believed than “{course.hypothesis}”. Predicted "
        "lines begin where the agents’ mean is when a stretch of time begins; their slope is not "
        "fitted.",
        tuple(legend),
    )


def _predicted(
    course: LiveCourse,
    stretch: LiveStretch,
    series: list[tuple[str, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray] | None:
    """Two points of the predicted line of a stretch; None where nothing is predicted."""
    rate = next((r for r in stretch.rates if r.hypothesis == course.hypothesis), None)
    if rate is None or rate.predicted is None or stretch.seconds <= 0:
        return None
    ends = np.array([stretch.began, stretch.began + stretch.seconds])
    heights = [np.interp(ends[0], x, y) for name, x, y in series if name in stretch.present]
    if not heights:
        return None
    start = float(np.mean(heights))
    return ends, start + rate.predicted * (ends - ends[0])


def rate_words(rate: LiveRate | None) -> str:
    """How fast beliefs in one hypothesis fall or rise, and what was predicted; "" if not known.

    >>> rate = LiveRate(
    ...     hypothesis="b", predicted=1.5, measured=1.25, standard_error=0.25, blocks_error=None
    ... )
    >>> rate_words(rate)
    'fell by 1.250 ± 0.25 nats a second, predicted 1.5'
    >>> rate_words(rate.model_copy(update={"measured": -0.5}))
    'rose by 0.5 ± 0.25 nats a second, predicted to fall by 1.5'
    """
    if rate is None or rate.measured is None:
        return ""
    fell = rate.measured >= 0
    said = f"{'fell' if fell else 'rose'} by {number(abs(rate.measured))}"
    if rate.standard_error is not None:
        said += f" ± {number(rate.standard_error, 2)}"
    said += " nats a second"
    if rate.predicted is None:
        return said
    return f"{said}, predicted {'' if fell else 'to fall by '}{number(rate.predicted)}"
