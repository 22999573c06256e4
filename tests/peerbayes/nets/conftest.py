"""Commands of the tests share one parser."""

from __future__ import annotations

from functools import cache

import pytest
import typer

# Typer builds its parser anew at each call, which takes longer than a case.
one_parser = cache(typer.main.get_command)


@pytest.fixture(autouse=True)
def _one_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.main.get_command", one_parser)
