"""A problem file as a whole: its parsed form, the way back to a file, and its JSON schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pydantic import Field, TypeAdapter, ValidationError

from peerbayes.messages import translate
from peerbayes.problem.changes_section import CHANGES, PhaseSection
from peerbayes.problem.design_section import DesignSection, LinkAvailability, LinkCost
from peerbayes.problem.entries import Section, given
from peerbayes.problem.exchange_sections import FAULTS, FaultsSection, MessagesSection
from peerbayes.problem.model_section import (
    FiniteAgentSection,
    GaussianAgentSection,
    LearningSection,
    ModelSection,
    OutcomesAgentSection,
    batches_of,
)
from peerbayes.problem.network_section import FORMS, NetworkSection, with_graph_files
from peerbayes.problem.regression_section import RegressionAgentSection, RegressionSection

if TYPE_CHECKING:
    from theory.learning import FiniteModel
    from theory.rational import RationalModel
    from theory.regression import RegressionModel
    from theory.regression.rational_model import RationalRegressionModel

# They draw a random graph, whose weights then come from degrees: no formula sees them.
_GRAPH_ONLY = frozenset({"probability", "radius"})


class FileSpecification(Section):
    """What every problem file has: a name and a network; numbers that were strings are exact."""

    name: str = Field(min_length=1, description="Short name; left out: the file's name.")
    title: str | None = Field(default=None, description="One line that says what it is about.")
    network: NetworkSection
    learning: LearningSection | None = Field(
        default=None, description="How agents learn; left out: from one observation a round."
    )
    design: DesignSection | None = Field(
        default=None, description="What a design has to respect; left out: the graph alone."
    )

    @property
    def is_exact(self) -> bool:
        """Whether every number that enters a formula was written as a string."""
        formulas = self.model_dump(exclude={"design"})
        return not any(isinstance(number, float) for number in _entries(formulas))

    def document(self) -> dict[str, Any]:
        """The file's content again, as plain tables, lists, strings and numbers."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def to_json(self) -> str:
        """The problem as a JSON file; reading it gives an equal specification."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False) + "\n"


class ProblemSpecification(FileSpecification):
    """A problem with finitely many hypotheses, as parsed."""

    model: ModelSection
    faults: FaultsSection | None = Field(
        default=None, description="Faulty agents, and how the others pool; left out: none."
    )
    messages: MessagesSection | None = Field(
        default=None, description="What agents send; left out: their beliefs, as they are."
    )

    def build_model(self) -> FiniteModel:
        """The model described, its agents drawing what they draw in a round."""
        model, batches = self.model.build(), batches_of(self.learning, self.model.agents)
        return model if set(batches) == {1} else model.batched(batches)

    def build_rational_model(self) -> RationalModel:
        """The same, exactly; doubles are read as the binary fractions they are."""
        model, batches = self.model.build_rational(), batches_of(self.learning, self.model.agents)
        return model if set(batches) == {1} else model.batched(batches)


class RegressionSpecification(FileSpecification):
    """A linear-Gaussian problem, as parsed."""

    regression: RegressionSection

    def build_regression(self) -> RegressionModel:
        """The model described, its agents drawing what they draw in a round."""
        regression, batches = (
            self.regression.build(),
            batches_of(self.learning, self.regression.agents),
        )
        return regression if self.learning is None else regression.batched(batches)

    def build_rational_regression(self) -> RationalRegressionModel:
        """The same, exactly."""
        regression = self.regression.build_rational()
        batches = batches_of(self.learning, self.regression.agents)
        return regression if self.learning is None else regression.batched(batches)


SECTIONS: Mapping[str, type[Section]] = {
    "": ProblemSpecification,
    "model": ModelSection,
    "regression": RegressionSection,
    "agents": RegressionAgentSection,
    "sequence": PhaseSection,
    "design": DesignSection,
    "link_costs": LinkCost,
    "link_availability": LinkAvailability,
    **{f"form:{key}": section for key, section in FORMS.items()},
    **{f"form:{key}": section for key, section in CHANGES.items()},
    "faults": FaultsSection,
    **{f"form:{key}": section for key, section in FAULTS.items()},
    "learning": LearningSection,
    "messages": MessagesSection,
    "form:finite": FiniteAgentSection,
    "form:gaussian": GaussianAgentSection,
    "form:outcomes": OutcomesAgentSection,
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


def _entries(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if key not in _GRAPH_ONLY:
                yield from _entries(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _entries(entry)
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
