"""The beliefs that a part leaves beside its record: whether the file is still what was recorded.

A part's record names the file and its checksum. The file says itself of which experiment and part
it is, so that one put in another's place is seen. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from empirical.tensor_files import AGAIN, verify_file
from peerbayes.experiments.net_documents import PosteriorFile
from peerbayes.experiments.net_rows import Part
from peerbayes.experiments.run import KIND, PART_KIND, parts_folder
from peerbayes.records import Record
from theory.validation import fail


def posterior_damage(
    content: Mapping[str, Any], folder: Path, *, experiment: str | None, part: str
) -> str | None:
    """What is wrong with the beliefs of a part, in one line; None if nothing is, or none are kept.

    Parameters
    ----------
    content
        What the record says of the part.
    folder
        Where the file is.
    experiment, part
        What the file has to say that it is of; an experiment that is not known may be any.
    """
    if content.get("posterior") is None:
        return None
    kept = PosteriorFile.model_validate(content["posterior"])
    path = folder / Path(kept.file).name
    try:
        found = verify_file(path)
    except ValueError as error:
        return str(error)
    own = found.words.get("experiment"), found.words.get("part")
    expected = own[0] if experiment is None else experiment, part
    if own != expected:
        wanted, got = (f"the beliefs of '{one}: {other}'" for one, other in (expected, own))
        return str(fail(str(path), wanted, got, AGAIN))
    if found.sha256 != kept.sha256:
        return str(fail(str(path), "the beliefs that are on record", "those of another run", AGAIN))
    return None


def damaged_posteriors(record: Record) -> Iterator[str]:
    """Yield what is wrong with the beliefs that a record of `run`, or of a part, speaks of.

    A record without the folder of its parts has been taken elsewhere, and is of use by itself.
    """
    if record.kind == PART_KIND:
        contents, folder, row = {"": record.body["content"]}, record.path.parent, None
    elif record.kind == KIND:
        contents, row = record.body["content"], record.body.get("settings", {}).get("row")
        folder = parts_folder(record.path.parent, record.body["experiment"])
    else:
        return
    if not folder.is_dir():
        return
    for name, content in contents.items():
        if isinstance(content, Mapping) and content.get("posterior") is not None:
            part = (
                name or Part(*(content[key] for key in ("recipe", "role", "variant", "seed"))).name
            )
            damage = posterior_damage(content, folder, experiment=row, part=part)
            if damage is not None:
                yield damage
