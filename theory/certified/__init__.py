"""Certified numbers: intervals that contain the truth, whatever is rounded on the way."""

from theory.certified.evidence import Evidence
from theory.certified.information import Reference, decide_reference
from theory.certified.learning import CertifiedLearning, certified_ladder, certify_learning
from theory.certified.network import CertifiedNetwork, certify_network
from theory.certified.rounds import CertifiedRounds
from theory.certified.samples import CertifiedSampleSizes, RoundsCertificate, verify_rounds

__all__ = [
    "CertifiedLearning",
    "CertifiedNetwork",
    "CertifiedRounds",
    "CertifiedSampleSizes",
    "Evidence",
    "Reference",
    "RoundsCertificate",
    "certified_ladder",
    "certify_learning",
    "certify_network",
    "decide_reference",
    "verify_rounds",
]
