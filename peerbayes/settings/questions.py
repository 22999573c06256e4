"""What can be asked of a problem: one class of settings a question."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from peerbayes.settings.declared import Setting, Settings
from peerbayes.settings.domains import (
    ERROR,
    FACTOR,
    FILE,
    FOLDER,
    HOURS,
    SEARCH_TIME,
    SHARE,
    Agents,
    Batch,
    Flag,
    Memory,
    Python,
    Several,
    Text,
    Whole,
)
from peerbayes.terminal import MOST_HOURS

if TYPE_CHECKING:
    from peerbayes.terminal import Stages
    from theory.progress import Progress


# Settings that several questions share -----------------------------------------------------------


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
    """What a simulation may use of the machine; none of it changes a number of the result."""

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


# What can be asked of a problem ------------------------------------------------------------------


Arithmetic = Literal["double", "exact", "certified"]
LIMITS = "Limits"
_DELTA = "Probability of error that sample sizes allow, in (0, 1)."
_TARGET = Setting("Hypothesis to settle on; left out: what the network settles on now.", Text())


_SECONDS = Setting("Time for all searches; what they have by then is shown.", SEARCH_TIME)


def _group(name: str, value: object, kind: type[Settings]) -> dict[str, Any]:
    """The keywords of a group of settings that was given whole."""
    from theory.typed import require

    require(name, value, kind)
    return dict(vars(value))


def _parameter(help: str) -> Setting:
    return Setting(help, Text("X"), group="Parameters")


@dataclass(frozen=True, kw_only=True)
class Analyse(Data, Folder, Feedback):
    """What is asked of an analysis, whatever the arithmetic."""

    delta: Annotated[
        float | None, Setting(f"{_DELTA.rstrip('.')}; {DEFAULT_DELTA} if left out.", ERROR)
    ] = None
    exact: Annotated[bool, Setting("Fractions and expressions; needs exact numbers.", Flag())] = (
        False
    )
    certify: Annotated[bool, Setting("Intervals that contain the truth.", Flag())] = False
    rounds: Annotated[int | None, Setting("Also certify what N rounds are good for.", Whole(1))] = (
        None
    )
    notice: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exact and self.certify:
            from theory.validation import fail

            raise fail("exact, certify", "one of the two", "both", "keep one of them")

    @property
    def arithmetic(self) -> Arithmetic:
        """How numbers are computed."""
        return "exact" if self.exact else "certified" if self.certify else "double"

    @property
    def error(self) -> float:
        """The probability of error that sample sizes allow: `delta`, or the usual one."""
        return DEFAULT_DELTA if self.delta is None else self.delta

    @property
    def given(self) -> tuple[str, ...]:
        """Options that were given, of those that not every kind of problem takes."""
        options = ("delta", "exact", "certify", "rounds")
        return tuple(name for name in options if getattr(self, name) not in (None, False))


USUAL = Analyse()
"""An analysis in doubles, for the usual probability of error."""


@dataclass(frozen=True, kw_only=True)
class Simulate(Seeded, Output, Data, Feedback):
    """How the exact algorithm is run on drawn observations.

    Attributes
    ----------
    notice
        Called with a line that is worth saying before a run; None says nothing.
    """

    rounds: Annotated[int, Setting("Rounds n.", Whole(1))] = 1000
    replicates: Annotated[int, Setting("Independent runs R.", Whole(1, "R"))] = 100
    resources: Annotated[
        Resources,
        Setting(
            "What the run may use of the machine.",
            Python("settings peerbayes.settings.Resources()", group=Resources),
        ),
    ] = Resources()
    notice: Callable[[str], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Verify(Seeded, Output, Data, StageFeedback):
    """How theory is compared with simulation."""

    delta: Annotated[float, Setting(_DELTA, ERROR)] = DEFAULT_DELTA


@dataclass(frozen=True, kw_only=True)
class VerifyClaims(Seeded, Output, StageFeedback):
    """How the papers' statements are put on trial."""

    claims: Annotated[bool, Setting("Put the papers' statements on trial instead.", Flag())] = False
    effort: Annotated[
        float, Setting("With --claims: multiplies the cases that are tried.", FACTOR, metavar="E")
    ] = 1.0


@dataclass(frozen=True, kw_only=True)
class Limits(Settings):
    """Limits of a design, in place of those of the problem's table ``[design]``; None: as there."""

    minimum_influence: Annotated[
        float | None, Setting("Smallest v_j; left out: 1/(10 N).", SHARE, group=LIMITS)
    ] = None
    minimum_self_weight: Annotated[
        float | None, Setting("Smallest weight on oneself.", SHARE, metavar="S", group=LIMITS)
    ] = None
    edge_budget: Annotated[
        int | None, Setting("Most edges in use.", Whole(0, "M"), group=LIMITS)
    ] = None
    degree_budget: Annotated[
        int | None, Setting("Most neighbours of an agent.", Whole(0, "D"), group=LIMITS)
    ] = None
    fixed: Annotated[
        str | int | Sequence[int | str] | None,
        Setting("Agents whose weights stay, such as 0,3.", Agents(), group=LIMITS),
    ] = None
    symmetric: Annotated[
        bool | None,
        Setting("E[W] symmetric, so that v is uniform.", Flag(), group=LIMITS),
    ] = None
    doubly_stochastic: Annotated[
        bool | None,
        Setting("Columns of E[W] sum to one, so that v is uniform.", Flag(), group=LIMITS),
    ] = None
    changes: Mapping[str, Any] | None = None
    """Other keys of ``[design]``, by their names there."""

    @property
    def given(self) -> dict[str, Any]:
        """Keys of ``[design]`` that are given another value."""
        names = [name for name in Limits.__annotations__ if name != "changes"]
        given = {name: getattr(self, name) for name in names}
        changes: Any = {} if self.changes is None else self.changes
        if not isinstance(changes, Mapping):
            from peerbayes.messages import describe
            from theory.validation import fail

            raise fail("changes", "a table of limits", describe(changes), "give it in braces")
        return dict(changes) | {k: v for k, v in given.items() if v is not None}


@dataclass(frozen=True, kw_only=True)
class Variant(Settings):
    """What only one objective of a design takes."""

    stationary: Annotated[
        str | Sequence[float | str] | None,
        Setting(
            "With mixing: 'uniform', or numbers between commas; left out: as it is.", Text("V")
        ),
    ] = None
    rule: Annotated[str | None, Setting("With next-edge: uniform, metropolis, ...", Text())] = None
    worst_case: Annotated[bool, Setting("With exponent: whichever hypothesis is true.", Flag())] = (
        False
    )
    exact: Annotated[bool, Setting("With rate: prove the optimum in exact arithmetic.", Flag())] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class Files(Output, Data):
    """What a problem draws from, and where the record goes."""


@dataclass(frozen=True, kw_only=True)
class Filed(Settings):
    """What is read and what is left, as one group."""

    files: Annotated[
        Files,
        Setting(
            "Images, batches, records.", Python("settings peerbayes.settings.Files()", group=Files)
        ),
    ] = Files()


@dataclass(frozen=True, kw_only=True)
class Design(Seeded, Filed, Feedback):
    """The objective of a design, its limits, and how it is searched and tried."""

    old: ClassVar[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
        "request": lambda value: _group("request", value, Design)
    }

    objective: Annotated[
        str,
        Setting("rate, exponent, samples, mixing, trade-off, bytes or next-edge.", Text()),
    ] = "rate"
    delta: Annotated[float, Setting(_DELTA, ERROR)] = DEFAULT_DELTA
    target: Annotated[str | None, _TARGET] = None
    variant: Annotated[
        Variant,
        Setting(
            "What only one objective takes.",
            Python("settings peerbayes.settings.Variant()", group=Variant),
        ),
    ] = Variant()
    replicates: Annotated[
        int | None,
        Setting(
            "Simulated runs of each network; 0 for none; left out: enough for delta.",
            Whole(0, "R"),
        ),
    ] = None
    seconds: Annotated[float | None, _SECONDS] = 120
    write: Annotated[
        str | Path | None,
        Setting("Write the problem with the designed weights, as .toml or .json.", FILE),
    ] = None
    limits: Annotated[
        Limits,
        Setting(
            "Limits in place of those of the problem's table [design].",
            Python("settings peerbayes.settings.Limits()", group=Limits),
        ),
    ] = Limits()


@dataclass(frozen=True, kw_only=True)
class Placement(Seeded, Filed, Feedback):
    """The objective of a placement of data, and how it is searched and tried."""

    old: ClassVar[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
        "request": lambda value: _group("request", value, Placement)
    }

    objective: Annotated[str, Setting("rate, exponent or samples.", Text())] = "rate"
    delta: Annotated[float, Setting(_DELTA, ERROR)] = DEFAULT_DELTA
    target: Annotated[str | None, _TARGET] = None
    method: Annotated[str, Setting("auto, milp, exhaustive or local.", Text())] = "auto"
    fixed: Annotated[
        str | int | Sequence[int | str] | None,
        Setting("Agents that keep their data: 0,3.", Agents()),
    ] = None
    replicates: Annotated[
        int,
        Setting("Simulated runs of each class of placements; 0 for none.", Whole(0, "R")),
    ] = 1000
    seconds: Annotated[float | None, _SECONDS] = 120


@dataclass(frozen=True, kw_only=True)
class Parameters(Settings):
    """Values of a family's parameters, as text so that they stay exact."""

    agents: Annotated[str | None, _parameter("Number of agents.")] = None
    rows: Annotated[str | None, _parameter("Grid, torus: number of rows.")] = None
    columns: Annotated[str | None, _parameter("Grid, torus: of columns.")] = None
    dimension: Annotated[str | None, _parameter("Hypercube: of digits.")] = None
    edge_confidence: Annotated[
        str | None, _parameter("Star: weight of every edge on the centre.")
    ] = None
    centre_confidence: Annotated[
        str | None, _parameter("Star, hub: weight of the centre on itself.")
    ] = None
    self_confidence: Annotated[str | None, _parameter("Weight of every agent on itself.")] = None
    hub_weight: Annotated[
        str | None, _parameter("Hub and ring: weight of the ring on the hub.")
    ] = None
    neighbour_weight: Annotated[
        str | None, _parameter("Path, grid, ring: weight on a neighbour.")
    ] = None
    a: Annotated[str | None, _parameter("Two agents: weight of the first.")] = None
    b: Annotated[str | None, _parameter("Two agents: weight of the second.")] = None

    @property
    def values(self) -> dict[str, str | None]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in Parameters.__annotations__}


@dataclass(frozen=True, kw_only=True)
class Formula(Parameters, Seeded):
    """Of which family closed forms are shown, and how."""

    given: Annotated[
        Sequence[str],
        Setting("Any parameter, by letter or name.", Several("LETTER=VALUE"), option="set"),
    ] = ()
    weights: Annotated[str | None, Setting("The matrix, such as '1-a a; b 1-b'.", Text("W"))] = None
    samples: Annotated[
        bool, Setting("Also how many rounds are enough; --set takes its letters too.", Flag())
    ] = False
    latex: Annotated[bool, Setting("LaTeX on standard output.", Flag())] = False
