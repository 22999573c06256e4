"""Where one can begin: the built-in problems by name, and five stories told step by step.

A story is a TOML file beside this module (``stories/NAME.toml``): named problems, written as in
problem files, and steps that show one of them with a few sentences, what to do (run, design) and
what to look at. Every number in the sentences is computed again by the tests.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from peerbayes.messages import choose
from peerbayes.problem.builtins.families import BUILTINS, Builtin, WrittenBuiltin
from theory.progress import Progress

STORIES = ("expert", "liar", "late", "wrong", "edge")
"""Names of the stories, in the order in which they are best read."""


@dataclass(frozen=True)
class Step:
    """One step of a story.

    Attributes
    ----------
    text
        A few plain sentences.
    document
        The problem that is shown, as a problem file says it.
    do
        The view to open and its settings, such as ``{"view": "run", "rounds": 60}``; None: none.
    look_at
        Names of what the text speaks of: a number (``"rate"``), ``"agent:0"``, ``"link:4-5"``.
    """

    text: str
    document: dict[str, Any]
    do: dict[str, Any] | None
    look_at: tuple[str, ...]


@dataclass(frozen=True)
class Story:
    """A story: its name, title and moral, the page that proves it, and its steps."""

    name: str
    title: str
    about: str
    proof: str
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """The story as plain tables and lists."""
        return asdict(self)


def told(name: object) -> Story:
    """The story of this name.

    Raises
    ------
    ValueError
        If there is none; the line names one that is spelt like it.

    Examples
    --------
    >>> told("late").title
    'Late messages, lost messages'
    """
    return _read(choose("story", name, STORIES))


def story(request: Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """The answer to a request ``{"name": …}``: a story as plain tables; errors as in `told`."""
    return told(request.get("name")).as_json()


def gallery(
    request: Mapping[str, Any] | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Everything to begin from: ``problems``, the built-in families, and ``stories``.

    Examples
    --------
    >>> [entry["name"] for entry in gallery()["stories"]]
    ['expert', 'liar', 'late', 'wrong', 'edge']
    """
    return {
        "problems": [_problem(family) for family in BUILTINS.values()],
        "stories": [
            {"name": s.name, "title": s.title, "about": s.about, "steps": len(s.steps)}
            for s in map(_read, STORIES)
        ],
    }


def _problem(family: Builtin) -> dict[str, Any]:
    return {
        "name": family.name,
        "title": family.title,
        "about": _about(family),
        "kind": _kind(family),
        "variants": list(family.variants),
        "default": family.default,
        "needs_data": family.needs_data,
    }


def _about(family: Builtin) -> str:
    variants = f"{len(family.variants)} variants" if len(family.variants) > 1 else "1 variant"
    if family.needs_data:
        return f"{variants}; needs the image files"
    return variants


def _kind(family: Builtin) -> str:
    """The kind of problem, told from the document where there is one: nothing is built."""
    if not isinstance(family, WrittenBuiltin):
        return "regression" if family.name == "diabetes" else "finite"
    document = family.documents[family.default][0]
    if "regression" in document:
        return "regression"
    if "faults" in document:
        return "faulty"
    return "changing" if {"changes", "sequence"} & set(document["network"]) else "finite"


@cache
def _read(name: str) -> Story:
    text = (files(__package__) / "stories" / f"{name}.toml").read_text("utf-8")
    told = tomllib.loads(text)
    problems = {key: _document(key, told["problems"]) for key in told["problems"]}
    steps = tuple(
        Step(
            text=step["text"].strip(),
            document=problems[step["problem"]],
            do=step.get("do"),
            look_at=tuple(step["look_at"]),
        )
        for step in told["steps"]
    )
    return Story(name, told["title"], told["about"], told["proof"], steps)


def _document(key: str, problems: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A problem of a story: what it says itself, over what it says to be like."""
    own = dict(problems[key])
    like = own.pop("like", None)
    return own if like is None else _merged(_document(like, problems), own)


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged key by key; anything else is replaced."""
    return base | {
        key: _merged(base[key], value)
        if isinstance(value, dict) and isinstance(base.get(key), dict)
        else value
        for key, value in over.items()
    }
