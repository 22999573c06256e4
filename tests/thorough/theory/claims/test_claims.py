"""Every claim at the effort that its verdict is published with."""

from __future__ import annotations

import pytest

from theory.claims import CLAIMS, Effort, try_claim


@pytest.mark.parametrize("key", CLAIMS)
def test_every_witness_confirms_its_verdict(key: str) -> None:
    trial = try_claim(CLAIMS[key], Effort())
    assert trial.is_confirmed, [finding.text for finding in trial.findings]
