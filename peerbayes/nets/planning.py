"""From a net file, read, to all that its training's numbers follow from; needs torch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from peerbayes.nets.influence import weighed

if TYPE_CHECKING:
    from empirical.messages.codec import Codec
    from empirical.train.plan import TrainingPlan
    from peerbayes.nets.training_problem import TrainingProblem


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
    from empirical.train.learners import learner_of
    from empirical.train.likelihoods.heads import likelihood_of
    from empirical.train.making import net_for, notes_on
    from empirical.train.plan import DRAWS, TrainingPlan

    training, found = problem.training, likelihood_of(problem.likelihood)
    try:
        learner = learner_of(training.learner, **training.settings)
        network, notes = weighed(problem.network, problem.data, training.influence)
    except ValueError as error:
        raise ValueError(f"{source}: training: {error}") from None

    messages = problem.specification.messages

    def build() -> Any:
        return problem.module(outputs=found.outputs - found.constants)

    own = problem.specification.net.module_file is not None
    example = problem.data.train[0].inputs[:4]
    net = net_for(build if own else build(), found, example)
    data = replace(problem.data, sources=(*problem.data.sources, *problem.imported))
    return TrainingPlan(
        name=problem.name,
        title=problem.title,
        net=net,
        likelihood=found,
        network=network,
        learner=learner,
        data=data,
        rounds=training.rounds if rounds is None else rounds,
        local_steps=training.local_steps,
        batch=training.batch,
        seed=training.seed,
        patience=training.patience,
        every=training.every,
        draws=DRAWS if training.draws is None else training.draws,
        schedule=training.schedule,
        decay=training.decay,
        warm_up=training.warm_up,
        products=training.products,
        codec=_codec(problem, codec, source=source),
        missing="own" if messages is None else messages.missing,
        notes=(*notes, *notes_on(net, found, example)),
    )


def _codec(problem: TrainingProblem, named: str | None, *, source: str) -> Codec | None:
    from empirical.messages.codecs import codec_named, codec_of

    messages = problem.specification.messages
    if named is not None:
        return None if named == "none" else codec_named(named)
    if messages is None:
        return None
    try:
        return codec_of(messages.codec, **messages.settings)
    except ValueError as error:
        raise ValueError(f"{source}: messages: {error}") from None
