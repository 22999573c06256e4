"""Trained networks read back from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from empirical.keeping import load_tensors
from empirical.train.data.scaling import Filling, Scaling
from empirical.train.history import History
from empirical.train.likelihoods.words import likelihood_of
from empirical.train.making import architecture_of, net_for
from empirical.train.scores import Metrics, scores_from_words
from empirical.train.trained import FILE, TrainedNetwork
from theory.validation import fail


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
    if words.get("kind") != "trained-network":
        raise fail(str(path), "a trained network", "other tensors", "name the folder of one")
    likelihood = likelihood_of(words["likelihood"])
    shape, kind = tuple(words["input_shape"]), words["input_type"]
    module = architecture_of(words["net"]) if module is None else module
    if module is None:
        raise fail(
            "module", "the module that was trained", "none",
            "give it: load_trained(folder, module=...)",
        )  # fmt: skip
    features, filled = words.get("features"), words.get("filling")
    filling = None if filled is None else Filling.from_document(filled)
    example = np.zeros((2, *shape), dtype=kind)
    if filling is not None:
        example = filling.apply(example).astype(kind)
    net = net_for(module, likelihood, example)
    mine = json.loads(json.dumps(dict(net.words)))
    if mine != words["net"]:
        raise fail(
            "module", "the module that was trained", f"another one than {path} is of",
            "build it as before",
        )  # fmt: skip
    scaling = (
        None if words[name] is None else Scaling.from_document(words[name])
        for name in ("inputs", "targets")
    )
    inputs, targets = scaling
    return TrainedNetwork(
        name=words["name"],
        agents=tuple(words["agents"]),
        net=net,
        likelihood=likelihood,
        mean=kept.tensors["mean"],
        variance=kept.tensors.get("variance"),
        input_shape=shape,
        input_type=kind,
        inputs=inputs,
        targets=targets,
        classes=None if words["classes"] is None else tuple(words["classes"]),
        history=History.from_words(words["history"]),
        metrics=Metrics(scores_from_words(words["validation"]), scores_from_words(words["test"])),
        learner=words["learner"],
        settings=words["settings"],
        seed=words["seed"],
        notes=tuple(words["notes"]),
        features=None if features is None else tuple(features),
        filling=filling,
    )
