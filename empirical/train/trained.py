"""What training leaves: the nets of a network's agents, with what they predict and how sure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from empirical.keeping import load_tensors, save_tensors
from empirical.kernels.products import products
from empirical.likelihoods.heads import likelihood_of
from empirical.likelihoods.laws import Likelihood
from empirical.train.data.agents_data import Filling, Scaling
from empirical.train.data.arrays import as_labels
from empirical.train.data.examples import Target, as_finite, listed, plain
from empirical.train.data.notation import label_numbers
from empirical.train.data.source_files import LabelledRows, column_order, names_of_columns
from empirical.train.history import History, Metrics, history_from, scores_from, words_of
from empirical.train.making import architecture_of, net_for
from empirical.train.mixture import (
    Prediction,
    Uncertainty,
    drawn_weights,
    predict,
    uncertainty_of,
)
from empirical.train.net import Net
from empirical.train.scores import Scores, columns_of, score
from theory.showing import Value, Words
from theory.validation import FloatArray, as_integer, as_position, fail, read_only

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

FILE, KIND = "trained.safetensors", "trained-network"
# Fields that JSON has as they are, with lists for tuples; and those with documents of their own.
_PLAIN = (
    *("name", "agents", "input_shape", "input_type", "classes", "learner", "settings", "seed"),
    *("notes", "features"),
)
_DOCUMENTS: dict[str, Any] = {"inputs": Scaling, "targets": Scaling, "filling": Filling}
# What scores are drawn against, and the label of the axis.
ALONG = {"rounds": "round", "bytes": "MB sent"}
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
        self, x: ArrayLike, *, draws: int = DRAWS, agents: Sequence[int | str] | None = None
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
            Which agents, by number or name; left out: all.

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
        self, x: ArrayLike, draws: int = DRAWS, *, agents: Sequence[int | str] | None = None
    ) -> FloatArray:
        """Probabilities or means of each drawn net, shape (N, draws, n, outputs); as `predict`.

        Of nets without width there is one: the mean weights' own.
        """
        inputs, draws = self._checked(x), as_integer("draws", draws, minimum=1)

        def each(agent: int, *belief: Any) -> FloatArray:
            drawn = drawn_weights(*belief, draws=draws, seed=self.seed, agent=agent)
            outputs = torch.cat([self.net.outputs_of(w, inputs[None]) for w in drawn])
            return self.likelihood.mean(outputs).double().numpy()

        return read_only(self._in_units(np.stack([each(*one) for one in self._beliefs(agents)])))

    def uncertainty(
        self, x: ArrayLike, *, draws: int = DRAWS, agents: Sequence[int | str] | None = None
    ) -> Uncertainty:
        """How unsure each agent is of each input, and which part more data would remove."""
        parts = [uncertainty_of(one) for one in self._predictions(x, draws, agents)]
        classes, unit = self.likelihood.words["kind"] == "classes", np.ones(1)
        if self.targets is not None and not classes:
            unit = self._by_output(self.targets.std) ** 2
        aleatoric, epistemic = (np.stack(kind) * unit for kind in zip(*parts, strict=True))
        words = "nats" if classes else "squared units of the label"
        return Uncertainty(aleatoric + epistemic, aleatoric, epistemic, words)

    def to_xarray(
        self, x: ArrayLike, draws: int = DRAWS, *, agents: Sequence[int | str] | None = None
    ) -> xr.DataArray:
        """What :meth:`samples` gives, its axes and agents, classes too, by name (xarray).

        Raises
        ------
        ValueError
            As of :meth:`predict`, or if xarray is not installed.
        """
        try:
            import xarray as xr
        except ImportError:
            wanted, remedy = "xarray, which makes the array", "pip install xarray"
            raise fail("to_xarray", wanted, "none installed", remedy) from None
        coordinates: dict[str, Any] = {"agent": [self.agents[k] for k, *_ in self._beliefs(agents)]}
        if self.classes is not None:
            coordinates["output"] = list(self.classes)
        axes = ("agent", "draw", "input", "output")
        return xr.DataArray(
            self.samples(x, draws, agents=agents), dims=axes, coords=coordinates, name=self.name
        )

    # Scores -----------------------------------------------------------------------------------

    def evaluate(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        draws: int = DRAWS,
        agents: Sequence[int | str] | None = None,
        other: ArrayLike | None = None,
    ) -> Scores:
        """Every agent's scores on labelled inputs, as of ``metrics.test``, in the user's units.

        Parameters
        ----------
        x, y
            Inputs (n, …) and labels (n,) or (n, k), as the training data were given; of several
            heads, classes by their numbers.
        draws, agents
            As of :meth:`predict`.
        other
            Inputs of another data set, to see whether agents are unsure of them.

        Raises
        ------
        ValueError
            If inputs or labels are not as in the training data, or a prediction is not finite.
        """
        inputs, labels = self._checked(x), self._labels(y, x)
        scaled = labels if self.targets is None else self.targets.apply(labels)
        stored = torch.from_numpy(np.array(self.likelihood.as_labels("y", scaled)))
        draws, beliefs = as_integer("draws", draws, minimum=0), self._beliefs(agents)
        with products(self.settings.get("products", "highest")):
            return score(
                self.net,
                self.likelihood,
                beliefs,
                [(inputs, stored)] * len(beliefs),
                draws=0 if self.variance is None else draws,
                seed=self.seed,
                unit=1.0 if self.targets is None else self.targets.std,
                others=None if other is None else self._checked(other),
            )

    def score(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        draws: int = DRAWS,
        agents: Sequence[int | str] | None = None,
    ) -> FloatArray:
        """Every agent's share of right classes, or R² of numbers and counts; shape (N,).

        Parameters and errors are those of :meth:`evaluate`
        (:func:`sklearn.metrics.r2_score`), of several numbers the mean of theirs.

        Raises
        ------
        ValueError
            Also if there are several heads, which have no score in common.
        """
        kind = self.likelihood.words["kind"]
        if kind == "heads":
            remedy = "take evaluate(x, y), which scores each head"
            raise fail("score", "a likelihood of one kind", "several heads", remedy)
        if kind == "classes":
            return self.evaluate(x, y, draws=draws, agents=agents)["accuracy"]
        from sklearn.metrics import r2_score  # takes a second

        truth = self._labels(y, x)
        each = self.predict(x, draws=draws, agents=agents)
        return np.array([r2_score(truth, one) for one in each])

    # To take away -----------------------------------------------------------------------------

    def state_dict(self, agent: int | str) -> dict[str, Tensor]:
        """The mean weights of one agent, as its module's ``load_state_dict`` takes them.

        Parameters
        ----------
        agent
            Its number or its name.
        """
        return self.net.tensors(self.mean[as_position("agent", agent, self.agents)])

    def save(self, folder: str | Path) -> str:
        """Write beliefs and all that predictions need into a folder, as safetensors.

        :func:`load_trained` reads them back.

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
        words: dict[str, Any] = {
            "kind": KIND,
            "net": dict(self.net.words),
            "likelihood": dict(self.likelihood.words),
            "history": words_of(self.history),
            "validation": words_of(self.metrics.validation),
            "test": words_of(self.metrics.test),
        }
        words |= {name: getattr(self, name) for name in _PLAIN}
        for name in _DOCUMENTS:
            words[name] = getattr(getattr(self, name), "document", None)
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
        if along not in ALONG:
            raise fail("along", " or ".join(map(repr, ALONG)), repr(along), "choose one of them")
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(layout="constrained")[1]
        history = self.history
        x = history.rounds if along == "rounds" else history.bytes_sent / 1e6
        scored = np.isfinite(history.validation).any()
        values = history.validation[:, :, 0] if scored else history.loss
        what = f"validation {history.measures[0]}" if scored else "training loss [nats]"
        for agent, name in enumerate(self.agents):
            ax.plot(x, values[:, agent], label=name if agent < 10 else None)
        ax.set(title=self.name, xlabel=ALONG[along], ylabel=what.replace("_", " "))
        ax.legend()
        return ax

    # Pieces -----------------------------------------------------------------------------------

    def _predictions(
        self, x: ArrayLike, draws: int, agents: Sequence[int | str] | None
    ) -> Iterator[Prediction]:
        inputs, draws = self._checked(x), as_integer("draws", draws, minimum=0)
        for agent, mean, variance in self._beliefs(agents):
            drawn = drawn_weights(mean, variance, draws=draws, seed=self.seed, agent=agent)
            yield predict(self.net, self.likelihood, drawn, inputs)

    def _beliefs(
        self, agents: Sequence[int | str] | None
    ) -> list[tuple[int, Tensor, Tensor | None]]:
        """The number of each chosen agent, and mean and variance of its weights."""
        chosen: Sequence[int] = range(len(self.agents))
        if agents is not None:
            chosen = [as_position("agents", agent, self.agents) for agent in agents]
        if not chosen:
            raise fail("agents", "at least one", "none", "name one, or leave the argument out")
        width = self.variance
        return [(k, self.mean[k], None if width is None else width[k]) for k in chosen]

    def _checked(self, x: ArrayLike) -> Tensor:
        """Inputs as the net takes them."""
        array: NDArray[Any] = plain(x)
        kinds = "biu" if self.input_type == "int64" else "biuf"
        if array.shape[1:] != self.input_shape or array.dtype.kind not in kinds or not array.ndim:
            shape = ", ".join(map(str, ("n", *self.input_shape)))
            columns = f", features {listed(self.features, 8)}" if self.features else ""
            coded, whole = any("=" in n for n in self.features or ()), "whole " * (kinds == "biu")
            remedy = "write a category column=category as 1 or 0" if coded else "reshape the inputs"
            raise fail(
                "x",
                f"{whole}numbers of shape ({shape}), as the training data{columns}",
                f"shape {array.shape} of type {array.dtype}",
                remedy if array.ndim else "give rows of numbers; read a file of them first",
            )
        names = names_of_columns(x)
        if names is not None and self.features is not None:
            array = array[:, column_order("x", names, self.features)]
        array = as_finite("x", array, missing=self.filling is not None)
        for step in (self.filling, self.inputs):
            array = array if step is None else step.apply(array)
        return torch.from_numpy(np.array(array, dtype=self.input_type))

    def _labels(self, y: ArrayLike, x: ArrayLike) -> NDArray[Any]:
        """Labels as numbers in the user's units, shape (n,) or (n, k); classes by number."""
        array = as_labels("y", y)
        if len(array) != len(plain(x)):
            raise fail("y", f"{len(plain(x))} labels, one an input", len(array), "give as many")
        columns = (array,) if array.ndim == 1 else tuple(array.T)
        targets = []
        for k, words in enumerate(columns_of(self.likelihood)):
            name, kind = f"label {k}" if len(columns) > 1 else "label", words["kind"]
            if kind == "classes":
                names = self.classes or tuple(map(str, range(words["count"])))
                targets.append(Target(name, kind, names))
            else:
                targets.append(Target(name, "counts" if kind == "counts" else "numbers"))
        rows = LabelledRows("y", np.zeros((len(array), 1)), columns)
        return label_numbers(rows, targets)

    def _in_units(self, centre: FloatArray) -> FloatArray:
        """Predictions of standardised numbers in the user's units; the others as they are."""
        if self.targets is None:
            return centre
        unit, zero = self._by_output(self.targets.std), self._by_output(self.targets.mean)
        return np.asarray(centre * unit + zero)

    def _by_output(self, values: FloatArray) -> FloatArray:
        """Numbers of the labels' columns for each predicted number, shape (m,)."""
        columns = columns_of(self.likelihood)
        repeats = [words["count"] if words["kind"] == "classes" else 1 for words in columns]
        return np.repeat(np.broadcast_to(values, len(columns)), repeats)


def load_trained(folder: str | Path, *, module: Any = None) -> TrainedNetwork:
    """A trained network that :meth:`TrainedNetwork.save` wrote.

    Parameters
    ----------
    folder
        Where it is.
    module
        The torch module, or the architecture, that was trained: its weights are not looked at.
        May be left out for nets of dense layers, convolutions, pooling and ReLU.

    Raises
    ------
    ValueError
        If the file is damaged, gone, or none of a trained network, or the module is another one.
    """
    path = Path(folder) / FILE
    kept = load_tensors(path)
    words = kept.words
    if words.get("kind") != KIND:
        raise fail(str(path), "a trained network", "other tensors", "name the folder of one")
    wanted = "the module that was trained"
    module = architecture_of(words["net"]) if module is None else module
    if module is None:
        raise fail("module", wanted, "none", "give it: load_trained(folder, module=...)")
    parts: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in ((name, words.get(name)) for name in _PLAIN)
    }
    for name, kind in _DOCUMENTS.items():
        value = words.get(name)
        parts[name] = None if value is None else kind.from_document(value)
    example = np.zeros((2, *parts["input_shape"]), dtype=parts["input_type"])
    if parts["filling"] is not None:
        example = parts["filling"].apply(example).astype(parts["input_type"])
    likelihood = likelihood_of(words["likelihood"])
    net = net_for(module, likelihood, example)
    if json.loads(json.dumps(dict(net.words))) != words["net"]:
        raise fail("module", wanted, f"another one than {path} is of", "build it as before")
    return TrainedNetwork(
        net=net,
        likelihood=likelihood,
        mean=kept.tensors["mean"],
        variance=kept.tensors.get("variance"),
        history=history_from(words["history"]),
        metrics=Metrics(scores_from(words["validation"]), scores_from(words["test"])),
        **parts,
    )
