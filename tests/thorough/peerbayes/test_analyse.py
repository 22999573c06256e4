"""What `analyse` gives of the larger built-in problems."""

from __future__ import annotations

import pytest

from tests.peerbayes import test_analyse as quick


@pytest.mark.parametrize("name", ["p2-grid", "digits"])
def test_json_keeps_the_contract(name: str) -> None:
    quick.test_json_keeps_the_contract(name)
