"""Trials that are kept on file, so that a long comparison may be stopped and taken up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exact.whole_files import replacing


class Trials:
    """Results of trials by their keys, which say everything that a result follows from.

    Parameters
    ----------
    path
        A JSON file, written anew after every trial; None: nothing is kept.
    fresh
        Whether trials that are not on file are run.
    """

    def __init__(self, path: Path | None, *, fresh: bool = True) -> None:
        self._path, self.fresh = path, fresh
        there = path is not None and path.is_file()
        self._known: dict[str, Any] = json.loads(path.read_text()) if path and there else {}

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def result(self, key: str, trial: Callable[[], Any]) -> Any:
        """What is on file, or else what `trial` returns, of JSON's kinds.

        Raises
        ------
        KeyError
            If it is not on file, and nothing is to be run.
        """
        if key not in self._known:
            if not self.fresh:
                raise KeyError(key)
            self._known[key] = trial()
            if self._path is not None:
                with replacing(self._path) as file:
                    file.write((json.dumps(self._known, indent=1) + "\n").encode())
        return self._known[key]
