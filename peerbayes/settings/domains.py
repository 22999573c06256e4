"""Domains of settings: which values one may take, as text on the command line and in Python.

`Domain.read` makes a value of an option's text; `Domain.check` takes what Python code gave, and
returns it in its usual form. Both raise a ``ValueError`` that says what was expected and what came.
What a domain expects stands in its attribute `wanted`, once.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

# Seeds and counts beyond this are typing errors: they would overflow 64 bits.
_LARGEST = 2**62


class Domain:
    """Which values a setting may take.

    Attributes
    ----------
    metavar
        What stands for a value in help, such as ``N``.
    wanted
        What is expected, in words: the end of "expected …".
    """

    metavar: str
    wanted: str

    @property
    def bounds(self) -> dict[str, float]:
        """Ends of the domain of a number, as a JSON schema has them: ``ge``, ``gt``, ``lt``."""
        return {}

    def read(self, text: str) -> Any:
        """The value of an option's text: the text itself, unless a domain says otherwise.

        Raises
        ------
        ValueError
            Without a message, if the text stands for no value of the domain.
        """
        return text

    def check(self, name: str, value: Any) -> Any:
        """A value given in Python, in its usual form; None means that it was left out.

        Raises
        ------
        ValueError
            If it is outside the domain; in one line.
        """
        return value


@dataclass(frozen=True)
class Flag(Domain):
    """Yes or no: an option without a value."""

    metavar: str = ""
    wanted: str = "True or False"

    def read(self, text: str) -> bool:
        raise NotImplementedError("an option that is there or not has no text")

    def check(self, name: str, value: Any) -> Any:
        if not isinstance(value, bool):
            from theory.validation import fail

            raise fail(name, self.wanted, repr(value), "give one of them")
        return value


@dataclass(frozen=True)
class Python(Domain):
    """What Python code alone can give; whoever uses it looks at it, unless it is of a `group`."""

    wanted: str
    metavar: str = ""
    group: Any = None

    def read(self, text: str) -> Any:
        raise NotImplementedError("a setting of Python is no option")

    def check(self, name: str, value: Any) -> Any:
        if self.group is not None and not isinstance(value, self.group):
            from theory.validation import fail

            raise fail(name, self.wanted, type(value).__name__, "make one")
        return value


@dataclass(frozen=True)
class Text(Domain):
    """Words that whoever uses them reads further."""

    metavar: str = "NAME"
    wanted: str = "text"


@dataclass(frozen=True)
class Several(Domain):
    """Words, one for each time that the option is given."""

    metavar: str = "NAME"
    wanted: str = "a list of texts"

    def check(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            from theory.validation import fail

            raise fail(name, self.wanted, f"one: {value}", "put it in brackets")
        return tuple(value)


@dataclass(frozen=True)
class Whole(Domain):
    """A whole number of at least `minimum`."""

    minimum: int = 0
    metavar: str = "N"

    @property
    def wanted(self) -> str:  # type: ignore[override]
        return f"a whole number of at least {self.minimum}"

    @property
    def bounds(self) -> dict[str, float]:
        return {"ge": self.minimum}

    def read(self, text: str) -> int:
        # int() alone would also take underscores and the digits of other scripts.
        if not re.fullmatch("[+-]?[0-9]{1,30}", text):
            raise ValueError
        if not self.minimum <= int(text) <= _LARGEST:
            raise ValueError
        return int(text)

    def check(self, name: str, value: Any) -> Any:
        from theory.validation import as_integer

        return as_integer(name, value, minimum=self.minimum)


@dataclass(frozen=True)
class Real(Domain):
    """A number between two ends, the upper one left out, written as a decimal or a fraction."""

    metavar: str
    wanted: str
    above: float = -math.inf
    below: float = math.inf
    closed: bool = False
    """Whether the lower end belongs to the domain."""

    @property
    def bounds(self) -> dict[str, float]:
        ends = {"ge" if self.closed else "gt": self.above, "lt": self.below}
        return {name: end for name, end in ends.items() if math.isfinite(end)}

    def holds(self, value: float) -> bool:
        """Whether a number is in the domain."""
        return (self.above <= value if self.closed else self.above < value) and value < self.below

    def read(self, text: str) -> float:
        # float() alone would also take underscores and the digits of other scripts.
        if not re.fullmatch(r"[0-9]{1,30}/0*[1-9][0-9]{0,29}|[0-9.eE+-]+", text):
            raise ValueError
        above, _, below = text.partition("/")
        try:
            # Two whole numbers are divided with one rounding, as the fraction is.
            value = int(above) / int(below) if below else float(above)
        except ArithmeticError:
            raise ValueError from None
        if not self.holds(value):
            raise ValueError
        return value

    def check(self, name: str, value: Any) -> Any:
        from numbers import Real as Number

        if isinstance(value, bool) or not isinstance(value, Number) or not self.holds(float(value)):
            from theory.validation import fail

            raise fail(name, self.wanted, repr(value), "correct it")
        return value


PROBABILITY = Real("D", "a number in (0, 1), such as 0.05 or 1/20", 0.0, 1.0)
SHARE = Real("V", "a number in [0, 1), such as 0.05 or 1/20", 0.0, 1.0, closed=True)
SECONDS = Real(
    "S", "a number of seconds from 0 to a day", 0, math.nextafter(86_400, math.inf), closed=True
)
FACTOR = Real("S", "a number above 0 and below a million", 0.0, 1e6)


@dataclass(frozen=True)
class Checked(Domain):
    """A number that Python code may give more freely than a command line.

    Attributes
    ----------
    written
        How an option's text is read.
    check_by
        The function of `theory.validation` that looks at a value given in Python.
    """

    metavar: str
    written: Domain
    check_by: str

    @property
    def wanted(self) -> str:  # type: ignore[override]
        return self.written.wanted

    def read(self, text: str) -> float:
        return float(self.written.read(text))

    def check(self, name: str, value: Any) -> Any:
        return getattr(import_module("theory.validation"), self.check_by)(name, value)


ERROR = Checked("D", PROBABILITY, "as_probability")
"""A probability of error, in (0, 1)."""
SEARCH_TIME = Checked("S", Whole(1), "as_positive")
"""Seconds that a search may take: whole ones on the command line; None for no limit."""
HOURS = Checked("H", FACTOR, "as_positive")
"""How long a run may be expected to take; in Python without an upper end."""


@dataclass(frozen=True)
class Choice(Domain):
    """One of some words."""

    words: tuple[str, ...]
    metavar: str = "NAME"

    @property
    def wanted(self) -> str:  # type: ignore[override]
        return f"one of {', '.join(self.words)}"

    def read(self, text: str) -> str:
        if text not in self.words:
            raise ValueError
        return text

    def check(self, name: str, value: Any) -> Any:
        if value not in self.words:
            from theory.validation import fail

            raise fail(name, self.wanted, repr(value), "choose one")
        return value


@dataclass(frozen=True)
class Place(Domain):
    """The name of a folder or of a file."""

    kind: str
    metavar: str

    @property
    def wanted(self) -> str:  # type: ignore[override]
        return f"the name of a {self.kind}"

    def read(self, text: str) -> Path:
        # Path("") is the current folder, which nobody asks for by an empty name.
        if not text:
            raise ValueError
        return Path(text)

    def check(self, name: str, value: Any) -> Any:
        if not isinstance(value, str | Path) or not str(value):
            from theory.validation import fail

            raise fail(name, self.wanted, repr(value), "give its name")
        return Path(value)


FOLDER, FILE = Place("folder", "DIR"), Place("file", "FILE")


@dataclass(frozen=True)
class Memory(Domain):
    """Bytes, also as text such as 500M or 2GiB."""

    metavar: str = "SIZE"
    wanted: str = "a size such as 500M or 2GiB"

    def read(self, text: str) -> int:
        return int(self.check("memory", text))

    def check(self, name: str, value: Any) -> Any:
        from exact.cost import as_memory

        return as_memory(name, value)


@dataclass(frozen=True)
class Batch(Domain):
    """Observations a round: a whole number of at least 1, one for each agent, or some by name."""

    metavar: str = "B"
    wanted: str = "a whole number of at least 1"

    def read(self, text: str) -> int | tuple[int, ...] | dict[str, int]:
        if "=" in text:
            pairs = [part.rpartition("=") for part in text.split(",")]
            return {name.strip(): Whole(1).read(size.strip()) for name, _, size in pairs}
        sizes = tuple(Whole(1).read(part.strip()) for part in text.split(","))
        return sizes if len(sizes) > 1 else sizes[0]


@dataclass(frozen=True)
class Agents(Domain):
    """Agents by number or name: a sequence of them, one, or text with commas between."""

    metavar: str = "AGENTS"
    wanted: str = "agents' numbers between commas, such as 0,3"
