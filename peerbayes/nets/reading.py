"""From a net file to what it poses.

Bad input ends in a ``ValueError`` of one line: file, place, expected, got, remedy. The keys are
described in docs: reference/net-files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from empirical.train.data.agents_data import AgentsData
from empirical.train.data.examples import Kind
from empirical.train.data.preparing import LabelColumn, has_channels_last
from empirical.train.data.source_files import read_source
from peerbayes.messages import input_error, translate
from peerbayes.nets.gathering import Wanted, gathered
from peerbayes.nets.net_section import (
    ClassesSection,
    CountsSection,
    GaussianSection,
    HeadsSection,
)
from peerbayes.nets.specification import SECTIONS, NetSpecification
from peerbayes.nets.training_problem import TrainingProblem
from peerbayes.problem.agents_by_name import by_number
from peerbayes.problem.files import read_document
from peerbayes.problem.network_section import build_network
from theory.validation import fail


def read_net_file(
    path: str | Path, *, directory: Path | None = None, seed: int | None = None
) -> TrainingProblem:
    """The training that a TOML or JSON file describes, with its data.

    Parameters
    ----------
    directory
        Of the files of MNIST and Fashion-MNIST; left out: the usual places.
    seed
        In place of the file's own seed of the training; what is dealt and held out has the seed of
        ``[data]``, or else this one.

    Raises
    ------
    ValueError
        For anything wrong with the file or the data, in one line that names the file and the place.
    """
    path = Path(path)
    document = {"name": path.stem, **read_document(path)}
    if seed is not None and isinstance(document.get("training"), Mapping):
        document["training"] = {**document["training"], "seed": seed}
    return net_from_document(document, source=str(path), folder=path.parent, directory=directory)


def net_from_document(
    document: Mapping[str, Any],
    *,
    source: str = "",
    folder: Path = Path(),
    directory: Path | None = None,
) -> TrainingProblem:
    """The training that a parsed net file describes; paths in it count from `folder`.

    Raises
    ------
    ValueError
        As for :func:`read_net_file`.
    """
    specification = specification_of(document, source=source, folder=folder)
    network = build_network(specification.network, specification.name, source=source)
    own = specification.net.module_file
    module = () if own is None else read_source(folder / own[0]).sources
    section, training = specification.data, specification.training
    wanted = Wanted(
        section,
        _labels(specification, source),
        folder,
        network.agents,
        network.names,
        training.seed if section.seed is None else section.seed,
        directory,
    )
    try:
        data = gathered(wanted)
        if specification.net.convolutions is not None and has_channels_last(data.input_shape):
            expected, got = "images of shape (channels, height, width)", data.input_shape
            remedy = "move the last axis to the front: numpy.moveaxis(inputs, -1, 1)"
            raise fail("net.convolutions", expected, f"inputs of shape {got}", remedy)
        words = _words(specification.likelihood, data)
    except ValueError as error:
        raise _with_source(source, str(error)) from None
    if own is not None:
        data = replace(data, sources=(*data.sources, (own[0], module[0][1])))
    return TrainingProblem(
        specification.name,
        specification.title or "",
        network,
        data,
        words,
        specification,
        folder,
    )


def specification_of(
    document: Mapping[str, Any], *, source: str, folder: Path = Path()
) -> NetSpecification:
    """The content of a net file, checked as far as that goes without its data.

    Raises
    ------
    ValueError
        If a key is unknown, missing or of the wrong type; in one line that names the place.
    """
    try:
        return NetSpecification.model_validate(by_number(document, source=source, folder=folder))
    except ValidationError as error:
        raise translate(error, source=source, sections=SECTIONS) from None


def _with_source(source: str, text: str) -> ValueError:
    """A message that begins with a key of the net file, after that file's name."""
    of_file = text.startswith(("data.", "data:", "likelihood", "net"))
    return ValueError(f"{source}: {text}" if source and of_file else text)


def _labels(specification: NetSpecification, source: str) -> tuple[LabelColumn, ...]:
    """What each target is, as the likelihood says; names come from the data."""
    section, data = specification.likelihood, specification.data
    parts = section.parts if isinstance(section, HeadsSection) else (section,)
    learned = [isinstance(part, GaussianSection) and isinstance(part.std, str) for part in parts]
    scale = data.standardise_target
    if scale and not any(learned):
        wanted = 'a gaussian with std = "learned" or "input", whose unit may change'
        remedy = "leave standardise_target out"
        raise input_error(source, ("data", "standardise_target"), wanted, "none", remedy)
    if scale is None:
        scale = data.standardise
    return tuple(
        LabelColumn(
            f"target {k}" if len(parts) > 1 else "label",
            _kind(part),
            part.count if isinstance(part, ClassesSection) else None,
            standardise=scale and own,
        )
        for k, (part, own) in enumerate(zip(parts, learned, strict=True))
    )


def _kind(part: ClassesSection | GaussianSection | CountsSection) -> Kind:
    if isinstance(part, ClassesSection):
        return "classes"
    return "counts" if isinstance(part, CountsSection) else "numbers"


def _words(
    section: ClassesSection | GaussianSection | CountsSection | HeadsSection, data: AgentsData
) -> dict[str, Any]:
    """The likelihood's words, with the counts that the data have."""
    if isinstance(section, HeadsSection):
        pairs = zip(section.parts, data.targets, strict=True)
        parts = [_part(part, len(target.classes or (None,))) for part, target in pairs]
        return {"kind": "heads", "parts": parts}
    classes = data.classes
    return _part(section, len(data.targets) if classes is None else len(classes))


def _part(part: ClassesSection | GaussianSection | CountsSection, count: int) -> dict[str, Any]:
    if isinstance(part, ClassesSection) and count == 1:
        remedy = "add data of another class, or predict something else"
        raise fail("data", "labels of at least two classes", "a single one", remedy)
    return {**part.model_dump(exclude_none=True), "count": count}
