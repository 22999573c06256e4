"""Keys of files that are settings too: what is declared of a setting holds for the key.

A section of a file writes the type of such a key, which is what the file may hold, and takes its
default, its ends and its meaning from the class of settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING
from typing import Any

from pydantic import Field

from peerbayes.settings.declared import Settings, declared_in


def key_of(settings: Callable[..., Settings], name: str, **also: Any) -> Any:
    """The field of a section for the setting of a name.

    Parameters
    ----------
    also
        What the file has otherwise, such as another ``default``.

    Examples
    --------
    >>> from peerbayes.settings.nets import Train
    >>> key_of(Train, "batch").default
    50
    """
    declared = {one.name: one for one in declared_in(settings)}[name]
    assert declared.setting is not None
    default = {} if declared.default is MISSING else {"default": declared.default}
    meaning = {"description": declared.setting.help}
    return Field(**default | meaning | declared.setting.domain.bounds | also)
