"""Verification accepts what is true, whatever the seed."""

import pytest

from tests.peerbayes.commands import Patch
from tests.peerbayes.regressions import shorten_verification
from tests.peerbayes.test_regression_commands import check_no_false_alarm
from tests.peerbayes.test_verification import (
    test_rare_outcomes_raise_no_false_alarm as check_rare_outcomes,
)


@pytest.mark.parametrize("seed", range(60))
def test_of_regressions(seed: int, monkeypatch: Patch) -> None:
    shorten_verification(monkeypatch)
    check_no_false_alarm(seed)


@pytest.mark.parametrize("seed", range(40))
def test_of_rare_outcomes(seed: int) -> None:
    check_rare_outcomes(seed)
