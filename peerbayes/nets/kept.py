"""The beliefs that a training leaves beside its record: whether they are still those on record."""

from __future__ import annotations

from collections.abc import Iterator

from empirical.tensor_files import AGAIN, verify_file
from peerbayes.nets.documents import KeptBeliefs
from peerbayes.records import Record
from theory.validation import fail


def damaged_beliefs(record: Record) -> Iterator[str]:
    """Yield what is wrong with the beliefs that a record of `train` speaks of.

    A record without the folder of its beliefs has been taken elsewhere, and is of use by itself.
    """
    if record.kind != "train" or record.body.get("kept") is None:
        return
    kept = KeptBeliefs.model_validate(record.body["kept"])
    path = record.path.parent / kept.file
    if not path.parent.is_dir():
        return
    try:
        found = verify_file(path)
    except ValueError as error:
        yield str(error)
        return
    if found.sha256 != kept.sha256:
        yield str(fail(str(path), "the beliefs that are on record", "those of another run", AGAIN))
