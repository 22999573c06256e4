"""Whether examples are new, wherever the tests run; a continuous integration sets CI."""

from __future__ import annotations

import pytest
from hypothesis import settings


@pytest.mark.parametrize(("name", "same"), [("daily", True), ("explore", False), ("full", False)])
def test_only_the_daily_profile_tries_the_same_examples_each_time(name: str, same: bool) -> None:
    assert settings.get_profile(name).derandomize is same
