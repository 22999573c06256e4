"""`pb.train` and `pb.train_file`: a net of one's own on a network, with data of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, cast

from numpy.typing import ArrayLike

from peerbayes.experiments.run import is_first_process
from peerbayes.experiments.setting import check_installed
from peerbayes.settings.declared import question
from peerbayes.settings.nets import Train, TrainFile
from peerbayes.terminal import stage
from theory.changing import AnyNetwork
from theory.validation import fail

if TYPE_CHECKING:
    # By their modules: other packages have types of these names, and pages link to the right ones.
    from empirical.likelihoods import laws as likelihoods
    from empirical.messages import codec as codecs
    from empirical.train.trained import TrainedNetwork
    from peerbayes.nets.run import TrainOutcome


P = ParamSpec("P")
Data: TypeAlias = Sequence[tuple[ArrayLike, ArrayLike]]

_Trains: TypeAlias = Callable[Concatenate[Any, Data, AnyNetwork, P], "TrainedNetwork"]
_Function: TypeAlias = Callable[..., "TrainedNetwork"]


def _question(settings: Callable[P, Train]) -> Callable[[_Function], _Trains[P]]:
    """A question of three subjects, for the type checker."""
    made: Any = question(settings)
    return cast("Callable[[_Function], _Trains[P]]", made)


@_question(Train)
def train(module: Any, data: Data, network: AnyNetwork, how: Train) -> TrainedNetwork:
    """Train a net on every agent of a network, each on its own data.

    What is said each time are keywords; the rest are settings of three groups, such as
    ``examples=pb.Examples(test=0.2, patience=10)``. With ``pb.Job(force=True)`` a record may
    replace one of another training; with `resume` a killed run goes on from what it left in the
    folder `out`, and ends with the same bits.

    Parameters
    ----------
    module
        A function that returns a torch module, whose weights the seed then draws; a module, drawn
        anew if nobody has loaded, trained or set its weights (``notes`` say which; a function that
        returns it keeps them); or an architecture of :mod:`empirical.nets.architecture`.
    data
        One pair for each agent: inputs (n, …), and labels (n,) or (n, k).
    network
        A network of as many agents, fixed or changing.

    Raises
    ------
    ValueError
        If the module does not fit the data or cannot be trained, data are of no use, a number is
        out of range, too much memory is needed, or training fails; in one line.

    Examples
    --------
    >>> import numpy as np, torch
    >>> import peerbayes as pb
    >>> rng = np.random.default_rng(0)
    >>> data = [(x, (x.sum(axis=1) > 0).astype(int)) for x in rng.normal(size=(3, 200, 4))]
    >>> trained = train(
    ...     lambda: torch.nn.Linear(4, 2), data, pb.Network.from_topology("ring", agents=3),
    ...     rounds=20, local_steps=10, examples=pb.Examples(patience=5),
    ... )
    >>> trained.predict([[1, 1, 1, 1]]).shape
    (3, 1, 2)
    """
    check_installed("train")
    from empirical.train.data.arrays import data_of_arrays
    from empirical.train.data.preparing import Preparation
    from empirical.train.making import drawn_by_seed
    from empirical.train.scores import columns_of
    from peerbayes.nets.reading import label_columns, plan_with, weighed
    from peerbayes.nets.run import run_plan

    examples, method, job = how.examples, how.method, how.job
    _check_kinds(network, examples.test)
    share = examples.test if isinstance(examples.test, float) else 0.0
    found, notes = _likelihood(how.likelihood, data, module, tokens=examples.tokens)
    preparation = Preparation(
        labels=label_columns(columns_of(found), examples.standardise, called="label"),
        validation=examples.validation,
        test=share,
        standardise=examples.standardise,
        tokens=examples.tokens,
        seed=how.seed,
    )
    test = None if isinstance(examples.test, float) else examples.test
    prepared = data_of_arrays(
        data, preparation, names=network.names, test=test, other=examples.other
    )
    weights, weighing = weighed(network, prepared, method.influence)
    module, *drawn = drawn_by_seed(module)
    plan = plan_with(
        module,
        {**vars(how), **vars(examples), **vars(method)},
        likelihood=found,
        network=weights,
        data=prepared,
        notes=(*drawn, *notes, *weighing),
        name=job.name,
        learner=_learner(how.learner),
        codec=_codec(method.codec),
    )
    progress = stage(how.progress, job.name)
    return run_plan(plan, job, exchange=job.exchange, progress=progress).trained


@question(TrainFile)
def train_file(path: str | Path, how: TrainFile) -> TrainOutcome:
    """Train what a net file says, and leave a record, the beliefs, and a page.

    Under torchrun the agents are spread over its processes, of which the first one writes.

    Parameters
    ----------
    path
        A TOML or JSON file ([](../reference/net-files.md)).

    Raises
    ------
    ValueError
        As of :func:`~peerbayes.front.train.train`, or if the file is not one; in one line.
    """
    check_installed("train")
    from empirical.nets.exchange import connect
    from peerbayes.nets.reading import plan_of, read_net_file
    from peerbayes.nets.run import run_plan

    problem = read_net_file(path, directory=how.images, seed=how.seed)
    with connect(how.device) as exchange:
        plan = plan_of(problem, how.rounds, how.codec, source=str(path))
        progress = None if how.progress is None else how.progress(problem.name)
        outcome = run_plan(plan, how, exchange=exchange, progress=progress)
    if outcome.record_path is None or not is_first_process():
        return outcome
    from peerbayes.report import write_report

    page = write_report([outcome.record_path], outcome.record_path.with_suffix(".html"))
    return replace(outcome, report_path=page)


def load_trained(folder: str | Path, *, module: Any = None) -> TrainedNetwork:
    """A trained network that was saved, or that a training left beside its record.

    Parameters
    ----------
    folder
        Where it is: ``NAME.trained`` beside the record ``NAME.json``.
    module
        The torch module that was trained, or a function that returns it; its weights are not
        looked at. May be left out for nets of dense layers, convolutions, pooling and ReLU.

    Raises
    ------
    ValueError
        If the file is damaged or gone, or the module is another one.
    """
    check_installed("load_trained")
    from empirical.train.trained import load_trained as load

    return load(folder, module=module)


def _check_kinds(network: object, test: object) -> None:
    """Refuse what is of another kind than it is to be."""
    if not isinstance(network, AnyNetwork):
        remedy = "make one with pb.Network or pb.Network.from_topology"
        raise fail("network", "a network, fixed or changing", type(network).__name__, remedy)
    if test is not None and not isinstance(test, tuple | list | float):
        wanted = "a pair of inputs and labels, or a share in [0, 1) of each agent's data"
        raise fail("test", wanted, type(test).__name__, "give one of them")


def _learner(given: Any) -> Any:
    from empirical.train.learners import learner_of

    if hasattr(given, "message"):
        return given
    words = {"learner": given} if isinstance(given, str) else given
    if not isinstance(words, Mapping):
        remedy = "name one of empirical.train.learners.LEARNERS"
        raise fail("learner", "a learner, its name or its words", type(given).__name__, remedy)
    settings = {name: value for name, value in words.items() if name != "learner"}
    return learner_of(words.get("learner", ""), **settings)


def _codec(given: str | Mapping[str, Any] | codecs.Codec | None) -> codecs.Codec | None:
    from empirical.messages.codecs import codec_from_words, codec_named

    if isinstance(given, str):
        return codec_named(given)
    if isinstance(given, Mapping):
        return codec_from_words(given)
    if given is not None and not hasattr(given, "coder"):
        remedy = "name one of empirical.messages.codecs.CODECS"
        raise fail("codec", "a codec, its name or its words", type(given).__name__, remedy)
    return given


def _likelihood(
    given: likelihoods.Likelihood | Mapping[str, Any] | None,
    data: Sequence[tuple[ArrayLike, ArrayLike]],
    module: Any,
    *,
    tokens: bool,
) -> tuple[likelihoods.Likelihood, tuple[str, ...]]:
    """The likelihood, and a note on it if nobody said which."""
    from empirical.likelihoods.heads import likelihood_of
    from empirical.train.data.arrays import are_classes, are_one_hot, as_labels
    from empirical.train.data.examples import as_finite
    from empirical.train.making import outputs_of_module

    each = isinstance(data, Sequence) and data
    if not each or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in data):
        raise fail("data", "a pair of inputs and labels for each agent", "others", "give pairs")
    if isinstance(given, Mapping):
        return likelihood_of(given), ()
    if given is not None and not hasattr(given, "words"):
        remedy = 'write {"kind": "classes", "count": 10} or the like'
        raise fail("likelihood", "a likelihood or its words", repr(given), remedy)
    if given is not None:
        return given, ()
    labels = [as_labels(f"data[{k}], labels", pair[1]) for k, pair in enumerate(data)]
    if all(map(are_one_hot, labels)):
        remedy = "take their argmax, or give the likelihood"
        raise fail("data[0], labels", "one label an input", "one-hot rows of classes", remedy)
    if all(map(are_classes, labels)):
        example = as_finite("data[0], inputs", data[0][0])[:2]
        count = outputs_of_module(module, example, tokens=tokens)
        words: dict[str, Any] = {"kind": "classes", "count": count}
        kind = "whole numbers" if labels[0].dtype.kind in "iub" else "texts"
        note = f"likelihood: {count} classes, for labels are {kind}"
    else:
        count = labels[0].shape[1] if labels[0].ndim == 2 else 1
        words = {"kind": "gaussian", "std": "learned", "count": count}
        note = "likelihood: normal noise whose width is learned, for labels are real numbers"
    return likelihood_of(words), (note,)
