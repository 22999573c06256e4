"""Where one can begin: the built-in problems by name, and five stories told step by step.

A story is a TOML file beside this module (``stories/NAME.toml``): its title, what it is about, the
page that proves it, named problems, written as in problem files, and its steps. A step has

- ``text``: a few plain sentences, whose numbers are all computed again by the tests;
- ``document``: the problem that is shown, as a problem file says it;
- ``do``: the view to open and its settings, such as ``{"view": "run", "rounds": 60}``, or None;
- ``look_at``: names of what the text speaks of: a number (``"rate"``), ``"agent:0"``,
  ``"link:4-5"``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from peerbayes.messages import choose
from peerbayes.problem.builtins.families import BUILTINS, Builtin, WrittenBuiltin, merged
from theory.progress import Progress

Table = dict[str, Any]
STORIES = ("expert", "liar", "late", "wrong", "edge")
"""Names of the stories, in the order in which they are best read."""


def story(request: Mapping[str, Any], progress: Progress | None = None) -> Table:
    """The story of the name that a request ``{"name": …}`` asks for.

    Raises
    ------
    ValueError
        If there is none; the line names one that is spelt like it.

    Examples
    --------
    >>> story({"name": "late"})["title"]
    'Late messages, lost messages'
    """
    return _read(choose("story", request.get("name"), STORIES))


def gallery(request: Mapping[str, Any] | None = None, progress: Progress | None = None) -> Table:
    """Everything to begin from: ``problems``, the built-in families, and ``stories``.

    Examples
    --------
    >>> [entry["name"] for entry in gallery()["stories"]]
    ['expert', 'liar', 'late', 'wrong', 'edge']
    """
    told = [_read(name) for name in STORIES]
    return {
        "problems": [_problem(family) for family in BUILTINS.values()],
        "stories": [
            {**{key: one[key] for key in ("name", "title", "about")}, "steps": len(one["steps"])}
            for one in told
        ],
    }


def _problem(family: Builtin) -> Table:
    count = len(family.variants)
    about = f"{count} variants" if count > 1 else "1 variant"
    return {
        "name": family.name,
        "title": family.title,
        "about": about + ("; needs the image files" if family.needs_data else ""),
        "kind": _kind(family),
        "variants": list(family.variants),
        "default": family.default,
        "needs_data": family.needs_data,
    }


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
def _read(name: str) -> Table:
    told = tomllib.loads((files(__package__) / "stories" / f"{name}.toml").read_text("utf-8"))
    problems = {key: _document(key, told["problems"]) for key in told["problems"]}
    steps = [
        {
            "text": step["text"].strip(),
            "document": problems[step["problem"]],
            "do": step.get("do"),
            "look_at": step["look_at"],
        }
        for step in told["steps"]
    ]
    return {"name": name, **{k: told[k] for k in ("title", "about", "proof")}, "steps": steps}


def _document(key: str, problems: Mapping[str, Table]) -> Table:
    """A problem of a story: what it says itself, over what it says to be like."""
    own = dict(problems[key])
    like = own.pop("like", None)
    return own if like is None else merged(_document(like, problems), own)
