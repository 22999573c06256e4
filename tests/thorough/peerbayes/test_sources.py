"""Every panel of the page on the figures of the sources is drawn."""

from __future__ import annotations

from typing import Any

from peerbayes.sources.catalogue import FIGURES
from tests.peerbayes.test_sources import page  # noqa: F401


def test_the_page_draws_all_that_is_on_record(page: Any) -> None:  # noqa: F811
    panels = [
        panel
        for name, figure in FIGURES.items()
        if figure.needs
        for panel in page.redrawn(name).panels
    ]
    assert panels
    for panel in panels:
        assert page.drawing(panel).axes
