"""From a net file to what it poses, and to the plan of its training.

Bad input ends in a ``ValueError`` of one line: file, place, expected, got, remedy. The keys are
described in docs: reference/net-files. What is read is a `TrainingProblem`; of it, as of the
arguments of `pb.train`, a plan is made (`plan_with`), which needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from empirical.train.data.agents_data import AgentsData
from empirical.train.data.examples import Kind
from empirical.train.data.preparing import LabelColumn, has_channels_last
from empirical.train.data.source_files import Sources, read_source, relative_to
from peerbayes.messages import input_error, translate
from peerbayes.nets.gathering import Gathering
from peerbayes.nets.own_module import imported_by, own_module
from peerbayes.nets.sections import (
    SECTIONS,
    ClassesSection,
    HeadsSection,
    MessagesSection,
    NetSpecification,
    OneTarget,
    TrainingSection,
)
from peerbayes.problem.agents_by_name import by_number
from peerbayes.problem.entries import worded
from peerbayes.problem.files import read_document
from peerbayes.problem.network_section import build_network
from theory.changing import AnyNetwork
from theory.network import Network
from theory.validation import fail

if TYPE_CHECKING:
    from empirical.messages.codec import Codec
    from empirical.train.plan import TrainingPlan

KINDS: Mapping[str, Kind] = {"classes": "classes", "gaussian": "numbers", "counts": "counts"}
"""What targets are, by the kind of their likelihood."""


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """A net file, read: agents with data on a network, a net, and how it is trained.

    Attributes
    ----------
    name, title
        Of the file.
    network
        Who hears whom.
    data
        The data of all agents, in the network's order. The sources are paths from `folder`, that of
        the module among them.
    likelihood
        What `empirical.likelihoods.heads.likelihood_of` takes, with the number of classes or
        of targets that the data have.
    specification
        The file's content.
    folder
        That of the net file.
    """

    name: str
    title: str
    network: AnyNetwork
    data: AgentsData
    likelihood: Mapping[str, Any]
    specification: NetSpecification
    folder: Path

    @property
    def imported(self) -> Sources:
        """What the user's own module, made by now, has imported from beside its file."""
        own = self.specification.net.module_file
        if own is None:
            return ()
        files = [path for path in imported_by(self.folder / own[0]) if path.stat().st_size]
        return relative_to(self.folder, tuple(read_source(path).sources[0] for path in files))

    @property
    def training(self) -> TrainingSection:
        """Learner, rounds, steps, and the learner's settings."""
        return self.specification.training

    def module(self, *, outputs: int) -> Any:
        """The net: a new torch module, or an architecture; needs torch.

        Parameters
        ----------
        outputs
            How many numbers it is to put out; a module of the user's own decides that itself.

        Raises
        ------
        ValueError
            If the module cannot be made, or layers do not fit the inputs.
        """
        from empirical.nets.architecture import Architecture, Convolution, Dense, MaxPool

        net = self.specification.net
        if net.module_file is not None:
            file, function = net.module_file
            return own_module(self.folder / file, function)
        shape = self.data.input_shape
        if net.convolutions is not None and len(shape) != 3:
            wanted = "images of shape (channels, height, width)"
            raise fail("net.convolutions", wanted, f"inputs of shape {shape}", "use hidden")
        layers: list[Convolution | MaxPool | Dense] = []
        for channels in net.convolutions or ():
            layers += [Convolution(channels, 3, padding=1), MaxPool(2)]
        layers += [Dense(units) for units in (*(net.hidden or ()), outputs)]
        if len(shape) not in (1, 3):
            wanted = "inputs of shape (features,) or (channels, height, width)"
            remedy = "write a module of your own"
            raise fail("net.hidden", wanted, f"shape {shape}", remedy)
        return Architecture(shape, tuple(layers))


# Reading ------------------------------------------------------------------------------------------


def read_net_file(
    path: str | Path, *, directory: Path | None = None, seed: int | None = None
) -> TrainingProblem:
    """The training that a TOML or JSON file describes, with its data; paths in it count from it.

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
    source, folder = str(path), path.parent
    document = {"name": path.stem, **read_document(path)}
    if seed is not None and isinstance(document.get("training"), Mapping):
        document["training"] = {**document["training"], "seed": seed}
    specification = specification_of(document, source=source, folder=folder)
    network = build_network(specification.network, specification.name, source=source)
    own = specification.net.module_file
    module = () if own is None else read_source(folder / own[0]).sources
    section, training = specification.data, specification.training
    gathering = Gathering(
        section,
        _labels(specification, source),
        folder,
        network.agents,
        network.names,
        training.seed if section.seed is None else section.seed,
        directory,
    )
    # A message that begins with a key of the net file gets that file's name.
    keys = ("data.", "data:", "likelihood", "net")
    with worded(lambda text: f"{source}: {text}" if text.startswith(keys) else text):
        data = gathering.data()
        if specification.net.convolutions is not None and has_channels_last(data.input_shape):
            expected, got = "images of shape (channels, height, width)", data.input_shape
            remedy = "move the last axis to the front: numpy.moveaxis(inputs, -1, 1)"
            raise fail("net.convolutions", expected, f"inputs of shape {got}", remedy)
        words = _words(specification.likelihood, data)
    if own is not None:
        data = replace(data, sources=(*data.sources, (own[0], module[0][1])))
    title = specification.title or ""
    return TrainingProblem(specification.name, title, network, data, words, specification, folder)


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


def _labels(specification: NetSpecification, source: str) -> tuple[LabelColumn, ...]:
    """What each target is, as the likelihood says; names come from the data."""
    section, scale = specification.likelihood, specification.data.standardise_target
    parts = section.parts if isinstance(section, HeadsSection) else (section,)
    words = [part.model_dump() for part in parts]
    if scale and not any(map(_has_own_unit, words)):
        wanted = 'a gaussian with std = "learned" or "input", whose unit may change'
        remedy = "leave standardise_target out"
        raise input_error(source, ("data", "standardise_target"), wanted, "none", remedy)
    scale = specification.data.standardise if scale is None else scale
    return label_columns(words, scale, called="target")


def label_columns(
    columns: Sequence[Mapping[str, Any]], standardise: bool, *, called: str
) -> tuple[LabelColumn, ...]:
    """What each column of the labels is; only noise that is learned may change its unit.

    Parameters
    ----------
    columns
        The words of the likelihood of each.
    called
        What several columns are called, with their numbers.
    """
    return tuple(
        LabelColumn(
            f"{called} {k}" if len(columns) > 1 else "label",
            KINDS[words["kind"]],
            words["count"] if words["kind"] == "classes" else None,
            standardise and _has_own_unit(words),
        )
        for k, words in enumerate(columns)
    )


def _has_own_unit(words: Mapping[str, Any]) -> bool:
    return isinstance(words.get("std"), str)


def _words(section: OneTarget | HeadsSection, data: AgentsData) -> dict[str, Any]:
    """The likelihood's words, with the counts that the data have."""
    if isinstance(section, HeadsSection):
        pairs = zip(section.parts, data.targets, strict=True)
        parts = [_part(part, len(target.classes or (None,))) for part, target in pairs]
        return {"kind": "heads", "parts": parts}
    classes = data.classes
    return _part(section, len(data.targets) if classes is None else len(classes))


def _part(part: OneTarget, count: int) -> dict[str, Any]:
    if isinstance(part, ClassesSection) and count == 1:
        remedy = "add data of another class, or predict something else"
        raise fail("data", "labels of at least two classes", "a single one", remedy)
    return {**part.model_dump(exclude_none=True), "count": count}


# Planning -----------------------------------------------------------------------------------------

INFLUENCES = ("network", "data")


def weighed(
    network: AnyNetwork, data: AgentsData, influence: str
) -> tuple[AnyNetwork, tuple[str, ...]]:
    """The network that is trained on, and what is to be noted of it.

    Parameters
    ----------
    influence
        ``"network"``: the weights as they are; ``"data"``: on the same links, weights whose
        stationary distribution is proportional to the examples that agents train on
        (:func:`theory.design.reweighted`).

    Raises
    ------
    ValueError
        If it is neither, the network changes, or its agents are not those of the data.
    """
    if influence not in INFLUENCES:
        wanted = " or ".join(map(repr, INFLUENCES))
        raise fail("influence", wanted, repr(influence), "choose one of them")
    if influence == "network":
        return network, ()
    if not isinstance(network, Network):
        wanted = '"network", the weights as they are, for a network that changes'
        raise fail("influence", wanted, repr(influence), "leave it out")
    held = [len(examples) for examples in data.train]
    if len(held) != network.agents:
        remedy = "give each agent of the network data, or change the network"
        raise fail("network", f"{len(held)} agents, as many as hold data", network.agents, remedy)
    from theory.design import reweighted

    found = reweighted(network, held)
    v = found.stationary_distribution
    note = f"weights: by the data, agents' influence from {v.min():.3g} to {v.max():.3g}"
    return found, (f"{note}; modulus {found.slem:.3g}, the network's own {network.slem:.3g}",)


def plan_with(module: Any, how: Mapping[str, Any], **more: Any) -> TrainingPlan:
    """The plan of a training that a net file or Python asks for.

    Parameters
    ----------
    module
        As of :func:`empirical.train.making.net_for`.
    how
        Settings by name; those that a plan has not are left out.
    more
        All else of a plan, or in place of what `how` says; what is noted of the net is added.

    Raises
    ------
    ValueError
        If the net does not fit the data, or a number is out of range; in one line.
    """
    from empirical.train.making import net_for, notes_on
    from empirical.train.plan import TrainingPlan

    given = {**how, **more}
    likelihood, example = given["likelihood"], given["data"].train[0].inputs[:4]
    net = net_for(module, likelihood, example)
    given |= {"net": net, "notes": (*given["notes"], *notes_on(net, likelihood, example))}
    names = [field.name for field in fields(TrainingPlan)]
    return TrainingPlan(**{name: given[name] for name in names if name in given})


def plan_of(
    problem: TrainingProblem, rounds: int | None, codec: str | None, *, source: str
) -> TrainingPlan:
    """The plan of a net file's training.

    Parameters
    ----------
    rounds, codec
        In place of the file's own, if they are not None.
    source
        What the file is called in messages.

    Raises
    ------
    ValueError
        If learner, codec and net do not fit; in one line.
    """
    from empirical.likelihoods.heads import likelihood_of
    from empirical.train.learners import learner_of
    from empirical.train.plan import DRAWS

    training, messages = problem.training, problem.specification.messages
    likelihood = likelihood_of(problem.likelihood)
    with worded(lambda text: f"{source}: training: {text}"):
        learner = learner_of(training.learner, **training.settings)
        network, notes = weighed(problem.network, problem.data, training.influence)

    def build() -> Any:
        return problem.module(outputs=likelihood.outputs - likelihood.constants)

    plan = plan_with(
        build if problem.specification.net.module_file is not None else build(),
        vars(training),
        likelihood=likelihood,
        network=network,
        data=problem.data,
        notes=notes,
        name=problem.name,
        title=problem.title,
        learner=learner,
        rounds=training.rounds if rounds is None else rounds,
        draws=DRAWS if training.draws is None else training.draws,
        codec=_codec(messages, codec, source=source),
        missing="own" if messages is None else messages.missing,
    )
    sources = (*problem.data.sources, *problem.imported)
    return replace(plan, data=replace(problem.data, sources=sources))


def _codec(messages: MessagesSection | None, named: str | None, *, source: str) -> Codec | None:
    from empirical.messages.codecs import codec_named, codec_of

    if named is not None:
        return None if named == "none" else codec_named(named)
    if messages is None:
        return None
    with worded(lambda text: f"{source}: messages: {text}"):
        return codec_of(messages.codec, **messages.settings)
