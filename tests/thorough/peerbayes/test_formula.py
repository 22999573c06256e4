"""Sheets of formulas that take long."""

from __future__ import annotations

import pytest

from tests.peerbayes.commands import Capture
from tests.peerbayes.test_formula import check_sheet, run


@pytest.mark.parametrize(
    "arguments",
    [
        ["path"],
        ["hub-and-ring"],
        ["wheel", "--agents", "8"],
        ["complete"],
        ["star", "--samples"],
        ["complete", "--agents", "5", "--samples", "--set", "delta=1/20", "--set", "M=2"],
    ],
    ids=" ".join,
)
def test_json_fits_its_schema_and_the_tables(arguments: list[str], capsys: Capture) -> None:
    check_sheet(arguments, capsys)


def test_latex_of_sample_sizes(capsys: Capture) -> None:
    code, out, err = run(["star", "--samples", "--latex"], capsys)
    assert (code, err) == (0, "")
    assert r"\text{n repaired} &=" in out
