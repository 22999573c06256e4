"""The papers as data: files are read whole, and what is misspelt or of another type is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from empirical import papers


@dataclass(frozen=True)
class Part:
    name: str
    groups: tuple[tuple[str, tuple[int, ...]], ...] = ()
    words: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    share: float = 0.5
    main: str = ""


def test_every_file_of_the_folder_is_read() -> None:
    names = [path.stem for path in Path(papers.__file__).parent.glob("*.toml")]
    assert len(names) >= 6
    assert all(papers.tables(name) for name in names)


def test_lists_are_tuples_where_fields_are_and_stay_lists_elsewhere() -> None:
    table = {"name": "a", "groups": [["all", []], ["two", [0, 1]]], "words": {"shape": [3, 3]}}
    made = papers.built(Whole, {"parts": [table]}, main="a")
    (part,) = made.parts
    assert part.groups == (("all", ()), ("two", (0, 1)))
    assert part.words == {"shape": [3, 3]}
    assert (made.share, made.main) == (0.5, "a")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"parts": [], "shares": 0.1}, "expected one of parts, share, main, got shares"),
        ({"parts": [], "share": "0.1"}, "Whole.share: expected of type float, got '0.1'"),
        ({"parts": [{"name": 3}]}, "Part.name: expected of type str, got 3"),
        ({"share": 0.1}, "missing 1 required positional argument: 'parts'"),
    ],
    ids=["unknown", "type", "inner type", "missing"],
)
def test_what_is_misspelt_is_one_line(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"parts|type") as error:
        papers.built(Whole, table)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
