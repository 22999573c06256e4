"""What an edit is: a table with a kind, checked like a table of a problem file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from pydantic import ConfigDict

from peerbayes.explorer.editing.rows import Table
from peerbayes.problem.entries import Section


class Edit(Section):
    """One edit: `apply` makes the document after it from the one before, which it leaves alone.

    The document after it is not checked here: a problem that the file refuses is refused when it
    is read (`peerbayes.explorer.edits.edited`).
    """

    model_config = ConfigDict(populate_by_name=True)
    kind: ClassVar[str]
    """What the page calls it."""

    @abstractmethod
    def apply(self, document: Table) -> Table:
        """The document after the edit.

        Raises
        ------
        ValueError
            If the edit cannot be meant.
        """


def copied(value: Any) -> Any:
    """A copy of a table with all that is in it."""
    if isinstance(value, dict):
        return {key: copied(entry) for key, entry in value.items()}
    return [copied(entry) for entry in value] if isinstance(value, list) else value
