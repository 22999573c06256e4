"""What training leaves: the nets of a network's agents, with what they predict and how sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from empirical.keeping import save_tensors
from empirical.likelihoods.heads import Heads
from empirical.likelihoods.laws import Likelihood
from empirical.train.data.agents_data import Filling, Scaling
from empirical.train.data.examples import as_finite, plain
from empirical.train.data.source_files import column_order, names_of_columns
from empirical.train.mixture import (
    Prediction,
    Uncertainty,
    blocks,
    drawn_weights,
    predict,
    uncertainty_of,
)
from empirical.train.net import Net
from empirical.train.scores import History, Metrics, Scores, Words, scores_words
from theory.showing import Value
from theory.validation import FloatArray, as_integer, fail, read_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FILE = "trained.safetensors"
# Draws that predictions average if nothing else is said.
DRAWS = 20


@dataclass(frozen=True, eq=False)
class TrainedNetwork(Value):
    """Beliefs of N agents over the weights of one net, after training.

    Attributes
    ----------
    name
        Of the training.
    agents
        What the agents are called.
    net, likelihood
        What weights mean, and what outputs mean.
    mean, variance
        Shape (N, d): each agent's belief; no variance where nets have no width.
    input_shape, input_type
        Of one input as the user gives it, and ``"float32"`` or ``"int64"``.
    inputs, targets
        How inputs and numbers to be predicted were standardised; None: not at all.
    classes
        Names of the classes, or None.
    history, metrics
        What was seen meanwhile, and at the end.
    learner, settings
        Words on how it was trained.
    seed
        Of the training, and of posterior draws.
    notes
        What the user did not say and was chosen, in sentences.
    features
        What the columns of an input are called, or None.
    filling
        How missing inputs are filled; None: they may not be missing.
    """

    name: str
    agents: tuple[str, ...]
    net: Net
    likelihood: Likelihood
    mean: Tensor
    variance: Tensor | None
    input_shape: tuple[int, ...]
    input_type: str
    inputs: Scaling | None
    targets: Scaling | None
    classes: tuple[str, ...] | None
    history: History
    metrics: Metrics
    learner: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    notes: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    filling: Filling | None = None

    def __post_init__(self) -> None:
        shape = (len(self.agents), self.net.parameters)
        for name, values in (("mean", self.mean), ("variance", self.variance)):
            if values is not None and tuple(values.shape) != shape:
                raise fail(name, f"shape {shape}", tuple(values.shape), "give each agent a row")

    def _parts(self) -> tuple[object, ...]:
        tensors = (None if t is None else t.numpy() for t in (self.mean, self.variance))
        own = {f.name: getattr(self, f.name) for f in fields(self)} | {"net": dict(self.net.words)}
        return (*tensors, *(v for name, v in own.items() if name not in ("mean", "variance")))

    def _title(self) -> str:
        return f"{type(self).__name__} of {self.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "agents", len(self.agents)
        yield "weights of a net", self.net.parameters
        yield "likelihood", self.likelihood.words["kind"]
        yield "learner", self.learner["learner"]
        yield "rounds", int(self.history.rounds[-1]) if len(self.history.rounds) else 0
        for when in ("validation", "test"):
            scores: Scores | None = getattr(self.metrics, when)
            if scores is not None:
                shown = (f"{name} {scores.mean(name):.4g}" for name in scores.measures)
                yield when, Words(", ".join(shown))
        for note in self.notes:
            yield "note", Words(note)

    # Predictions ------------------------------------------------------------------------------

    def predict(
        self, x: ArrayLike, *, draws: int = DRAWS, agents: Sequence[int] | None = None
    ) -> FloatArray:
        """Probabilities of the classes, or means, averaged over posterior samples.

        Parameters
        ----------
        x
            Inputs of shape (n, …), as the training data were given; a frame's columns may have
            another order.
        draws
            Posterior samples to average; 0: the mean weights predict.
        agents
            Which agents, by number; left out: all.

        Returns
        -------
        FloatArray
            Shape (N, n, outputs), in the user's units; an estimate where nets are drawn.

        Raises
        ------
        ValueError
            If inputs have another shape or are not finite, or there is no such agent.
        """
        centre = np.stack([one.mean for one in self._predictions(x, draws, agents)])
        return read_only(self._in_units(centre))

    def samples(
        self, x: ArrayLike, draws: int = DRAWS, *, agents: Sequence[int] | None = None
    ) -> FloatArray:
        """Probabilities or means of each drawn net, shape (N, draws, n, outputs); as `predict`.

        Of nets without width there is one: the mean weights' own.
        """
        inputs = self._checked(x)
        found = []
        for agent in self._chosen(agents):
            each = [
                np.concatenate(
                    [
                        self.likelihood.mean(self.net.outputs_of(w, inputs[some][None])).cpu()[0]
                        for some in blocks(len(inputs))
                    ]
                )
                for w in self._drawn(agent, as_integer("draws", draws, minimum=1))
            ]
            found.append(np.stack(each).astype(np.float64))
        return read_only(self._in_units(np.stack(found)))

    def uncertainty(
        self, x: ArrayLike, *, draws: int = DRAWS, agents: Sequence[int] | None = None
    ) -> Uncertainty:
        """How unsure each agent is of each input, and which part more data would remove."""
        parts = [uncertainty_of(one) for one in self._predictions(x, draws, agents)]
        aleatoric, epistemic = (np.stack(kind) for kind in zip(*parts, strict=True))
        if self.likelihood.words["kind"] == "classes":
            return Uncertainty(aleatoric + epistemic, aleatoric, epistemic, "nats")
        unit = self._units()[1] ** 2
        aleatoric, epistemic = aleatoric * unit, epistemic * unit
        return Uncertainty(
            aleatoric + epistemic, aleatoric, epistemic, "squared units of the label"
        )

    def state_dict(self, agent: int | str) -> dict[str, Tensor]:
        """The mean weights of one agent, as its module's ``load_state_dict`` takes them.

        Parameters
        ----------
        agent
            Its number or its name.
        """
        return self.net.tensors(self.mean[self._number(agent)])

    def save(self, folder: str | Path) -> str:
        """Write beliefs and all that predictions need into a folder, as safetensors.

        :func:`~empirical.train.making.load_trained` reads them back.

        Returns
        -------
        str
            The SHA-256 of what was written, which the file carries too.

        Raises
        ------
        ValueError
            If it cannot be written; in one line.
        """
        tensors = {"mean": self.mean}
        if self.variance is not None:
            tensors["variance"] = self.variance
        words = {
            "kind": "trained-network",
            "name": self.name,
            "agents": list(self.agents),
            "net": dict(self.net.words),
            "likelihood": dict(self.likelihood.words),
            "input_shape": list(self.input_shape),
            "input_type": self.input_type,
            "inputs": None if self.inputs is None else self.inputs.document,
            "targets": None if self.targets is None else self.targets.document,
            "classes": None if self.classes is None else list(self.classes),
            "history": self.history.as_words(),
            "validation": scores_words(self.metrics.validation),
            "test": scores_words(self.metrics.test),
            "learner": self.learner,
            "settings": self.settings,
            "seed": self.seed,
            "notes": list(self.notes),
            "features": None if self.features is None else list(self.features),
            "filling": None if self.filling is None else self.filling.document,
        }
        return save_tensors(Path(folder) / FILE, tensors, words)

    # Showing ----------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """The history as a table, one row a round and agent (pandas)."""
        return self.history.to_frame()

    def plot(self, ax: Axes | None = None, *, along: str = "rounds") -> Axes:
        """The main validation score, a line an agent; the training loss without such data.

        Parameters
        ----------
        ax
            Axes of matplotlib; left out: new ones.
        along
            ``"rounds"``, or ``"bytes"``: what all agents sent so far, in MB.

        Raises
        ------
        ValueError
            If `along` is neither.
        """
        return self.history.plot(self.name, self.agents, ax, along=along)

    # Pieces -----------------------------------------------------------------------------------

    def _predictions(
        self, x: ArrayLike, draws: int, agents: Sequence[int] | None
    ) -> Iterator[Prediction]:
        inputs = self._checked(x)
        draws = as_integer("draws", draws, minimum=0)
        for agent in self._chosen(agents):
            yield predict(
                self.net,
                self.likelihood,
                self.mean[agent],
                None if self.variance is None else self.variance[agent],
                inputs,
                draws=draws,
                seed=self.seed,
                agent=agent,
            )

    def _drawn(self, agent: int, draws: int) -> Iterator[Tensor]:
        variance = None if self.variance is None else self.variance[agent]
        return drawn_weights(self.mean[agent], variance, draws=draws, seed=self.seed, agent=agent)

    def _chosen(self, agents: Sequence[int] | None) -> Sequence[int]:
        if agents is None:
            return range(len(self.agents))
        if not len(agents):
            raise fail("agents", "at least one", "none", "name one, or leave the argument out")
        most = len(self.agents) - 1
        return [as_integer("agents", agent, minimum=0, maximum=most) for agent in agents]

    def _number(self, agent: int | str) -> int:
        if isinstance(agent, str):
            if agent not in self.agents:
                raise fail("agent", f"one of {', '.join(self.agents)}", agent, "choose one of them")
            return self.agents.index(agent)
        return as_integer("agent", agent, minimum=0, maximum=len(self.agents) - 1)

    def _checked(self, x: ArrayLike) -> Tensor:
        """Inputs as the net takes them."""
        array: NDArray[Any] = plain(x)
        kinds = "biu" if self.input_type == "int64" else "biuf"
        if array.shape[1:] != self.input_shape or array.dtype.kind not in kinds or not array.ndim:
            shape = ", ".join(map(str, ("n", *self.input_shape)))
            raise fail(
                "x",
                f"{'whole ' * (kinds == 'biu')}numbers of shape ({shape}), as the training data",
                f"shape {array.shape} of type {array.dtype}",
                "reshape the inputs",
            )
        names = names_of_columns(x)
        if names is not None and self.features is not None:
            array = array[:, column_order("x", names, self.features)]
        array = as_finite("x", array, missing=self.filling is not None)
        if self.filling is not None:
            array = self.filling.apply(array)
        if self.inputs is not None:
            array = self.inputs.apply(array)
        return torch.from_numpy(np.array(array, dtype=self.input_type))

    def _in_units(self, centre: FloatArray) -> FloatArray:
        offset, unit = self._units()
        return np.asarray(centre * unit + offset)

    def _units(self) -> tuple[FloatArray, FloatArray]:
        """What is added to and multiplied with each predicted number, shape (m,) each."""
        offset, unit = np.zeros(1), np.ones(1)
        if self.targets is None:
            return offset, unit
        mean, std = (np.ravel(part) for part in (self.targets.mean, self.targets.std))
        parts = self.likelihood.parts if isinstance(self.likelihood, Heads) else [self.likelihood]
        repeats = [
            part.words["count"] if part.words["kind"] == "classes" else 1
            for part in parts
            for _ in range(part.label_size)
        ]
        return np.repeat(mean, repeats), np.repeat(std, repeats)
