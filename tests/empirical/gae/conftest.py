"""What tests of GAE share."""

from __future__ import annotations

import pytest
from torch import Tensor

from empirical.gae.net import initial, stream


@pytest.fixture(scope="session")
def start() -> Tensor:
    """Weights that nodes begin with; nobody may change them."""
    return initial(stream(0, 9))
