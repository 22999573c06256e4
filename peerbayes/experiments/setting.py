"""Where and how parts are run: folder, device, checkpoints, locks, marks of the code.

Code that computes something is known by *behaviour marks*, 12 hex digits a recipe. A recipe is
whatever has code or constants of its own: parts of one recipe run through the same code; what they
differ in besides, such as seed, data set and learning rate, stands in their settings. Its mark is
the beginning of the SHA-256 of losses and accuracies of its frozen run; numbers and marks stand in
`behaviour_marks.json`, which :mod:`peerbayes.experiments.behaviour` compares and renews.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from empirical.keeping import AGAIN, read_words, verify_file
from exact.whole_files import HAS_LOCKS, NO_LINKS, lock, remove_leftovers
from peerbayes._version import __version__
from peerbayes.documents import Document
from peerbayes.records import checksum, file_name
from theory.validation import fail, install_extra

if TYPE_CHECKING:
    from empirical.keeping import Generations


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


def parts_folder(out: Path, name: str) -> Path:
    """Where the parts of an experiment are kept."""
    return out / f"{file_name(name).removesuffix('.json')}.parts"


class KeptFile(Document):
    """A file of beliefs beside a record."""

    file: str
    sha256: str

    def damage(self, folder: Path, of: tuple[str | None, str] | None = None) -> str | None:
        """What is wrong with the file in a folder, in one line; None if nothing is.

        `of` are the experiment and the part that it has to say that it is of; an experiment that is
        not known may be any.
        """
        path = folder / Path(self.file).name
        try:
            found = verify_file(path)
        except ValueError as error:
            return str(error)
        own = found.words.get("experiment"), found.words.get("part")
        expected = own if of is None else (of[0] or own[0], of[1])
        if own != expected:
            wanted, got = (f"the beliefs of '{one}: {other}'" for one, other in (expected, own))
            return str(fail(str(path), wanted, got, AGAIN))
        if found.sha256 != self.sha256:
            wanted = "the beliefs that are on record"
            return str(fail(str(path), wanted, "those of another run", AGAIN))
        return None


# A file is held by one process --------------------------------------------------------------------

# Seconds between two tries; somebody may only be asking whether a file is held.
_PAUSE = 0.01


class Held(Exception):  # noqa: N818  # it says what is the case
    """Another process holds the file."""


@contextmanager
def held(path: Path, *, patience: float = 0.1) -> Iterator[None]:
    """Hold a file, made if need be, while the block runs, and delete it afterwards.

    The operating system lets go of it when the process ends, however it ends. Links are not
    followed. Where the system has no such locks (``fcntl``), nothing is held.

    Raises
    ------
    Held
        If another process holds it for `patience` seconds.
    OSError
        If the file cannot be opened, or is a link.
    """
    if not HAS_LOCKS:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _taken(path, patience)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether another process holds the file at this moment."""
    if not HAS_LOCKS:
        return False
    try:
        descriptor = os.open(path, os.O_RDWR | NO_LINKS)
    except OSError:
        return False
    try:
        # Shared, so that those who ask do not stop each other.
        return not lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _taken(path: Path, patience: float) -> int:
    """The descriptor of the file, locked, and still the one that the name leads to."""
    until = time.monotonic() + patience
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o644)
        if not lock(descriptor):
            os.close(descriptor)
            if time.monotonic() > until:
                raise Held(str(path))
            time.sleep(_PAUSE)
            continue
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False)):
                return descriptor
        # Whoever held it has deleted it in between.
        os.close(descriptor)


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
