"""What faulty agents of a problem do, and how the others pool: the parts of `pb.Faults`.

Behaviours: `ConstantBelief`, `Silent`, `StuckData`, `Push`, `RandomLies`, `Split`, `Colluding`.
Rules: `Average`, `TrimmedMean`, `Median`, `Clip`.

>>> import peerbayes as pb
>>> pb.Faults({4: pb.faults.Push("loaded", 1.0)}, pb.faults.TrimmedMean(1)).pool_every
1
"""

from theory.robustness import (
    Average,
    Clip,
    Colluding,
    ConstantBelief,
    Faults,
    Median,
    Push,
    RandomLies,
    Silent,
    Split,
    StuckData,
    TrimmedMean,
)

__all__ = [
    "Average",
    "Clip",
    "Colluding",
    "ConstantBelief",
    "Faults",
    "Median",
    "Push",
    "RandomLies",
    "Silent",
    "Split",
    "StuckData",
    "TrimmedMean",
]
