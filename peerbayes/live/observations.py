"""From a line of text to log-likelihoods, by what an agent's hypotheses claim.

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
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from theory.validation import FloatArray

# Characters of a line.
_LONGEST = 64 * 1024
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
    """

    def __init__(self, claims: Mapping[str, Any], *, hypotheses: int) -> None:
        self._form = claims["form"]
        self._hypotheses = hypotheses
        self._number = {name: y for y, name in enumerate(claims.get("names", ()))}
        if self._form == "normal":
            self._means = np.array(claims["means"], dtype=np.float64)
            self._std = float(claims["std"])
            self._inputs = int(self._means.shape[1])
            return
        logs = np.array(claims["logs"], dtype=np.float64)  # None becomes NaN
        self._logs = logs[:, None, :] if self._form == "outcomes" else logs
        self._inputs = int(self._logs.shape[1])

    @property
    def inputs(self) -> int:
        """How many inputs x there are; 1 where observations have none."""
        return self._inputs

    def of_value(self, value: object) -> FloatArray:
        """Log-likelihoods of an observation that is no text: the same as of its line of JSON.

        Raises
        ------
        UnreadableError
            As `of_line`.
        """
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, str) and plain not in self._number:
            known = f"none of {', '.join(self._number)[:80]}" if self._number else "no number"
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
        if len(line) > _LONGEST:
            raise UnreadableError(f"a line of {len(line)} characters")
        x, y = self._parsed(line)
        if isinstance(y, list):
            return self._given(y)
        if x is None:
            if self._inputs > 1:
                raise UnreadableError(
                    f"{line.strip()[:40]!r} has no input, of which there are several"
                )
            x = 0
        place = _whole("input", x, self._inputs)
        if self._form == "normal":
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
        first, comma, rest = (part.strip() for part in text.partition(","))
        if comma and self._inputs > 1 and rest in self._number and _NUMBER.fullmatch(first):
            return [float(first), rest]
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > 1 + (self._inputs > 1):
            wanted = "an input and a label" if self._inputs > 1 else "one number"
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
        is_number = bool(self._number) and _NUMBER.fullmatch(value)
        return float(value) if is_number else None

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
