"""Trials that are kept on file, so that a long comparison may be stopped and taken up."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.tables import Options
from exact.whole_files import replacing


class Trials:
    """Results of trials by their keys, which say everything that a result follows from.

    They are kept in a JSON file beside the numbers, written anew after every trial. Where only
    what is finished is wanted, no trial is run.
    """

    def __init__(self, how: Options) -> None:
        self._path, self.fresh = how.trials, not how.finished
        there = self._path is not None and self._path.is_file()
        self._known: dict[str, Any] = json.loads(self._path.read_text()) if there else {}

    def result(self, key: str, trial: Callable[..., Any], *given: Any, **more: Any) -> Any:
        """What is on file, or else what `trial` returns of what it is given, of JSON's kinds.

        Raises
        ------
        KeyError
            If it is not on file, and nothing is to be run.
        """
        if key not in self._known:
            if not self.fresh:
                raise KeyError(key)
            self._known[key] = trial(*given, **more)
            if self._path is not None:
                with replacing(self._path) as file:
                    file.write((json.dumps(self._known, indent=1) + "\n").encode())
        return self._known[key]
