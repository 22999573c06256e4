"""Finite hypotheses over narrow links: quantised differences to replicas, and what they cost.

docs: mathematics/compressed-beliefs
"""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.messages.certificate import (
        CertifiedMessages,
        RationalReplicaDeviation,
        certified_replica_deviation,
        certify_messages,
        rational_replica_deviation,
    )
    from theory.messages.compressed import (
        CompressedLearning,
        FewestBytes,
        MeanBytes,
        compressed_learning,
        fewest_bytes,
    )
    from theory.messages.deviation import ReplicaDeviation, replica_deviation
    from theory.messages.levels import (
        MessageLevels,
        OutOfStep,
        finest_step,
        message_levels,
        mixed_network,
        mixed_rational,
        out_of_step,
        sampled_ceiling,
        stalling_step,
    )
    from theory.messages.quantiser import (
        QUANTISERS,
        Acknowledged,
        Deadband,
        Plain,
        Quantiser,
        Samples,
        Single,
        Unacknowledged,
        Uniform,
    )
    from theory.messages.speaking import SpeakingShares, speaking_shares
else:
    show_lazily(__name__)

__all__ = [
    "QUANTISERS",
    "Acknowledged",
    "CertifiedMessages",
    "CompressedLearning",
    "Deadband",
    "FewestBytes",
    "MeanBytes",
    "MessageLevels",
    "OutOfStep",
    "Plain",
    "Quantiser",
    "RationalReplicaDeviation",
    "ReplicaDeviation",
    "Samples",
    "Single",
    "SpeakingShares",
    "Unacknowledged",
    "Uniform",
    "certified_replica_deviation",
    "certify_messages",
    "compressed_learning",
    "fewest_bytes",
    "finest_step",
    "message_levels",
    "mixed_network",
    "mixed_rational",
    "out_of_step",
    "rational_replica_deviation",
    "replica_deviation",
    "sampled_ceiling",
    "speaking_shares",
    "stalling_step",
]
