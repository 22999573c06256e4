"""Parts of a long certificate, kept as they are finished.

`analyse --exact` and `analyse --certify` may take minutes on large networks. Each part that took
longer than a moment is written to a record at once; when the same command runs again, after an
interruption or not, it is read back instead of computed. A record belongs to one problem, one
request and one version of the program: anything else is computed afresh.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from peerbayes._version import __version__
from peerbayes.problem.problems import Problem
from peerbayes.records import file_name, plain, read_record, write_record
from theory import FiniteAgent
from theory.network.structure import as_dense

KIND = "certificate"
# Parts that are computed faster than this are not worth a file.
_KEEP_SECONDS = 1.0


@dataclass(frozen=True)
class PartStore:
    """Where the finished parts of one request are kept.

    Attributes
    ----------
    path
        The record.
    key
        What the parts depend on, as plain JSON.
    """

    path: Path
    key: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Path, problem: Problem, **request: object) -> PartStore:
        """The store of one problem and request, in a folder that need not exist yet."""
        key = plain({"problem": fingerprint(problem), "version": __version__, **request})
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode("ascii")).hexdigest()
        return cls(folder / file_name("certificate", problem.name, digest[:12]), key)

    def part(self, name: str, compute: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The part of that name: read back if it is there, else computed and kept if it was slow.

        Raises
        ------
        ValueError
            If the record is damaged, or cannot be written.
        """
        parts = self._parts()
        if name in parts:
            found: Mapping[str, Any] = parts[name]
            return found
        start = time.monotonic()
        result = plain(compute())
        if time.monotonic() - start >= _KEEP_SECONDS:
            body = {"key": self.key, "parts": {**self._parts(), name: result}}
            write_record(self.path, kind=KIND, body=body)
        return dict(result)

    def _parts(self) -> dict[str, Any]:
        if not self.path.exists():
            return {}
        try:
            record = read_record(self.path)
        except ValueError as error:
            raise ValueError(f"{error}; or delete the file and run again") from None
        if record.kind != KIND or record.body.get("key") != self.key:
            return {}
        return dict(record.body["parts"])


def fingerprint(problem: Problem) -> str:
    """A hash of everything that the numbers of a problem follow from."""
    digest = hashlib.sha256()
    if problem.specification is not None:
        digest.update(problem.specification.to_json().encode("utf-8"))
        return digest.hexdigest()
    model = problem.model
    if problem.messages is not None:
        digest.update(f"{problem.messages.name} {vars(problem.messages)}".encode())
    digest.update("\0".join(model.hypotheses).encode("utf-8"))
    arrays = [as_dense(problem.network.weights), model.assignment, model.log_priors]
    for kind in model.kinds:
        if isinstance(kind, FiniteAgent):
            arrays += [kind.probabilities, kind.log_likelihoods, np.array(kind.entropy)]
        else:
            arrays += [kind.inputs, kind.truth_means, kind.means]
            drawn = [] if kind.batch == 1 else [kind.batch]
            arrays += [np.array([kind.truth_std, kind.std, *drawn])]
    for array in arrays:
        digest.update(str(array.shape).encode("ascii"))
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
