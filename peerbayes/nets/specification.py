"""A net file as a whole: its parsed form and its JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from peerbayes.nets.data_section import DataSection, DealSection
from peerbayes.nets.net_section import (
    LIKELIHOODS,
    LikelihoodSection,
    MessagesSection,
    NetSection,
    TrainingSection,
)
from peerbayes.problem.changes_section import CHANGES, PhaseSection
from peerbayes.problem.entries import Section
from peerbayes.problem.network_section import FORMS, NetworkSection, with_graph_files


class NetSpecification(Section):
    """A net file, as parsed."""

    name: str = Field(min_length=1, description="Short name; left out: the file's name.")
    title: str | None = Field(default=None, description="One line that says what it is about.")
    network: NetworkSection
    data: DataSection
    net: NetSection
    likelihood: LikelihoodSection
    training: TrainingSection
    messages: MessagesSection | None = None

    def document(self) -> dict[str, Any]:
        """The file's content again, as plain tables, lists, texts and numbers."""
        return self.model_dump(mode="json", exclude_defaults=True)


SECTIONS: Mapping[str, type[Section]] = {
    "": NetSpecification,
    "data": DataSection,
    "deal": DealSection,
    "net": NetSection,
    "training": TrainingSection,
    "messages": MessagesSection,
    "sequence": PhaseSection,
    **{f"form:{key}": section for key, section in FORMS.items()},
    **{f"form:{key}": section for key, section in CHANGES.items()},
    **{f"form:{key}": section for key, section in LIKELIHOODS.items()},
}
"""The section that the keys at a place belong to, by the last name or tag of the place."""


def net_schema() -> dict[str, Any]:
    """The JSON schema of a net file, generated from the section classes."""
    schema = NetSpecification.model_json_schema()
    with_graph_files(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "required": [key for key in schema["required"] if key != "name"],
        "title": "peerbayes net file",
        "description": "Data, a network, a net and how it is trained; one TOML or JSON file.",
    }
