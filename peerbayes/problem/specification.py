"""A problem file as a whole: its parsed form, the way back to a file, and its JSON schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, ClassVar

from pydantic import TypeAdapter, ValidationError

from peerbayes.messages import translate
from peerbayes.problem.changes_section import CHANGES, PhaseSection
from peerbayes.problem.design_section import DesignSection, LinkAvailability, LinkCost
from peerbayes.problem.entries import Name, Section, given, key
from peerbayes.problem.exchange_sections import FAULTS, FaultsSection, MessagesSection
from peerbayes.problem.model_section import (
    AGENTS,
    LearningSection,
    ModelSection,
    batches_of,
)
from peerbayes.problem.network_section import FORMS, NetworkSection, with_graph_files
from peerbayes.problem.regression_section import RegressionAgentSection, RegressionSection

# They draw a random graph, whose weights then come from degrees: no formula sees them.
_GRAPH_ONLY = frozenset({"probability", "radius"})


class FileSpecification(Section):
    """What every problem file has: a name and a network; numbers that were strings are exact."""

    table_name: ClassVar[str] = "model"

    name: Name = key("Short name; left out: the file's name.")
    title: str | None = key("One line that says what it is about.", None)
    network: NetworkSection
    learning: LearningSection | None = key(
        "How agents learn; left out: from one observation a round.", None
    )
    design: DesignSection | None = key(
        "What a design has to respect; left out: the graph alone.", None
    )

    @property
    def is_exact(self) -> bool:
        """Whether every number that enters a formula was written as a string."""
        formulas = self.model_dump(exclude={"design"})
        return not any(isinstance(number, float) for number in leaves(formulas))

    def document(self) -> dict[str, Any]:
        """The file's content again, as plain tables, lists, strings and numbers."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def to_json(self) -> str:
        """The problem as a JSON file; reading it gives an equal specification."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False) + "\n"

    @property
    def table(self) -> Any:
        """The table of what agents see."""
        return getattr(self, self.table_name)

    def build(self, *, exact: bool = False) -> Any:
        """The model or regression described, its agents drawing what they draw in a round.

        With fractions if `exact`, as which doubles are read too.
        """
        model, batches = self.table.build(exact=exact), batches_of(self.learning, self.table.agents)
        is_made = self.learning is None and self.table_name == "regression"
        return model if is_made or set(batches) == {1} else model.batched(batches)


class ProblemSpecification(FileSpecification):
    """A problem with finitely many hypotheses, as parsed."""

    model: ModelSection
    faults: FaultsSection | None = key(
        "Faulty agents, and how the others pool; left out: none.", None
    )
    messages: MessagesSection | None = key(
        "What agents send; left out: their beliefs, as they are.", None
    )


class RegressionSpecification(FileSpecification):
    """A linear-Gaussian problem, as parsed."""

    table_name: ClassVar[str] = "regression"

    regression: RegressionSection


SECTIONS: Mapping[str, type[Section]] = {
    "": ProblemSpecification,
    "model": ModelSection,
    "regression": RegressionSection,
    "agents": RegressionAgentSection,
    "sequence": PhaseSection,
    "design": DesignSection,
    "link_costs": LinkCost,
    "link_availability": LinkAvailability,
    "faults": FaultsSection,
    "learning": LearningSection,
    "messages": MessagesSection,
    **{
        f"form:{word}": section
        for several in (FORMS, CHANGES, FAULTS, AGENTS)
        for word, section in several.items()
    },
}
"""The section that the keys at a place belong to, by the last name or tag of the place."""


def section_of(network: Mapping[str, Any], *, source: str = "network") -> Any:
    """A table [network] by itself, read and checked.

    Raises
    ------
    ValueError
        If it is none, in the words of the problem file.
    """
    try:
        return TypeAdapter[Any](NetworkSection).validate_python(network)
    except ValidationError as error:
        raise translate(error, source=source, sections=SECTIONS) from None


def leaves(value: object) -> Iterator[object]:
    """All that stands in tables and lists, however deep, but for what draws random graphs."""
    if isinstance(value, Mapping):
        value = [one for name, one in value.items() if name not in _GRAPH_ONLY]
    if isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one)
    else:
        yield value


_CHANGES = {
    "required": ["network"],
    "properties": {"network": {"anyOf": [given("sequence"), given("changes")]}},
}


def problem_schema() -> dict[str, Any]:
    """The JSON schema of a problem file, generated from the section classes."""
    schema = ProblemSpecification.model_json_schema()
    with_graph_files(schema)
    other = RegressionSpecification.model_json_schema()
    properties = schema["properties"] | {"regression": other["properties"]["regression"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "$defs": dict(sorted((schema["$defs"] | other["$defs"]).items())),
        "properties": properties,
        "required": ["network"],
        "oneOf": [{"required": ["model"]}, {"required": ["regression"]}],
        # No two of these go together.
        "allOf": [
            {"not": {"allOf": [one, another]}}
            for one, another in combinations(
                (given("regression"), given("faults"), given("messages"), _CHANGES), 2
            )
        ],
        "title": "peerbayes problem file",
        "description": "A network and what its agents see; one TOML or JSON file.",
    }
