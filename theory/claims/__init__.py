"""The trial of the published statements: what holds, what fails, and a witness for each.

`CLAIMS` is the registry, `try_claims` recomputes every witness from integers and compares the
verdicts. Docs: mathematics/claims.
"""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.claims.claim import (
        Claim,
        ClaimTrial,
        Effort,
        Finding,
        Verdict,
        Witness,
        try_claim,
        try_claims,
        verdict_of,
    )
    from theory.claims.registry import CLAIMS
else:
    show_lazily(__name__)

__all__ = [
    "CLAIMS",
    "Claim",
    "ClaimTrial",
    "Effort",
    "Finding",
    "Verdict",
    "Witness",
    "try_claim",
    "try_claims",
    "verdict_of",
]
