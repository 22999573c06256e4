r"""What an agent sees: draws from its problem, or lines of JSON or CSV that come from outside.

A source gives the log-likelihoods log ℓ(y | θ), shape (M,) in nats, of what a round takes: their
sum over some observations, or None where there is nothing new. It keeps an *offset*, which goes
into the agent's state, so that nothing is counted twice after a return.

A line is JSON or CSV:

======================  ========================================================================
agent                   a line
======================  ========================================================================
tables                  the number y of the observation, from 0; with several inputs x, ``x,y``
normal labels           the label y, a number; with several inputs, ``x,y``
outcomes                the number of the outcome
any                     ``{"log_likelihood": [...]}``, one number a hypothesis, in nats
======================  ========================================================================

Where the problem names its outcomes, y may be the name. A text is a name first, then a number.
In JSON: y, ``[x, y]``, or ``{"x": …, "y": …}``. The decimal mark is a point: ``0,9`` is an
input and a label where there are several inputs, and no observation elsewhere.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from peerbayes.live.members import Share
from theory.validation import FloatArray, as_integer, fail

# Draws made at a time: each block has a generator of its own, so that any place is found at once.
_BLOCK = 256
MOST_AT_ONCE = 1000
"""Observations that one round takes, at most."""


class Evidence:
    """A source of observations; nothing comes to it from outside unless a subclass says so.

    Attributes
    ----------
    offset
        Where the next observation is found; a whole number.
    taken, refused
        Observations given so far, and lines that were none.
    arrives
        Whether observations come by themselves; draws are there whenever they are asked for.
    topic
        A key of the transport under which they come to `put_bytes`; None if they do not.
    """

    arrives = False
    topic: str | None = None

    def __init__(self) -> None:
        self.offset = self.taken = self.refused = 0

    @property
    def ended(self) -> bool:
        """Whether nothing more will ever come."""
        return False

    def take(self, most: int) -> FloatArray | None:
        """The next observations together, at most so many; None if there is none now."""
        self.offset += 1
        self.taken += 1
        return None

    def open(self, wake: Callable[[], None]) -> None:
        """Begin; `wake` is called, from any thread, when something has arrived."""

    def put_bytes(self, data: bytes) -> None:
        """What came under the topic."""

    def close(self) -> None:
        """Stop listening."""


class OwnData(Evidence):
    """What an agent that trains a net sees: rounds of its own share, whenever they are asked for.

    The learner has the data, so that there is nothing to give: `take` counts rounds.
    """


class Draws(Evidence):
    """Observations drawn from the law of an agent's problem.

    Parameters
    ----------
    law
        `probabilities` (O,), `offsets` (O, M), and for normal labels `slopes` (O, C, M): a draw has
        log ℓ = offsets[o] + n · slopes[o] with C normal numbers n.
    seed, agent
        Whole numbers: every agent has a stream of its own.
    """

    def __init__(self, law: Mapping[str, Any], *, seed: int, agent: int) -> None:
        super().__init__()
        self._seed = as_integer("seed", seed, minimum=0)
        self._agent = agent
        self._steps = np.cumsum(np.array(law["probabilities"]))
        self._offsets = np.array(law["offsets"])
        self._slopes = np.array(law["slopes"]) if "slopes" in law else None
        self._block: tuple[int, FloatArray] = (-1, np.empty((0, 0)))

    def take(self, most: int) -> FloatArray:
        """The next draw: a round's observations, a batch of them if the problem has batches."""
        block, place = divmod(self.offset, _BLOCK)
        if self._block[0] != block:
            self._block = (block, self._drawn(block))
        super().take(most)
        row: FloatArray = self._block[1][place]
        return row

    def _drawn(self, block: int) -> FloatArray:
        random = np.random.default_rng([self._seed, self._agent, block])
        last = self._steps.size - 1
        uniforms = random.random(_BLOCK) * self._steps[-1]
        outcomes = np.minimum(np.searchsorted(self._steps, uniforms, side="right"), last)
        rows: FloatArray = self._offsets[outcomes]
        if self._slopes is not None:
            noise = random.standard_normal((_BLOCK, self._slopes.shape[1]))
            rows = rows + np.einsum("bc,bcm->bm", noise, self._slopes[outcomes])
        return rows


def drawn(share: Share, *, rounds: int, seed: int) -> FloatArray:
    """What an agent of a live network observes in its first rounds, shape (T, M), in nats.

    The same as a process with this seed draws: for a comparison with :func:`exact.exchange`.
    """
    source = Draws(share.content["law"], seed=seed, agent=share.members.number(share.agent))
    return np.array([source.take(1) for _ in range(rounds)])


# What a line says -------------------------------------------------------------------------------

# Characters of a line.
_LONGEST_TEXT = 64 * 1024
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

# Log-likelihoods beyond this are no observation but a fault.
_LARGEST = 1e6


class UnreadableError(ValueError):
    """A line that is no observation of this agent."""


class Claims:
    """What an agent's hypotheses say of an observation.

    Parameters
    ----------
    claims
        `form` "tables" with `logs` (M, X, Y), "normal" with `means` (M, X) and `std`, or
        "outcomes" with `logs` (M, O); None in `logs` where a hypothesis rules an outcome out.
        `names` are those of y, if it has names.
    hypotheses
        M.

    Attributes
    ----------
    form
        "tables", "normal" or "outcomes".
    inputs
        How many inputs x there are; 1 where observations have none.
    """

    def __init__(self, claims: Mapping[str, Any], *, hypotheses: int) -> None:
        self.form = claims["form"]
        self._hypotheses = hypotheses
        self._number = {name: y for y, name in enumerate(claims.get("names", ()))}
        if self.form == "normal":
            self._means = np.array(claims["means"], dtype=np.float64)
            self._std = float(claims["std"])
            self.inputs = int(self._means.shape[1])
            return
        logs = np.array(claims["logs"], dtype=np.float64)  # None becomes NaN
        self._logs = logs[:, None, :] if self.form == "outcomes" else logs
        self.inputs = int(self._logs.shape[1])

    def of_value(self, value: object) -> FloatArray:
        """Log-likelihoods of an observation that is no text: the same as of its line of JSON.

        Raises
        ------
        UnreadableError
            As `of_line`.
        """
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, str) and plain not in self._number:
            known = f"none of {', '.join(self._number)[:80]}" if self._number else "a text"
            raise UnreadableError(f"{plain[:40]!r}, which is {known}")
        try:
            return self.of_line(json.dumps(plain))
        except TypeError:
            raise UnreadableError(f"{str(value)[:40]!r} is no observation") from None

    def of_line(self, line: str) -> FloatArray:
        """Shape (M,): log ℓ(y | θ, x) in nats.

        Raises
        ------
        UnreadableError
            If the line is no observation of this agent, or a hypothesis rules it out.
        """
        if len(line) > _LONGEST_TEXT:
            raise UnreadableError(f"a line of {len(line)} characters")
        x, y = self._parsed(line)
        if isinstance(y, list):
            return self._given(y)
        if x is None and self.inputs > 1:
            raise UnreadableError(f"{line.strip()[:40]!r} has no input, of which there are several")
        place = _whole("input", x or 0, self.inputs)
        if self.form == "normal":
            if not math.isfinite(y) or abs(y) > 1e100:
                raise UnreadableError(f"the label {y!r}")
            row = -(((y - self._means[:, place]) / self._std) ** 2) / 2
        else:
            row = self._logs[:, place, _whole("observation", y, self._logs.shape[2])]
        return self._checked(np.asarray(row, dtype=np.float64))

    def _parsed(self, line: str) -> tuple[float | None, Any]:
        """Input, if there is one, and observation; or None and a list of log-likelihoods."""
        text = line.strip()
        try:
            said: Any = text if text in self._number else json.loads(text)
        except (ValueError, RecursionError):
            said = self._of_csv(text)
        if isinstance(said, dict):
            if isinstance(said.get("log_likelihood"), list):
                return None, said["log_likelihood"]
            said = [said.get("x", said.get("input")), said.get("y", said.get("observation"))]
            said = said[1] if said[0] is None else said
        pair = said if isinstance(said, list) and len(said) == 2 else [None, said]
        if pair[1] is None:
            raise UnreadableError(f"{text[:40]!r} has no observation")
        x, y = None if pair[0] is None else _number(pair[0]), self._observed(pair[1])
        if y is None or (x is None and pair[0] is not None):
            raise UnreadableError(f"{text[:40]!r} is no observation")
        return x, y

    def _of_csv(self, text: str) -> Any:
        """A number, or a list of an input and a label where there are several inputs."""
        parts = [part.strip() for part in text.split(",")]
        first, rest = parts[0], text.partition(",")[2].strip()
        if self.inputs > 1 and rest in self._number and _NUMBER.fullmatch(first):
            return [float(first), rest]
        if len(parts) > 1 + (self.inputs > 1):
            wanted = "an input and a label" if self.inputs > 1 else "one number"
            raise UnreadableError(
                f"{text[:40]!r} is more than {wanted}; if a comma is the decimal mark, write '.'"
            )
        if not all(_NUMBER.fullmatch(part) for part in parts):
            known = ", ".join(self._number)[:80]
            raise UnreadableError(
                f"{text[:40]!r} is neither JSON nor plain numbers"
                + f", nor one of {known}" * bool(known)
            )
        said = [float(part) for part in parts]
        return said[0] if len(said) == 1 else said

    def _observed(self, value: object) -> float | None:
        """The number of an observation; None if it is none."""
        if not isinstance(value, str):
            return _number(value)
        if value in self._number:
            return self._number[value]
        return float(value) if self._number and _NUMBER.fullmatch(value) else None

    def _given(self, values: list[Any]) -> FloatArray:
        """Log-likelihoods that stand in the line themselves."""
        numbers = [_number(value) for value in values]
        if None in numbers:
            raise UnreadableError("log-likelihoods that are no numbers")
        row = np.array(numbers, dtype=np.float64)
        if row.shape != (self._hypotheses,):
            wanted = f"{self._hypotheses} log-likelihoods"
            raise UnreadableError(f"{row.size} numbers where there should be {wanted}")
        return self._checked(row)

    def _checked(self, row: FloatArray) -> FloatArray:
        if not np.isfinite(row).all():
            raise UnreadableError("an observation that a hypothesis rules out")
        if np.abs(row).max() > _LARGEST:
            raise UnreadableError("an observation beyond all hypotheses")
        return row


def _number(value: object) -> float | None:
    """A number of JSON; infinite if no float is as large, None if it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _whole(what: str, value: float, count: int) -> int:
    if value != int(value) if math.isfinite(value) else True:
        raise UnreadableError(f"the {what} {value!r}, which should be a whole number")
    if not 0 <= value < count:
        raise UnreadableError(f"the {what} {value!r}, which should be 0 to {count - 1}")
    return int(value)


# Lines ------------------------------------------------------------------------------------------

# Lines that wait to be taken: beyond, files are not read on, and of others the oldest give way.
_MOST_WAITING = 100_000
# Bytes of a line, and seconds between two looks at a file.
_LONGEST, _LOOK = 1 << 17, 0.1
Feed = Callable[["Lines", threading.Event], None]


class Lines(Evidence):
    """Observations from lines of text, which may be put in from any thread.

    `offset` is where the line after the last one that was taken begins, in bytes of a file.

    Parameters
    ----------
    claims
        What turns a line into log-likelihoods.
    log
        Told once of the first line that is none.
    feed
        Puts lines in, in a thread of its own, until the event is set.
    topic
        A key of the transport from which they come instead.

    Attributes
    ----------
    end
        Set when no more lines will come.
    """

    arrives = True

    def __init__(
        self,
        claims: Claims,
        *,
        log: Callable[[str], None],
        feed: Feed | None = None,
        topic: str | None = None,
    ) -> None:
        super().__init__()
        self._claims, self.log, self._feed, self.topic = claims, log, feed, topic
        self._waiting: deque[tuple[bytes, int]] = deque(maxlen=_MOST_WAITING)
        self.end = False
        self._stop = threading.Event()
        self._wake: Callable[[], None] = lambda: None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.end and not self._waiting

    @property
    def is_full(self) -> bool:
        """Whether so many lines wait that no more should be put in."""
        return len(self._waiting) > _MOST_WAITING // 2

    def put(self, line: bytes, offset: int = 0) -> None:
        """One line, and where the next one begins."""
        self._waiting.append((line, offset))
        self._wake()

    def put_bytes(self, data: bytes) -> None:
        """Lines that came together."""
        for line in data.splitlines():
            self.put(line)

    def finish(self) -> None:
        """No more lines will come."""
        self.end = True
        self._wake()

    def take(self, most: int) -> FloatArray | None:
        """The log-likelihoods of the next lines together."""
        total: FloatArray | None = None
        count = 0
        while self._waiting and count < most:
            line, self.offset = self._waiting.popleft()
            if not line.strip():
                continue
            try:
                row = self._claims.of_line(line.decode())
            except (UnreadableError, UnicodeDecodeError) as error:
                self.refused += 1
                if self.refused == 1:
                    self.log(f"evidence: {error}; such lines are counted and left out")
                continue
            total = row if total is None else total + row
            count += 1
        self.taken += count
        return total

    def open(self, wake: Callable[[], None]) -> None:
        """Begin; from now on tell of what arrives."""
        self._wake = wake
        if self._feed is not None:
            what = (self, self._stop)
            threading.Thread(target=self._feed, args=what, name="evidence", daemon=True).start()

    def close(self) -> None:
        """Put no more in."""
        self._stop.set()


def from_input(lines: Lines, stop: threading.Event) -> None:
    """Feed from standard input, to its end."""
    rest = b""
    while not stop.is_set():
        data = os.read(sys.stdin.fileno(), 1 << 16)
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            lines.put(line)
        rest = rest[:_LONGEST]
    if rest.strip():
        lines.put(rest)
    lines.finish()


class FileFeed:
    """Feed from a file that grows: whole lines, as they come.

    A file that became shorter, or another one under its name, is read from its beginning.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ValueError
        If it is not there.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise fail("--evidence", "a file", f"none at {path}", "make it first; it may be empty")
        self._path = path

    def __call__(self, lines: Lines, stop: threading.Event) -> None:
        """Read until `stop`."""
        at = lines.offset
        file: BinaryIO | None = None
        while not stop.is_set():
            try:
                if file is not None and not self._is_same(file):
                    file.close()
                    file, at = None, 0
                    lines.log(f"evidence: {self._path} was begun anew, and is read from its start")
                if file is None:
                    file = self._path.open("rb")
                if os.fstat(file.fileno()).st_size < at:
                    at = 0
                    lines.log(f"evidence: {self._path} became shorter, and is read from its start")
                at = self._read(file, at, lines)
            except OSError:
                pass  # it may be back at the next look
            stop.wait(_LOOK)
        if file is not None:
            file.close()

    def _is_same(self, file: BinaryIO) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return True  # moved away, and no other is there yet

    def _read(self, file: BinaryIO, at: int, lines: Lines) -> int:
        """Put in all whole lines from a place on; the place after them."""
        file.seek(at)
        while not lines.is_full:
            line = file.readline(_LONGEST)
            if not line.endswith(b"\n") and len(line) < _LONGEST:
                break
            at += len(line)
            lines.put(line, at)
        return at
