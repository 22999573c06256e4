"""The roof: problem files, the commands, records and the report.

The names below are imported when first used, so that ``peerbayes --help`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peerbayes.analyse import Analysis
    from peerbayes.builtin import BUILTINS, load_problem, load_variants
    from peerbayes.problem import Problem, read_problem
    from peerbayes.records import Record, read_record, write_record
    from peerbayes.simulate import SimulationSummary, simulate_problem
    from peerbayes.verify import VerifyOutcome

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
    "Analysis": "analyse",
    "BUILTINS": "builtin",
    "load_problem": "builtin",
    "load_variants": "builtin",
    "Problem": "problem",
    "read_problem": "problem",
    "Record": "records",
    "read_record": "records",
    "write_record": "records",
    "SimulationSummary": "simulate",
    "simulate_problem": "simulate",
    "VerifyOutcome": "verify",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'peerbayes' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"peerbayes.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
