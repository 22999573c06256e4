"""The frozen documents of commands that take seconds."""

import pytest

from tests.peerbayes.golden import CASES
from tests.peerbayes.test_golden import QUICK, check_document


@pytest.mark.parametrize("name", [name for name in CASES if name not in QUICK])
def test_documents_stay(name: str) -> None:
    check_document(name)
