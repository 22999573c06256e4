"""One agent's share of a problem: all that its process needs, prepared so that it starts quickly.

Reading a problem takes a second and a hundred megabytes of packages that a running agent does not
need; a share is a JSON file with the list of members and the agent's own law and claims. A problem
has the same shares on every machine (`peerbayes.live.preparing`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from peerbayes.live.members import Members
from peerbayes.live.transport import encoded
from theory.robustness.faults import RULES, Average, Rule
from theory.validation import fail

FORMAT = "peerbayes-share"
# The number that a robust rule has: its key in a [faults] table, and its type.
_NUMBERS: Mapping[str, tuple[str, type[int | float]]] = {
    "trimmed-mean": ("tolerate", int),
    "clip": ("radius", float),
}


@dataclass(frozen=True)
class Share:
    """What one agent needs of a problem.

    Attributes
    ----------
    problem
        The problem's name.
    agent
        The agent's name.
    kind
        "finite" or "net".
    members
        All agents and their weights, by the problem (epoch 0).
    on_loss
        What takes the place of a message that is missing: what a changing network says, or "last".
    rule
        A robust rule's keys in a ``[faults]`` table; empty for the plain average.
    content
        What goes with `kind`. For "finite": `hypotheses`; `law`, with the keys `probabilities`
        (O,), `offsets` (O, M) and for normal labels `slopes` (O, C, M) of log ℓ, from which draws
        are made; `claims`, which turn an observation into log-likelihoods; `batch`, observations a
        round.
    """

    problem: str
    agent: str
    kind: str
    members: Members
    on_loss: str = "last"
    rule: Mapping[str, Any] = field(default_factory=dict)
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def network(self) -> str:
        """First 16 hexadecimal digits of the problem's digest."""
        return self.members.network

    def document(self) -> dict[str, Any]:
        """The share as JSON takes it."""
        return {"format": FORMAT, "schema": 1} | vars(self) | {"members": self.members.document()}

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The share in a file.

        Raises
        ------
        ValueError
            If there is none.
        """
        try:
            document = json.loads(Path(path).read_bytes())
        except OSError as error:
            reason = error.strerror or "unreadable"
            raise fail(str(path), "an agent's share", reason, "give its file") from None
        except ValueError:
            raise fail(str(path), "an agent's share", "no JSON", "make it anew") from None
        if not is_share(document):
            raise fail(str(path), "an agent's share", "something else", "make it anew")
        said = {key: value for key, value in document.items() if key not in ("format", "schema")}
        return cls(**said | {"members": Members.from_document(said["members"])})

    def write(self, path: Path) -> None:
        """Write the share to a file, whole or not at all."""
        from exact.whole_files import replacing

        with replacing(path) as file:
            file.write(json.dumps(self.document()).encode())


def is_share(document: object) -> bool:
    """Whether a JSON document is a share of this schema."""
    known = isinstance(document, dict) and document.get("format") == FORMAT
    return known and document["schema"] == 1  # type: ignore[index]


def state_folder(out: Path, network: str) -> Path:
    """Where the agents of a network keep their states, below the folder for records.

    >>> state_folder(Path("out"), "0123456789abcdef").as_posix()
    'out/live-0123456789abcdef'
    """
    return out / f"live-{network}"


def own_file(folder: Path, agent: str, kind: str) -> Path:
    """One of an agent's files, such as its ``state``.

    >>> own_file(Path("live"), "../mast", "state").as_posix()
    'live/%2E%2E%2Fmast.state'
    """
    return folder / f"{encoded(agent).replace('.', '%2E')}.{kind}"


# Robust rules -----------------------------------------------------------------------------------


def robust_keys(text: str | None) -> dict[str, Any] | None:
    """A robust rule as keys of a ``[faults]`` table; None if none is named.

    Raises
    ------
    ValueError
        If there is none of that name, or its number is missing.

    Examples
    --------
    >>> robust_keys("trimmed-mean:2"), robust_keys("median")
    ({'rule': 'trimmed-mean', 'tolerate': 2}, {'rule': 'median'})
    """
    if text is None:
        return None
    name, _, number = text.partition(":")
    key, kind = _NUMBERS.get(name, ("", int))
    try:
        if key:
            return {"rule": name, key: kind(number)}
    except ValueError:
        name = ""
    if name not in RULES or number:
        wanted = "average, median, trimmed-mean:F or clip:R"
        raise fail("--robust", wanted, repr(text[:60]), "name a rule, with its number")
    return {"rule": name}


def robust_rule(keys: Mapping[str, Any]) -> Rule | None:
    """The rule that the keys of a ``[faults]`` table name; None for the plain average.

    Raises
    ------
    ValueError
        If there is none, or its number does not fit.
    """
    name = keys.get("rule", "average")
    if name not in RULES:
        wanted = "average, median, trimmed-mean or clip"
        raise fail("robust", wanted, repr(name), "choose a rule")
    numbers = {key: value for key, value in keys.items() if key != "rule"}
    return None if name == "average" else RULES[name](**numbers)


def rule_keys(rule: Rule) -> dict[str, Any]:
    """A robust rule as keys of a ``[faults]`` table; empty for the plain average."""
    if isinstance(rule, Average):
        return {}
    return {"rule": {kind: name for name, kind in RULES.items()}[type(rule)], **asdict(rule)}
