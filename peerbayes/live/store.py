"""An agent's state on disk: one file, written at once or not at all, with a checksum.

``AGENT.state`` names the segment of the journal (`peerbayes.live.journal`) that has what happened
since; `peerbayes.live.kept` goes on from both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any

from exact.whole_files import lock, read_regular, replacing
from peerbayes.live.journal import Journal
from peerbayes.live.learner import Saved
from peerbayes.live.tensor_bytes import METADATA, arrays, header_of, joined, split, written
from theory.validation import fail

FORMAT = "peerbayes-state"


class Store:
    """The files of one agent.

    Parameters
    ----------
    path
        Its state file; segments of the journal lie beside it.
    setting
        What must be the same for a state to fit: the network, the agent, how it pools.
    keep
        Whether old segments stay, for replays.

    Raises
    ------
    ValueError
        If another process has the same agent.
    """

    def __init__(self, path: Path, setting: Mapping[str, Any], *, keep: bool = False) -> None:
        self.path, self._setting, self._keep = path, dict(setting), keep
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = path.with_suffix(".lock").open("ab")
        if not lock(self._lock.fileno()):
            self._lock.close()
            wanted = "an agent that does not run here yet"
            raise fail(str(path), wanted, "one that runs", "stop it, or use another --out")

    def close(self) -> None:
        """Let others have the agent."""
        self._lock.close()

    def segment(self, number: int) -> Path:
        """The file of one segment of the journal."""
        return segment_of(self.path, number)

    def read(self) -> tuple[Saved, dict[str, Any]] | None:
        """The state, and what was kept with it; None if there is none.

        Raises
        ------
        ValueError
            If it is damaged, or of another setting.
        """
        remedy = f"delete it to begin anew, or use another --out: {self.path}"
        try:
            data = read_regular(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise fail("state", "a file", error.strerror or "unreadable", remedy) from None
        try:
            header, numbers = split(data)
            said = header[METADATA]
            digest = said["sha256"]
            said["sha256"] = ""
            if said["format"] != FORMAT or _digest(header, numbers) != digest:
                raise ValueError("another checksum")
            kept = json.loads(said["kept"])
            saved = Saved(json.loads(said["meta"]), arrays(header, numbers))
        except (ValueError, KeyError, TypeError) as error:
            raise fail("state", "a whole file", f"a damaged one ({error})", remedy) from None
        for name, value in self._setting.items():
            if kept["setting"].get(name) != value:
                got = repr(kept["setting"].get(name))
                raise fail("state", f"{name} {value!r}", got, remedy)
        return saved, kept

    def write(self, saved: Saved, *, offset: int, taken: int) -> Journal:
        """Write the state; the segment of the journal that goes on from it.

        Raises
        ------
        OSError
            If it cannot be written; the state and journal before are kept then.
        """
        number = max(segments_of(self.path), default=0) + 1
        data = self._packed(saved, {"segment": number, "offset": offset, "taken": taken})
        journal = Journal(self.segment(number))
        try:
            if self._keep:
                journal.add("start", data=data)
            journal.flush()
            with replacing(self.path) as file:
                file.write(data)
        except OSError:
            journal.close()
            journal.path.unlink(missing_ok=True)
            raise
        for old in segments_of(self.path):
            if old < number and not self._keep:
                self.segment(old).unlink(missing_ok=True)
        return journal

    def _packed(self, saved: Saved, kept: dict[str, Any]) -> bytes:
        metadata = {
            "format": FORMAT,
            "kept": json.dumps({"setting": self._setting, **kept}),
            "meta": json.dumps(dict(saved.meta)),
            "sha256": "",
        }
        header, numbers = header_of(metadata, saved.tensors)
        header[METADATA]["sha256"] = _digest(header, numbers)
        return joined(written(header), numbers)


def segments_of(path: Path) -> list[int]:
    """Numbers of the segments of the journal beside a state file."""
    ends = (p.suffix[1:] for p in path.parent.glob(f"{escape(path.stem)}.journal.*"))
    return sorted(int(end) for end in ends if end.isdigit())


def segment_of(path: Path, number: int) -> Path:
    """The file of one segment of the journal."""
    return path.with_suffix(f".journal.{number}")


def _digest(header: Mapping[str, Any], numbers: bytes) -> str:
    content = hashlib.sha256(written(header))
    content.update(numbers)
    return content.hexdigest()
