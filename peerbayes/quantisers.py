"""What agents of a problem send in place of their beliefs: `messages` of `pb.problem_of`.

>>> import peerbayes as pb
>>> pb.quantisers.Uniform(step=0.5, levels=16).step
0.5
"""

from theory.messages import (
    Acknowledged,
    Deadband,
    Plain,
    Samples,
    Single,
    Unacknowledged,
    Uniform,
)

__all__ = [
    "Acknowledged",
    "Deadband",
    "Plain",
    "Samples",
    "Single",
    "Unacknowledged",
    "Uniform",
]
