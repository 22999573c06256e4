"""Certified numbers: intervals that contain the truth, whatever is rounded on the way."""

from theory.certified.network import CertifiedNetwork, certify_network

__all__ = ["CertifiedNetwork", "certify_network"]
