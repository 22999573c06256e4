"""Edits of a problem: pure functions from the content of its file to another one.

A *document* is the content of a problem file as plain tables, lists, strings and numbers, as
`peerbayes.problem.writing.document_of` gives it. An edit is a table with a ``kind`` and the keys of
that kind; agents go by number. What an edit leads to is read by the problem file's own reader,
which refuses what it would refuse in a file, in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

from pydantic import BaseModel, ValidationError

from peerbayes.explorer.documents import canonical
from peerbayes.explorer.editing.agents import AddAgent, RemoveAgent, RenameAgent
from peerbayes.explorer.editing.edit import Edit
from peerbayes.explorer.editing.evidence import (
    ClearEvidence,
    RenameHypothesis,
    SetBatch,
    SetEvidence,
    SetPrior,
    SetTruth,
    SwapEvidence,
)
from peerbayes.explorer.editing.graph import (
    AddLink,
    FreeWeights,
    RemoveLink,
    SetRule,
    SetSelfWeight,
    SetWeight,
)
from peerbayes.explorer.editing.rows import Table
from peerbayes.explorer.editing.tables import (
    SetChanges,
    SetDesign,
    SetFaults,
    SetMessages,
    SetName,
    SetParameter,
)
from peerbayes.messages import choose, describe, translate
from peerbayes.problem.builtins.families import BUILTINS
from theory.validation import fail

EDITS: dict[str, type[Edit]] = {
    edit.kind: edit
    for edit in (
        AddAgent,
        RemoveAgent,
        RenameAgent,
        AddLink,
        RemoveLink,
        SetWeight,
        SetSelfWeight,
        SetRule,
        FreeWeights,
        SetParameter,
        SetEvidence,
        SwapEvidence,
        ClearEvidence,
        SetBatch,
        SetTruth,
        SetPrior,
        RenameHypothesis,
        SetChanges,
        SetFaults,
        SetMessages,
        SetName,
        SetDesign,
    )
}
"""Every edit by its kind."""


def parsed(edit: object, place: str = "edit") -> Edit:
    """The edit that a table describes; `place` names it in messages.

    Raises
    ------
    ValueError
        If it is no edit, in one line.
    """
    if not isinstance(edit, Mapping):
        raise fail(place, "a table with a kind", describe(edit), "say what is to be done")
    word = edit.get("kind")
    kind = EDITS[choose(f"{place}.kind", word, EDITS)]
    given = {key: value for key, value in edit.items() if key != "kind"}
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        keys = {field.alias or name: field for name, field in kind.model_fields.items()}
        owner = cast("type[BaseModel]", SimpleNamespace(model_fields=keys))
        raise translate(error, source=place, sections={"": owner}) from None


def edited(document: Table, edits: Sequence[object]) -> Table:
    """The document after some edits, one after the other, as the problem file writes it.

    The document given is left as it is.

    Raises
    ------
    ValueError
        If an edit is none or cannot be meant, or the problem file refuses what it leads to.

    Examples
    --------
    >>> half = {"kind": "set-weight", "from": 1, "to": 0, "value": "1/2"}
    >>> edited(TWO_COINS, [half])["network"]
    {'weights': [['9/10', '1/10'], ['1/2', '1/2']]}
    """
    for k, edit in enumerate(edits):
        place = "edit" if len(edits) == 1 else f"edits[{k}]"
        document = parsed(edit, place).apply(document)
    return canonical(document)


def named_anew(before: Table, after: Table) -> Table:
    """What became of a built-in problem, by a name of its own: its records are not the built-in's.

    Examples
    --------
    >>> named_anew(TWO_COINS, {**TWO_COINS, "learning": {"batch": 2}})["name"]
    'two-coins-edited'
    """
    name = str(after.get("name", ""))
    is_builtin = name.partition(" ")[0] in BUILTINS and not name.endswith("-edited")
    if not is_builtin or name != before.get("name") or after == before:
        return after
    return {**after, "name": f"{name}-edited"}
