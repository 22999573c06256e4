"""Settings that several questions share: each group a base class of the questions that have it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from peerbayes.settings.declared import Setting, Settings
from peerbayes.settings.domains import (
    FOLDER,
    HOURS,
    Batch,
    Flag,
    Memory,
    Text,
    Whole,
)
from peerbayes.terminal import MOST_HOURS

if TYPE_CHECKING:
    from peerbayes.terminal import Stages
    from theory.progress import Progress

SHARED = "Records, data and output"
NETS = "Experiments with neural nets"
DEFAULT_OUT = Path("peerbayes-out")
DEFAULT_DELTA = 0.05


@dataclass(frozen=True, kw_only=True)
class Seeded(Settings):
    """The seed of everything that is drawn at random."""

    seed: Annotated[
        int,
        Setting("Seed of what is drawn at random, if anything is.", Whole(0, "S"), group=SHARED),
    ] = 0


@dataclass(frozen=True, kw_only=True)
class Folder(Settings):
    """Where a command leaves what it has to leave."""

    out: Annotated[
        str | Path | None,
        Setting("Folder for records.", FOLDER, group=SHARED, command_default=DEFAULT_OUT),
    ] = None

    @property
    def folder(self) -> Path | None:
        """The folder; None if nothing is to be left."""
        return None if self.out is None else Path(self.out)


@dataclass(frozen=True, kw_only=True)
class Output(Folder):
    """Where a record goes, and whether it may take the place of another."""

    force: Annotated[
        bool,
        Setting("Replace a record of another problem, setting or run.", Flag(), group=SHARED),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Images(Settings):
    """Where MNIST and Fashion-MNIST are."""

    data: Annotated[
        str | Path | None,
        Setting("Folder of the image files, for built-ins that need them.", FOLDER, group=SHARED),
    ] = None

    @property
    def images(self) -> Path | None:
        """The folder of the images; None for the usual places."""
        return None if self.data is None else Path(self.data)


@dataclass(frozen=True, kw_only=True)
class Data(Images):
    """What a problem draws from."""

    batch: Annotated[
        int | Sequence[int] | Mapping[str, int] | None,
        Setting(
            "Observations a round, in place of the problem's: a number, one an agent, as 4,4,1, or "
            "some by name, as mast=4,roof=2.",
            Batch(),
            group=SHARED,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Feedback(Settings):
    """How far the work is, for Python users; commands show a bar.

    Attributes
    ----------
    progress
        Called with (done, total).
    """

    progress: "Progress | Stages | None" = None


@dataclass(frozen=True, kw_only=True)
class StageFeedback(Settings):
    """How far work of several stages is, and what is worth knowing of it.

    Attributes
    ----------
    progress
        Maps the name of a stage to a callable of (done, total).
    notice
        Called with one sentence at a time.
    """

    progress: "Callable[[str], Progress] | None" = None
    notice: Callable[[str], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Resources(Settings):
    """What a simulation may use of the machine; none of it changes a number of the result.

    Attributes
    ----------
    notice
        Called with a line that is worth saying before a run; None says nothing.
    """

    workers: Annotated[
        int,
        Setting("Processes that share the replicates; the numbers stay the same.", Whole(1, "K")),
    ] = 1
    backend: Annotated[
        str | None, Setting("Where they run: loky (here), dask, ray, ...", Text())
    ] = None
    memory: Annotated[
        int | str | None,
        Setting("Refuse runs that would take more, such as 500M or 2GiB.", Memory()),
    ] = None
    hours: Annotated[
        float,
        Setting("Refuse runs that are expected to take longer.", HOURS),
    ] = MOST_HOURS
    resume: Annotated[bool, Setting("Go on from where a killed run was.", Flag())] = False
    notice: Callable[[str], None] | None = None
