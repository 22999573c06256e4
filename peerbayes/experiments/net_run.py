"""One part of an experiment with neural nets: where and how it is run, and what it leaves on disk.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from peerbayes.experiments.net_codecs import codec_of_row, codec_settings
from peerbayes.experiments.net_documents import Curve, Facts, NetPart, PosteriorFile
from peerbayes.experiments.net_rows import Part, Row, net_recipe, part_values, schedule_values
from peerbayes.experiments.setting import (
    Setting,
    _file,
    alone,
    behaviour_mark,
    check_installed,
    codec_recipes,
    unfinished,
    versions,
)
from peerbayes.progress import sayer

if TYPE_CHECKING:
    from empirical.nets.posterior import Posterior


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
