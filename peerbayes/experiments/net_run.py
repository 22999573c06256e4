"""One part of an experiment with neural nets: where and how it is run, and what it leaves on disk.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from empirical.tensor_files import read_words
from exact.whole_files import remove_leftovers
from peerbayes._version import __version__
from peerbayes.experiments.behaviour_marks import behaviour_mark, codec_recipes, net_recipe
from peerbayes.experiments.holding import Held, held
from peerbayes.experiments.net_codecs import codec_of_row, codec_settings
from peerbayes.experiments.net_documents import Curve, Facts, NetPart, PosteriorFile
from peerbayes.experiments.net_parts import Part, part_values, schedule_values
from peerbayes.experiments.net_rows import Row
from peerbayes.records import file_name
from peerbayes.terminal import sayer
from theory.validation import fail, install_extra

if TYPE_CHECKING:
    from empirical.keeping import Generations
    from empirical.nets.posterior import Posterior


class Named(Protocol):
    """A part of an experiment: files are named after it."""

    @property
    def name(self) -> str:
        """Unique within the experiment."""
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


def check_setting(row: Row, setting: Setting) -> None:
    """Whether torch, the data and the device are there, before anything is run.

    Raises
    ------
    ValueError
        In one line that says how to get what is missing.
    """
    check_installed(row.name)
    from empirical.data import locate
    from empirical.nets.training import check_device

    check_device(setting.device)
    locate(row.dataset, directory=setting.data)


def check_installed(what: str) -> None:
    """Whether the libraries that nets need are there.

    Raises
    ------
    ValueError
        In one line that says how to get them.
    """
    missing = [name for name in ("torch", "safetensors") if find_spec(name) is None]
    if missing:
        remedy = install_extra("empirical")
        raise fail(what, "torch and safetensors", f"no {missing[0]}", remedy)


def run_net_part(
    row: Row,
    part: Part,
    *,
    is_quick: bool,
    codec: str = "",
    setting: Setting,
    seed: int,
    fingerprint: str,
    progress: Callable[[int, int], None] | None = None,
) -> NetPart:
    """Train and measure; `codec` names what writes the messages, if anything does.

    Raises
    ------
    ValueError
        If something is missing, or training fails; the message names agent and round.
    """
    from empirical.data import CHECKSUMS
    from empirical.nets.curve import Schedule, follow
    from peerbayes.experiments.net_problem import net_problem, part_learner

    check_setting(row, setting)
    problem = net_problem(
        row, part, is_quick=is_quick, device=setting.device, data=setting.data, seed=seed
    )
    values = part_values(row, part, is_quick=is_quick)
    learner, rounds, recipe = part_learner(
        problem, part, values,
        seed=seed, device=setting.device, codec=codec_of_row(codec) if codec else None,
    )  # fmt: skip
    schedule = Schedule(**schedule_values(row, is_quick=is_quick))
    with alone(part, setting):
        curve = follow(
            learner,
            problem.test,
            rounds=rounds,
            schedule=schedule,
            seed=seed,
            generations=unfinished(part, setting, fingerprint),
            resume=setting.resume,
            progress=progress,
            say=sayer(progress),
        )
    words = {"experiment": row.name, "part": part.name, "fingerprint": fingerprint}
    return NetPart(
        recipe=part.recipe,
        role=part.role,
        variant=part.variant,
        seed=part.seed,
        settings={**recipe, "rounds_run": rounds},
        network=Facts.model_validate(problem.facts),
        classes=list(problem.classes),
        data=dict(CHECKSUMS[row.dataset]),
        curve=Curve.model_validate(curve.as_json()),
        behaviour=mark_of(row, part, codec),
        versions=versions(),
        posterior=_kept_beliefs(learner.posterior, part, setting.folder, words),
        codec=codec_settings(codec) if codec else None,
    )


def mark_of(row: Row, part: Part, codec: str = "") -> str:
    """The behaviour mark of a part, and with a codec those of the codecs."""
    codecs = codec_recipes(codec_settings(codec)) if codec else ()
    return behaviour_mark(net_recipe(row, part), *codecs)


def _kept_beliefs(
    posterior: Posterior, part: Part, folder: Path | None, words: dict[str, str]
) -> PosteriorFile | None:
    """The file that the beliefs are kept in; None where there is no folder for them."""
    if folder is None:
        return None
    from empirical.nets.posterior import save_posterior

    path = folder / f"{_file(part)}.safetensors"
    return PosteriorFile(file=path.name, sha256=save_posterior(path, posterior, words))


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
            for ending in (
                ".safetensors",
                ".json",
                *(f".unfinished.{k}.safetensors" for k in (0, 1)),
            ):
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
