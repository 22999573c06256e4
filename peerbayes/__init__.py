"""The roof: problem files, the commands, records and the report.

The names below are imported when first used, so that ``peerbayes --help`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peerbayes.front.verify import VerifyOutcome
    from peerbayes.kinds.finite.analyse import Analysis
    from peerbayes.kinds.social_learning import SimulationSummary, simulate_problem
    from peerbayes.problem.finite import Problem
    from peerbayes.problem.loading import BUILTINS, load_problem, load_variants
    from peerbayes.problem.reading import read_problem
    from peerbayes.records import Record, read_record, write_record

__version__ = "0.1.0"

__all__ = [
    "BUILTINS",
    "Analysis",
    "Problem",
    "Record",
    "SimulationSummary",
    "VerifyOutcome",
    "load_problem",
    "load_variants",
    "read_problem",
    "read_record",
    "simulate_problem",
    "write_record",
]

_HOMES = {
    "Analysis": "kinds.finite.analyse",
    "BUILTINS": "problem.loading",
    "load_problem": "problem.loading",
    "load_variants": "problem.loading",
    "Problem": "problem.finite",
    "read_problem": "problem.reading",
    "Record": "records",
    "read_record": "records",
    "write_record": "records",
    "SimulationSummary": "kinds.social_learning",
    "simulate_problem": "kinds.social_learning",
    "VerifyOutcome": "front.verify",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'peerbayes' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"peerbayes.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
