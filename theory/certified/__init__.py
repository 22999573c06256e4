"""Certified numbers: intervals that contain the truth, whatever is rounded on the way."""

from theory.certified.learning import CertifiedLearning, certify_learning
from theory.certified.network import CertifiedNetwork, certify_network

__all__ = ["CertifiedLearning", "CertifiedNetwork", "certify_learning", "certify_network"]
