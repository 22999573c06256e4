"""`pb.load`, `pb.problem_of` and `pb.save`: problems from files, from Python, and back to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, get_args, overload

from peerbayes.terminal import Stages
from theory.typed import require
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.problem.builtins.loading import (
        ChangingName,
        FaultyName,
        FiniteName,
        RegressionName,
    )
    from peerbayes.problem.problems import (
        AnyProblem,
        ChangingProblem,
        FaultyProblem,
        Problem,
        RegressionProblem,
    )
    from peerbayes.settings.questions import Data
    from theory import FiniteModel, Network
    from theory.changing import ChangingNetwork
    from theory.messages import Quantiser
    from theory.progress import Progress
    from theory.regression import RegressionModel
    from theory.robustness import Faults

Batch: TypeAlias = int | Sequence[int] | Mapping[str, int]
Folder: TypeAlias = str | Path | None


class _Reading(TypedDict, total=False):
    data: Folder
    progress: Progress | None


@overload
def load(name: FiniteName, **how: Unpack[_Reading]) -> Problem: ...
@overload
def load(name: ChangingName, **how: Unpack[_Reading]) -> ChangingProblem: ...
@overload
def load(name: FaultyName, **how: Unpack[_Reading]) -> FaultyProblem: ...
@overload
def load(name: RegressionName, **how: Unpack[_Reading]) -> RegressionProblem: ...
@overload
def load(name: str | Path, **how: Unpack[_Reading]) -> Any: ...
def load(name: str | Path, *, data: Folder = None, progress: Progress | None = None) -> AnyProblem:
    """The problem of a file, or a built-in by its name.

    Type checkers know the kind of a built-in by its name, and that of a file not.

    Parameters
    ----------
    name
        A TOML or JSON file, a built-in such as ``"p2-star"`` (its default variant), or a variant
        such as ``"p2-star a=0.1"``; ``peerbayes list`` shows them all.
    data
        Folder of the image files, for built-ins that need them.
    progress
        Called with (done, total) while classifiers are trained.

    Raises
    ------
    ValueError
        In one line, if there is no such problem, or something is wrong with its file or data.

    Examples
    --------
    >>> load("p2-star a=0.1").network.agents
    9
    """
    from peerbayes.problem.builtins.loading import load_problem

    return load_problem(name, data=None if data is None else Path(data), progress=progress)


def save(problem: AnyProblem, path: str | Path) -> Path:
    """Write a problem to a file, TOML or JSON by its ending; it loads to an equal problem.

    Raises
    ------
    ValueError
        If the problem has something that no file says, the ending is another, or the file cannot
        be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(load("two-coins"), f"{folder}/coins.toml")
    ...     load(path).model.hypotheses
    ('fair', 'loaded')
    """
    from peerbayes.problem.writing import write_problem

    return write_problem(as_problem(problem), path)


class _Posing(TypedDict, total=False):
    name: str
    title: str
    batch: Batch | None


@overload
def problem_of(
    network: Network, model: FiniteModel, *, faults: Faults, **how: Unpack[_Posing]
) -> FaultyProblem: ...
@overload
def problem_of(
    network: Network,
    model: FiniteModel,
    *,
    messages: Quantiser | None = None,
    **how: Unpack[_Posing],
) -> Problem: ...
@overload
def problem_of(
    network: ChangingNetwork, model: FiniteModel, **how: Unpack[_Posing]
) -> ChangingProblem: ...
@overload
def problem_of(
    network: Network, model: RegressionModel, **how: Unpack[_Posing]
) -> RegressionProblem: ...
@overload
def problem_of(
    network: Network | ChangingNetwork,
    model: FiniteModel | RegressionModel,
    *,
    faults: Faults | None = None,
    messages: Quantiser | None = None,
    **how: Unpack[_Posing],
) -> AnyProblem: ...
def problem_of(
    network: Network | ChangingNetwork,
    model: FiniteModel | RegressionModel,
    *,
    name: str = "problem",
    title: str = "",
    faults: Faults | None = None,
    messages: Quantiser | None = None,
    batch: Batch | None = None,
) -> AnyProblem:
    """A problem of a network and a model, of the kind that goes with them.

    Parameters
    ----------
    network, model
        Equally many agents in both. The network may change; a `RegressionModel` needs one that
        does not.
    name, title
        A short name, and one line about it (possibly empty).
    faults
        Who is faulty, and how honest agents pool (:class:`theory.robustness.Faults`); nobody if
        left out.
    messages
        What agents send (:mod:`theory.messages`); their beliefs as they are if left out.
    batch
        Observations a round: a number, one for each agent, or a table of some by name; what the
        model says if left out.

    Raises
    ------
    ValueError
        If these do not go together.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(truth=[[.5, .5]], likelihood=[[[.5, .5]], [[.75, .25]]])
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> type(problem_of(Network([[.9, .1], [.6, .4]]), model)).__name__
    'Problem'
    """
    from peerbayes.problem.problems import (
        ChangingProblem,
        FaultyProblem,
        Problem,
        RegressionProblem,
    )
    from theory import FiniteModel, Network
    from theory.changing.delays import AnyNetwork
    from theory.messages import QUANTISERS
    from theory.regression import RegressionModel
    from theory.robustness import Faults

    for label, text in (("name", name), ("title", title)):
        if not isinstance(text, str) or not (text or label == "title"):
            raise fail(label, "text", repr(text), "give it in quotation marks")
    if faults is not None:
        require("faults", faults, Faults)
    if messages is not None:
        require("messages", messages, *QUANTISERS.values())
    require("network", network, *get_args(AnyNetwork))
    require("model", model, FiniteModel, RegressionModel)
    if batch is not None:
        from peerbayes.problem.writing import batches_on

        model = model.batched(batches_on(batch, network, model))
    if messages is not None:
        fits = isinstance(network, Network) and isinstance(model, FiniteModel) and faults is None
        if not fits:
            wanted = "none but with hypotheses, a Network that stays and honest agents"
            raise fail("messages", wanted, messages.name, "leave them out")
    if not isinstance(network, Network):
        if isinstance(model, RegressionModel) or faults is not None:
            wanted = "a Network that stays as it is, with a regression or with faults"
            raise fail("network", wanted, type(network).__name__, "give its weights")
        return ChangingProblem(name, title, network, model)
    if isinstance(model, RegressionModel):
        if faults is not None:
            raise fail("faults", "none with a regression", "some", "leave them out")
        return RegressionProblem(name, title, network, model)
    fixed = Problem(name, title, network, model, messages=messages)
    if faults is None:
        return fixed
    return FaultyProblem(fixed, faults)


def as_problem(
    value: AnyProblem | str | Path, how: Data | None = None, stages: object = None
) -> AnyProblem:
    """The problem itself, or the one of a file or a name; as `how` says what agents draw.

    `stages` tell how far a problem is that takes long to prepare; those of `how` if left out.

    Raises
    ------
    ValueError
        If it is neither, or the batch does not fit.
    """
    if how is not None and how.batch is not None:
        from peerbayes.problem.writing import with_batch

        return with_batch(as_problem(value, replace(how, batch=None), stages), how.batch)
    from peerbayes.kinds.registry import is_problem

    if isinstance(value, str | Path):
        stages = stages or getattr(how, "progress", None)
        # A callable for one stage is that of the work to come.
        progress = stages(f"{value}: prepare") if isinstance(stages, Stages) else None
        data = None if how is None else how.data
        found: AnyProblem = load(value, data=data, progress=progress)
        return found
    if is_problem(value):
        return value
    wanted = "a problem, or the name or the file of one"
    remedy = "make one with pb.problem_of(network, model), or pb.load(name)"
    raise fail("problem", wanted, type(value).__name__, remedy)
