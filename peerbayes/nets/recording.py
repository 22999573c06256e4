"""From a training to its record: plain values, with agents and targets by their names."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from platform import machine, python_version
from typing import TYPE_CHECKING, Any

import numpy as np

from peerbayes._version import __version__
from peerbayes.documents import GraphDocument, names_of, numbers
from peerbayes.nets.documents import (
    DataDocument,
    HistoryDocument,
    KeptBeliefs,
    MessagesDocument,
    ScoresDocument,
    SettingsDocument,
    StandardisationDocument,
    TestLook,
    TrainRecord,
)
from peerbayes.problem.problems import graph_of
from theory import Network
from theory.changing import AnyNetwork, influence

if TYPE_CHECKING:
    from empirical.train.data.agents_data import AgentsData
    from empirical.train.plan import TrainingPlan
    from empirical.train.scores import Scores
    from empirical.train.trained import TrainedNetwork


def record_of(
    trained: TrainedNetwork,
    plan: TrainingPlan,
    *,
    looks: Sequence[TestLook],
    kept: KeptBeliefs | None,
) -> TrainRecord:
    """What `train` leaves on disk of a training.

    Parameters
    ----------
    looks
        At the test data in this folder, this one last.
    kept
        The file of the beliefs; None where none was written.
    """
    data, history = plan.data, trained.history
    kept_round = int(trained.settings["round_kept"])
    rounds_run = int(history.rounds[-1]) if len(history.rounds) else 0
    return TrainRecord(
        names=_names(data),
        name=plan.name,
        title=plan.title,
        agents=data.agents,
        net=dict(plan.net.words),
        parameters=plan.net.parameters,
        likelihood=dict(plan.likelihood.words),
        learner=dict(trained.learner),
        settings=SettingsDocument(**{**plan.settings, "products": trained.settings["products"]}),
        messages=_messages(trained),
        rounds_run=rounds_run,
        round_kept=kept_round,
        stopped_early=rounds_run < plan.rounds,
        data=_data(plan),
        inputs=_standardisation(data.scaling),
        targets=_standardisation(data.target_scaling),
        validation=_scores(trained.metrics.validation, plan),
        test=_scores(trained.metrics.test, plan),
        test_looks=list(looks),
        fingerprint=plan.fingerprint,
        kept=kept,
        versions=_versions(),
        notes=list(trained.notes),
        graph=_graph(plan.network, data),
        history=HistoryDocument(
            rounds=history.rounds.tolist(),
            loss=[numbers(row) for row in history.loss],
            validation={
                _called(measure, plan): [numbers(row) for row in history.validation[:, :, k]]
                for k, measure in enumerate(history.measures)
                if plan.has_validation
            },
            bytes_sent=history.bytes_sent.tolist(),
            seconds=history.seconds.tolist(),
        ),
    )


def _messages(trained: TrainedNetwork) -> MessagesDocument | None:
    words = dict(trained.settings.get("messages", {}))
    if not words:
        return None
    sent = trained.history.bytes_sent
    return MessagesDocument(
        missing=words.pop("missing"),
        bytes_uncoded=words.pop("bytes_uncoded"),
        bytes_sent=int(sent[-1]) if len(sent) else 0,
        codec=words,
    )


def _names(data: AgentsData) -> list[str] | None:
    """What agents are called; None if by their numbers."""
    numbered = all(name == str(agent) for agent, name in enumerate(data.names))
    return None if numbered else names_of(data.names)


def _called(measure: str, plan: TrainingPlan) -> str:
    """A measure of one of several heads, by its target's name in place of its number."""
    what, of, head = measure.rpartition(" of ")
    targets = plan.data.targets
    named = of and len(targets) == len(plan.likelihood.words["parts"])
    return f"{what} of {targets[int(head)].name}" if named else measure


def _data(plan: TrainingPlan) -> DataDocument:
    data = plan.data
    return DataDocument(
        train=[len(examples) for examples in data.train],
        validation=[len(examples) for examples in data.validation],
        test=0 if data.test is None else len(data.test),
        other=0 if data.other is None else len(data.other),
        inputs=list(data.input_shape),
        features=None if data.features is None else list(data.features),
        classes=None if data.classes is None else list(data.classes),
        sources=dict(data.sources),
        test_sha256=plan.test_sha256,
    )


def _standardisation(scaling: Any) -> StandardisationDocument | None:
    if scaling is None:
        return None
    mean, std = (np.atleast_1d(part).ravel().tolist() for part in (scaling.mean, scaling.std))
    return StandardisationDocument(mean=mean, std=std)


def _scores(scores: Scores | None, plan: TrainingPlan) -> ScoresDocument | None:
    if scores is None:
        return None
    bins = scores.bins.sum(axis=0)
    each = {_called(name, plan): numbers(scores[name]) for name in scores.measures}
    return ScoresDocument(
        examples=scores.examples.astype(int).tolist(),
        draws=scores.draws,
        bins=bins.tolist() if bins.any() else None,
        **{name: values for name, values in each.items() if " of " not in name},
        heads={name: values for name, values in each.items() if " of " in name} or None,
    )


def _graph(network: AnyNetwork, data: AgentsData) -> GraphDocument | None:
    """How the network is drawn; None for one whose agents' influence is not known."""
    try:
        graph = (
            GraphDocument.of(network)
            if isinstance(network, Network)
            else graph_of(network, influence(network).values)
        )
    except ValueError:
        return None
    return graph.model_copy(update={"names": _names(data)})


def _versions() -> dict[str, str]:
    """Versions of everything that the last bit of a result may depend on."""
    names = ("torch", "numpy", "numba", "safetensors")
    return {
        "peerbayes": __version__,
        "python": python_version(),
        "machine": machine(),
        **{name: version(name) for name in names},
    }
