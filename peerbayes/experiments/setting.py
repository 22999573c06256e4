"""Where and how parts are trained, one a seed: folder, device, checkpoints, marks of the code.

Code that computes something is known by *behaviour marks*, 12 hex digits a recipe. A recipe is
whatever has code or constants of its own: parts of one recipe run through the same code; what they
differ in besides, such as seed, data set and learning rate, stands in their settings. Its mark is
the beginning of the SHA-256 of losses and accuracies of its frozen run; numbers and marks stand in
`behaviour_marks.json`, which :mod:`peerbayes.experiments.behaviour` compares and renews.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from empirical.keeping import read_words
from exact.whole_files import remove_leftovers
from peerbayes._version import __version__
from peerbayes.documents import Document
from peerbayes.experiments.experiment import Experiment, parts_named
from peerbayes.experiments.record_lines import Held, held
from peerbayes.records import checksum, file_name
from theory.progress import Progress
from theory.validation import as_integer, fail, install_extra

if TYPE_CHECKING:
    from empirical.keeping import Generations
    from peerbayes.settings.nets import Experiment as Options


class Named(Protocol):
    """A part of an experiment: files are named after it."""

    @property
    def name(self) -> str:
        """Unique within the experiment."""
        ...

    @property
    def seed(self) -> int:
        """The number of its seed."""
        ...


@dataclass(frozen=True)
class Setting:
    """Where and how a run happens; but for the device, no number depends on it.

    Attributes
    ----------
    device
        ``"cpu"`` or ``"cuda"``.
    data
        Folder of the image files; None: the usual places.
    folder
        Where checkpoints and final beliefs go; None: nowhere.
    resume
        Whether to go on from a checkpoint.
    notice
        Told of checkpoints that could not be used.
    workers
        Of `gae`: threads that train nodes, or trajectories, side by side.
    """

    device: str = "cpu"
    data: Path | None = None
    folder: Path | None = None
    resume: bool = False
    notice: Callable[[str], None] | None = None
    workers: int = 1


def check_installed(what: str, *names: str) -> None:
    """Whether the libraries that nets need are there, torch and safetensors if none is named.

    Raises
    ------
    ValueError
        In one line that says how to get them.
    """
    wanted = names or ("torch", "safetensors")
    missing = [name for name in wanted if find_spec(name) is None]
    if missing:
        raise fail(what, " and ".join(wanted), f"no {missing[0]}", install_extra("empirical"))


def check_placed(
    what: str, names: tuple[str, ...], device: str, dataset: str, data: Path | None
) -> None:
    """Whether libraries, device and images are there.

    Raises
    ------
    ValueError
        In one line that says how to get them.
    """
    check_installed(what, *names)
    from empirical.data import locate
    from empirical.train.parts import check_device

    check_device(device)
    locate(dataset, directory=data)


def forget_unfinished(part: Named, setting: Setting, *stages: str) -> None:
    """Delete the checkpoints of a part that is on record, and those of its stages."""
    for stage in ("", *stages):
        generations = unfinished(part, setting, "", stage)
        if generations is not None:
            generations.remove()


def unfinished(
    part: Named, setting: Setting, fingerprint: str, stage: str = ""
) -> Generations | None:
    """Where the part keeps what is unfinished; `stage` names one of several trainings in it."""
    if setting.folder is None:
        return None
    from empirical.keeping import Generations

    made_by = " ".join(f"{name} {number}" for name, number in versions().items())
    path = setting.folder / ".".join(filter(None, (_file(part), "unfinished", stage)))
    return Generations(path, f"{fingerprint} {made_by}", setting.notice)


@contextmanager
def alone(part: Named, setting: Setting) -> Iterator[None]:
    """Nobody else trains this part in this folder; a killed run holds and leaves nothing."""
    if setting.folder is None:
        yield
        return
    try:
        with held(lock_of(part, setting.folder)):
            states = (f".unfinished.{k}.safetensors" for k in (0, 1))
            for ending in (".safetensors", ".json", *states):
                remove_leftovers(setting.folder / f"{_file(part)}{ending}")
            yield
    except Held:
        raise fail(
            str(setting.folder), "a folder in which nobody else runs this part",
            f"another run of {part.name!r}", "wait for it, or choose another folder with --out",
        ) from None  # fmt: skip


def lock_of(part: Named, folder: Path) -> Path:
    """The file that a run of this part holds while it trains."""
    return folder / f".{_file(part)}.held"


def share_done(part: Named, folder: Path) -> float:
    """The share of a part's rounds that its newest unfinished state holds; 0 if there is none."""
    shares = [0.0]
    for slot in (0, 1):
        path = folder / f"{_file(part)}.unfinished.{slot}.safetensors"
        try:
            words = read_words(path)
            shares.append(words["done"] / words["rounds"])
        except (OSError, ValueError, LookupError, TypeError, ArithmeticError):
            continue  # an estimate; what is damaged is reported by the run that needs it
    return min(max(shares), 1.0)


def versions() -> dict[str, str]:
    """Versions of everything that the last bit of a result may depend on."""
    from importlib.metadata import version
    from platform import machine, python_version

    names = ("torch", "numpy", "numba", "safetensors")
    return {
        "peerbayes": __version__,
        "python": python_version(),
        "machine": machine(),
        **{name: version(name) for name in names},
    }


def _file(part: Named) -> str:
    return file_name(part.name).removesuffix(".json")


# Experiments whose parts are trainings ------------------------------------------------------------

PartT = TypeVar("PartT", bound=Named)


@dataclass(frozen=True)
class Job:
    """What the training of a part needs to know besides: its seed, and what its states are of."""

    seed: int
    fingerprint: str
    progress: Progress | None


class SeededExperiment(Experiment, Generic[PartT]):
    """An experiment in which each of `seeds` replicates is a part of its own.

    Parts with the same seed are compared on the same draws.

    Attributes
    ----------
    seeds
        How many of each part.
    is_quick
        A look of a minute at most. It has a name, and so records, of its own.
    setting
        Where and how it runs.
    dataset
        Name of the images.
    subject
        What a refusal is about.
    shown
        Which of the parts a refusal tells.
    """

    replicates_are_parts = True
    options = frozenset({"part", "quick", "device"})
    shown: ClassVar[slice] = slice(None)
    seeds: int
    is_quick: bool
    setting: Setting

    if TYPE_CHECKING:

        @property
        def dataset(self) -> str: ...
        @property
        def _parts(self) -> Mapping[str, PartT]: ...

    def __post_init__(self) -> None:
        as_integer("seeds", self.seeds, minimum=1)

    @property
    def subject(self) -> str:
        """What a refusal is about: the experiment, by its name."""
        return self.name

    @property
    def replicates(self) -> int:
        """How many seeds."""
        return self.seeds

    @property
    def parts(self) -> tuple[str, ...]:
        """Their names, in the order in which they are run."""
        return tuple(self._parts)

    def part(self, name: str) -> PartT:
        """The part of a name."""
        return self._parts[name]

    def parts_with(self, words: str, *, seeds: int | None = None) -> tuple[str, ...]:
        """The parts of the first seeds whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        first = self.seeds if seeds is None else seeds
        own = [name for name, part in self._parts.items() if part.seed < first]
        return parts_named(own, words, shown=own[self.shown])

    def mark(self, name: str) -> str:
        """The behaviour mark that a part has if it is run now."""
        raise NotImplementedError

    def stream(self, part: str) -> int:
        """The number of its seed."""
        return self._parts[part].seed

    def check(self) -> None:
        """Refuse to run where torch, the data or the device are missing.

        Raises
        ------
        ValueError
            In one line that says how to get them.
        """
        check_placed(self.subject, (), self.setting.device, self.dataset, self.setting.data)

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
        """One training, by nobody else in this folder.

        Raises
        ------
        ValueError
            If something is missing, or training breaks down.
        """
        from exact.checkpoint import fingerprint

        self.check()  # before torch is asked for
        from empirical.nets.threads import one_thread

        job = Job(seed, fingerprint(self.name, part, seed, self.part_settings(part)), progress)
        with one_thread(), alone(self._parts[part], self.setting):
            return self._train(self._parts[part], job)

    def _train(self, part: PartT, job: Job) -> Document:
        """What one part finds; everything that it needs is there."""
        raise NotImplementedError

    def settled(self, part: str) -> None:
        """The part is on record: what was kept to take it up again goes."""
        forget_unfinished(self._parts[part], self.setting)

    def with_setting(self, setting: Setting) -> Self:
        """The same, to be run elsewhere."""
        return replace(self, setting=setting)  # type: ignore[type-var]

    def configured(self, how: Options, out: Path) -> tuple[Experiment, tuple[str, ...] | None]:
        """The experiment with as many seeds as are asked for: those on record stay there.

        Raises
        ------
        ValueError
            If there are no such parts, or what it needs is missing; in one line.
        """
        seeds = self.seeds_of(how)
        found = self.made(how, out, seeds=max(seeds, self.seeds), is_quick=how.quick)
        return found.ready(found.parts_with(how.part or "", seeds=seeds))

    def seeds_of(self, how: Options) -> int:
        """How many seeds are asked for."""
        return how.replicates or (1 if how.quick else self.seeds)

    def made(self, how: Options, out: Path, **changes: Any) -> Self:
        """The same with some fields changed, in the folder of its own parts."""
        found: Self = replace(self, **changes)  # type: ignore[type-var]
        folder = parts_folder(out, found.name)
        return found.with_setting(
            Setting(how.device or "cpu", how.images, folder, how.resume, how.notice,
                    how.workers or 1)
        )  # fmt: skip


def parts_folder(out: Path, name: str) -> Path:
    """Where the parts of an experiment are kept."""
    return out / f"{file_name(name).removesuffix('.json')}.parts"


# Behaviour marks ----------------------------------------------------------------------------------

MARKS = Path(__file__).with_name("behaviour_marks.json")
RENEW = "python -m peerbayes.experiments.behaviour"

CODECS = "codecs"
"""The recipe of the experiment `codecs`."""

GAE_AUTOENCODER = "gae: training of the autoencoder"
"""The recipe of the parts of `gae` that train one."""

Entry = Mapping[str, Any]
"""What is kept of a recipe: its ``mark``, and its ``numbers`` by kind and round."""


@cache
def kept_marks() -> Mapping[str, Entry]:
    """All recipes that have a mark."""
    kept: dict[str, Entry] = json.loads(MARKS.read_text(encoding="utf-8"))
    return kept


def behaviour_mark(*recipes: str) -> str:
    """The mark of a recipe; of several that a part runs through, such as codecs, with ``+``.

    Raises
    ------
    ValueError
        If a recipe has none.
    """
    kept = kept_marks()
    for recipe in recipes:
        if recipe not in kept:
            raise fail("recipe", "one that has a behaviour mark", repr(recipe), f"run `{RENEW}`")
    return "+".join(kept[recipe]["mark"] for recipe in recipes)


@cache
def all_marks() -> str:
    """A digest of the marks of all recipes: 12 hex digits."""
    return checksum({recipe: entry["mark"] for recipe, entry in kept_marks().items()})[:12]


def codec_recipes(words: Mapping[str, Any]) -> tuple[str, ...]:
    """The recipes of a codec, in its words, and of those within it, the outermost first.

    Examples
    --------
    >>> codec_recipes({"codec": "difference", "inner": {"codec": "sign"}, "mixing": 0.5})
    ('codec: difference', 'codec: sign')
    """
    return tuple(f"codec: {name}" for name in codec_names(words))


def codec_names(words: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of a codec and of those within it."""
    yield words["codec"]
    if isinstance(words.get("inner"), Mapping):
        yield from codec_names(words["inner"])
