"""Every example of the gallery runs, with the assertions it makes, and draws something."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

GALLERY = sorted((Path(__file__).parents[2] / "docs/gallery").glob("plot_*.py"))
FIGURE = Path(__file__).parents[2] / "docs/figure.py"


@pytest.fixture(autouse=True)
def no_windows() -> Iterator[None]:
    """Draw into memory, and leave no figure behind."""
    mpl.use("agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.mark.parametrize("example", GALLERY, ids=lambda path: path.stem)
def test_example_runs_and_draws_labelled_axes(example: Path) -> None:
    import matplotlib.pyplot as plt

    runpy.run_path(str(example))
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert figures
    for figure in figures:
        figure.draw_without_rendering()
        assert all(axes.get_xlabel() for axes in figure.axes)
        assert any(axes.get_ylabel() for axes in figure.axes)


def test_the_figure_of_the_readme_can_be_drawn(tmp_path: Path) -> None:
    runpy.run_path(str(FIGURE))["draw"](tmp_path / "overview.svg", replicates=200)
    drawn, committed = (
        set(re.findall(r">([^<>]*[a-z]{4}[^<>]*)</text>", path.read_text("utf-8")))
        for path in (tmp_path / "overview.svg", FIGURE.parent / "_static/overview.svg")
    )
    assert drawn == committed  # titles, labels, legend
    assert any("predicted" in label for label in drawn)


def test_the_gallery_is_not_empty() -> None:
    assert len(GALLERY) >= 3
