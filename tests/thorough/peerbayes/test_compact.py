"""A page of many problems stays small."""

from __future__ import annotations

from typing import Any

from tests.peerbayes import reports
from tests.peerbayes.test_report import page_of


def test_a_page_of_many_problems_is_small(tmp_path: Any) -> None:
    """79 problems of this size and their sweeps stay well below 2.5 MB: 25 kB each at most."""
    sizes = []
    for count in (2, 8):
        problems = [reports.problem(f"p2-star a={i / 100:g}") for i in range(1, count + 1)]
        folder = tmp_path / str(count)
        folder.mkdir()
        _, text = page_of(folder, reports.verify_body(*problems))
        sizes.append(len(text.encode()))
    assert (sizes[1] - sizes[0]) / 6 < 25_000
