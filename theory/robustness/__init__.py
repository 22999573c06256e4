"""Faulty and hostile agents: what they do, what it does to the others, and rules that resist."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.robustness.averaging import (
        FaultyAveraging,
        FaultyLogRatio,
        faulty_averaging,
        faulty_log_ratio,
    )
    from theory.robustness.behaviours import (
        BEHAVIOURS,
        Behaviour,
        Colluding,
        ConstantBelief,
        Push,
        RandomLies,
        Silent,
        Split,
        StuckData,
    )
    from theory.robustness.faults import (
        RULES,
        Average,
        Clip,
        Faults,
        Median,
        Rule,
        TrimmedMean,
        check_tolerance,
        honest_agents,
        honest_reference,
    )
    from theory.robustness.graph import (
        Robustness,
        RobustnessCheck,
        ToleratedLiars,
        TrimmedSpread,
        is_robust,
        robustness,
        tolerated_liars,
        trimmed_spread,
    )
    from theory.robustness.guarantees import (
        ClipGuarantee,
        PoolingGuarantee,
        clip_guarantee,
        pooling_guarantee,
    )
else:
    show_lazily(__name__)

__all__ = [
    "BEHAVIOURS",
    "RULES",
    "Average",
    "Behaviour",
    "Clip",
    "ClipGuarantee",
    "Colluding",
    "ConstantBelief",
    "Faults",
    "FaultyAveraging",
    "FaultyLogRatio",
    "Median",
    "PoolingGuarantee",
    "Push",
    "RandomLies",
    "Robustness",
    "RobustnessCheck",
    "Rule",
    "Silent",
    "Split",
    "StuckData",
    "ToleratedLiars",
    "TrimmedMean",
    "TrimmedSpread",
    "check_tolerance",
    "clip_guarantee",
    "faulty_averaging",
    "faulty_log_ratio",
    "honest_agents",
    "honest_reference",
    "is_robust",
    "pooling_guarantee",
    "robustness",
    "tolerated_liars",
    "trimmed_spread",
]
