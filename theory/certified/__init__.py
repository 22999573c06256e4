"""Certified numbers: intervals that contain the truth, whatever is rounded on the way."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.certified.information import Reference, decide_reference
    from theory.certified.ladder import (
        CertifiedLadder,
        CertifiedRounds,
        RoundsCertificate,
        verify_rounds,
    )
    from theory.certified.learning import CertifiedLearning, certified_ladder, certify_learning
    from theory.certified.maximum import Evidence
    from theory.certified.network import CertifiedNetwork, certify_network
else:
    show_lazily(__name__)

__all__ = [
    "CertifiedLadder",
    "CertifiedLearning",
    "CertifiedNetwork",
    "CertifiedRounds",
    "Evidence",
    "Reference",
    "RoundsCertificate",
    "certified_ladder",
    "certify_learning",
    "certify_network",
    "decide_reference",
    "verify_rounds",
]
