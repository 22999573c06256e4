"""What a net file poses: agents with data on a network, a net, and how it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from empirical.train.data.agents_data import AgentsData
from empirical.train.data.source_files import Sources, read_source, relative_to
from peerbayes.nets.net_section import TrainingSection
from peerbayes.nets.own_module import imported_by, own_module
from peerbayes.nets.specification import NetSpecification
from theory.changing import AnyNetwork
from theory.validation import fail


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """A net file, read.

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
        What `empirical.train.likelihoods.heads.likelihood_of` takes, with the number of classes or
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
