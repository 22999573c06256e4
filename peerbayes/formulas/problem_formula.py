"""The network of a problem as a formula: its exact weights, or the family it belongs to."""

from __future__ import annotations

from pathlib import Path

from peerbayes.problem.builtins.families import BUILTINS, of_images
from peerbayes.problem.builtins.loading import load_problem
from peerbayes.problem.changes_section import SequenceNetwork
from peerbayes.problem.network_section import EdgesNetwork, LinksNetwork, WeightsNetwork
from theory.rational.network import RationalNetwork
from theory.symbolic import Formula, closed_form
from theory.symbolic.general import weights_formula
from theory.validation import fail


def names_a_problem(name: str) -> bool:
    """Whether this is a problem's file, a built-in, or one of its variants."""
    if name in BUILTINS or any(name in family.variants for family in BUILTINS.values()):
        return True
    return name.endswith((".toml", ".json")) or "/" in name or Path(name[:200]).is_file()


def problem_formula(name: str) -> Formula:
    """The formula of a problem's network; exact numbers only.

    Raises
    ------
    ValueError
        If the problem cannot be read, has no exact weights, or is too large.
    """
    family = next((f for f in BUILTINS.values() if name == f.name or name in f.variants), None)
    if family is not None and family.make is of_images:
        raise fail("TOPOLOGY", "a problem that is written as a file", repr(name),
                   "name its topology, such as 'star'")  # fmt: skip
    problem = load_problem(name)
    section = None if problem.specification is None else problem.specification.network
    if section is None or isinstance(section, SequenceNetwork) or section.changes is not None:
        got = "one without a file" if section is None else "one on a network that changes"
        raise fail(name, "a problem whose network is fixed and written down", got,
                   "name its topology, such as 'star'")  # fmt: skip
    if isinstance(section, WeightsNetwork):
        return weights_formula(section.weights, name=problem.name)
    if isinstance(section, EdgesNetwork | LinksNetwork):
        network = section.build_rational(problem.name)
        return weights_formula(network.rows, name=problem.name)
    confidence = section.edge_confidence
    if confidence is None:
        options = section.model_dump(exclude={"topology", "changes"}, exclude_none=True)
        if section.topology in ("erdos-renyi", "geometric"):
            options.setdefault("seed", 0)
        network = RationalNetwork.from_topology(section.topology, **options)
        return weights_formula(network.rows, name=problem.name)
    if isinstance(confidence, float):
        raise fail(f"{name}: network.edge_confidence", "an exact number", confidence,
                   'write it as text, such as "1/2"')  # fmt: skip
    assert section.agents is not None
    return closed_form("star").substitute(agents=section.agents, edge_confidence=confidence)
