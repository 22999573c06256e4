"""Behaviour marks: what the code that made a record computes, in 12 hex digits a recipe.

A recipe is whatever has code or constants of its own: parts of one recipe run through the same
code; what they differ in besides, such as seed, data set and learning rate, stands in their
settings. Its mark is the beginning of the SHA-256 of losses and accuracies of its frozen run
(:mod:`peerbayes.experiments.frozen_runs`); numbers and marks stand in `behaviour_marks.json`, which
:mod:`peerbayes.experiments.behaviour` compares and renews. Marks are read without torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from peerbayes.records import checksum
from theory.validation import fail

MARKS = Path(__file__).with_name("behaviour_marks.json")
RENEW = "python -m peerbayes.experiments.behaviour"

CODECS = "codecs"
"""The recipe of the experiment `codecs`."""

GAE_AUTOENCODER = "gae: training of the autoencoder"
"""The recipe of the parts of `gae` that train one."""

Entry = Mapping[str, Any]
"""What is kept of a recipe: its ``mark``, and its ``numbers`` by kind and round."""


@cache
def kept_marks() -> Mapping[str, Entry]:
    """All recipes that have a mark."""
    kept: dict[str, Entry] = json.loads(MARKS.read_text(encoding="utf-8"))
    return kept


def behaviour_mark(*recipes: str) -> str:
    """The mark of a recipe; of several that a part runs through, such as codecs, with ``+``.

    Raises
    ------
    ValueError
        If a recipe has none.
    """
    kept = kept_marks()
    for recipe in recipes:
        if recipe not in kept:
            raise fail("recipe", "one that has a behaviour mark", repr(recipe), f"run `{RENEW}`")
    return "+".join(kept[recipe]["mark"] for recipe in recipes)


@cache
def all_marks() -> str:
    """A digest of the marks of all recipes: 12 hex digits."""
    return checksum({recipe: entry["mark"] for recipe, entry in kept_marks().items()})[:12]


# Names of recipes ---------------------------------------------------------------------------------


def tuned_recipe(method: str) -> str:
    """The recipe of a method of `tuned`."""
    return f"tuned: {method}"


def codec_recipe(name: str) -> str:
    """The recipe of a codec in a row."""
    return f"codec: {name}"


def codec_recipes(words: Mapping[str, Any]) -> tuple[str, ...]:
    """The recipes of a codec, in its words, and of those within it, the outermost first.

    Examples
    --------
    >>> codec_recipes({"codec": "difference", "inner": {"codec": "sign"}, "mixing": 0.5})
    ('codec: difference', 'codec: sign')
    """
    return tuple(codec_recipe(name) for name in codec_names(words))


def codec_names(words: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of a codec and of those within it."""
    yield words["codec"]
    if isinstance(words.get("inner"), Mapping):
        yield from codec_names(words["inner"])
