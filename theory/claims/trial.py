"""Put claims on trial: run their witnesses, and see whether the recorded verdicts stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import flint

from theory.claims.claim import Claim, Effort, Finding, Verdict, verdict_of
from theory.showing import Shown
from theory.typed import typed

PRECISION = 256
"""Bits of the ball arithmetic that witnesses use."""


@dataclass(frozen=True)
class ClaimTrial(Shown):
    """A claim and what its witnesses found, in their order."""

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that the findings call for; None if they contradict one another."""
        return verdict_of(self.claim.witnesses, self.findings)

    @property
    def is_confirmed(self) -> bool:
        """Whether the recorded verdict is the one that the findings call for."""
        return self.verdict == self.claim.verdict

    @property
    def cases(self) -> int:
        """How many instances were tried in all."""
        return sum(finding.cases for finding in self.findings)

    @property
    def headline(self) -> Finding:
        """The finding to show where there is room for one: what contradicts, else the first."""
        if not self.is_confirmed:
            for witness, finding in zip(self.claim.witnesses, self.findings, strict=True):
                if finding.holds == (witness.role == "counterexample"):
                    return finding
        return self.findings[0]


@typed
def try_claim(claim: Claim, effort: Effort | None = None) -> ClaimTrial:
    """Run the witnesses of one claim; the same seed gives the same findings.

    Examples
    --------
    >>> from theory.claims import CLAIMS, try_claim
    >>> trial = try_claim(CLAIMS["star-centralities"])
    >>> trial.is_confirmed, trial.verdict
    (True, 'holds')
    """
    effort = effort or Effort()
    with flint.ctx.workprec(PRECISION):
        return ClaimTrial(claim, tuple(witness.run(effort) for witness in claim.witnesses))


@typed
def try_claims(
    claims: Sequence[Claim],
    effort: Effort | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[ClaimTrial, ...]:
    """Run the witnesses of several claims; `progress` is called with (claims done, all claims)."""
    trials = []
    for done, claim in enumerate(claims, 1):
        trials.append(try_claim(claim, effort))
        if progress is not None:
            progress(done, len(claims))
    return tuple(trials)
