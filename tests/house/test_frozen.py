"""The script that freezes outputs: what it notices, what it lets pass, what it refuses.

What the program says is compared by `make frozen`, which takes minutes; here are a few cases alone.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.frozen import __main__ as script
from tests.frozen.cases import GROUPS, Case, all_cases
from tests.frozen.comparing import differences
from tests.frozen.normal import normal, page_of
from tests.frozen.running import TERMINAL
from tests.frozen.store import Golden, read, write
from tests.frozen.workers import Said, said_by

# A help text, a document, numbers.
CHEAP = ("list --help", "schema net", "replay: life, own, own clocks")
FILES = {"list --help": "help", "schema net": "commands", CHEAP[2]: "replays"}


def run_here(cases: Sequence[Case], *, workers: int) -> Iterator[Said]:
    """Run cases in this process, which saves the start of others."""
    del workers
    return map(said_by, cases)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Goldens of three cheap cases."""
    folder = tmp_path_factory.mktemp("frozen")
    with pytest.MonkeyPatch.context() as change:
        for name, value in TERMINAL.items():
            change.setenv(name, value)
        change.setattr(script, "run_all", run_here)
        assert script.make(cheap(), folder=folder, workers=1) == 0
        yield folder


def cheap() -> list[Case]:
    """Return the three cases."""
    cases = all_cases()
    return [cases[name] for name in CHEAP]


def compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Compare, and return the exit code and what is printed but for the last line."""
    capsys.readouterr()
    code = script.compare(cheap(), folder=folder, workers=1)
    return code, capsys.readouterr().out.splitlines()[:-1]


def changed(made: Path, folder: Path, case: str, change: Callable[[Any], object]) -> Path:
    """Copy the goldens, the content of one of them changed."""
    for group in GROUPS:
        goldens = read(script.file_of(made, group))
        for k, golden in enumerate(goldens):
            if golden.case == case:
                content = json.loads(json.dumps(golden.content))
                change(content)
                goldens[k] = replace(golden, content=content)
        write(script.file_of(folder, group), goldens)
    return folder


def test_what_was_just_made_is_equal(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(made, capsys) == (0, [])


def add_to_number(content: dict[str, Any]) -> None:
    content["log beliefs"][3][1] *= 1 + 3e-9


def add_key(content: dict[str, Any]) -> None:
    content["out"]["lost"] = [1, 2]


def change_line(content: dict[str, Any]) -> None:
    content["out"][2] += " No more."


@pytest.mark.parametrize(
    ("case", "change", "line"),
    [
        (CHEAP[2], add_to_number, r"[told] log beliefs[3][1]: expected -0.55630715404"),
        ("schema net", add_key, "schema net [json] out.lost: expected [1, 2], got nothing"),
        ("list --help", change_line, "list --help [text] out line 3: expected '"),
    ],
    ids=["number", "key", "line"],
)
def test_a_difference_is_one_line_with_its_place(
    made: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    case: str,
    change: Callable[[Any], object],
    line: str,
) -> None:
    code, lines = compared(changed(made, tmp_path, case, change), capsys)
    assert code == 1
    assert len(lines) == 1
    assert line in lines[0]
    assert ", got " in lines[0]


def test_more_than_twenty_differences_are_counted(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = changed(
        made,
        tmp_path,
        "schema net",
        lambda content: content["out"].update({f"k{n}": n for n in range(30)}),
    )
    code, lines = compared(folder, capsys)
    assert code == 1
    assert len(lines) == 21
    assert lines[-1] == "and 10 differences more"


def truncated(data: bytes) -> bytes:
    return data[:-20]


def edited(data: bytes) -> bytes:
    return gzip.compress(gzip.decompress(data).replace(b"agents", b"Agents", 1))


def without_a_line(data: bytes) -> bytes:
    return gzip.compress(b"\n".join(gzip.decompress(data).splitlines()[:-1]) + b"\n")


def no_json(data: bytes) -> bytes:
    return gzip.compress(b"{" + gzip.decompress(data))


@pytest.mark.parametrize(
    ("damage", "got"),
    [
        (truncated, "a damaged or truncated one"),
        (edited, "changed content of schema net [json]"),
        (without_a_line, "0 goldens that do not fit the checksum of all"),
        (no_json, "one that is no JSON of this form"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    made: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[bytes], bytes],
    got: str,
) -> None:
    path = script.file_of(tmp_path, "commands")
    path.write_bytes(damage(script.file_of(made, "commands").read_bytes()))
    code = script.main(["compare", "--only", "schema net", "--folder", str(tmp_path)])
    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1
    assert f"expected goldens that fit their checksums, got {got}" in said


def test_equal_goldens_are_equal_bytes(tmp_path: Path) -> None:
    goldens = [Golden("a", "json", {"x": 1.5, "y": None}), Golden("b", "text", ["é"])]
    write(tmp_path / "one.gz", goldens)
    write(tmp_path / "two.gz", goldens[::-1])
    data = (tmp_path / "one.gz").read_bytes()
    assert data == (tmp_path / "two.gz").read_bytes()
    assert data[4:8] == bytes(4)  # of gzip: when it was packed
    assert read(tmp_path / "one.gz") == goldens


def test_making_some_cases_anew_leaves_the_others(made: Path, tmp_path: Path) -> None:
    folder = changed(made, tmp_path, "schema net", add_key)
    stray = Golden("a case that is gone", "text", [])
    write(script.file_of(folder, "help"), [stray, *read(script.file_of(folder, "help"))])
    assert script.make(cheap()[:1], folder=folder, workers=1) == 0
    for group in ("help", "replays"):
        file, own = script.file_of(folder, group), script.file_of(made, group)
        assert file.read_bytes() == own.read_bytes()  # and what is of no case is removed
    (schema,) = read(script.file_of(folder, "commands"))
    assert schema.content["out"]["lost"] == [1, 2]


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        (1.0, 1.0 + 9e-10, True),
        (1.0, 1.0 + 2e-9, False),
        (0.0, 9e-13, True),
        (0.0, 2e-12, False),
        (1e-30, 2e-30, False),
        (1, 1.0, False),
        (1, True, False),
        (None, 0.0, False),
        ({"gap": 2e-16}, {"gap": -1e-15}, True),
        ({"rate": 2e-16}, {"rate": 1e-15}, False),
        ([[0.2, 1e-17], [0.0, 0.3]], [[0.2, -3e-17], [0.0, 0.3]], True),
        ([[0.2, 1e-13], [0.0, 0.3]], [[0.2, 3e-13], [0.0, 0.3]], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [1, 2, 3], False),
    ],
    ids=lambda value: json.dumps(value),
)
def test_what_counts_as_equal(expected: Any, got: Any, same: bool) -> None:
    assert (list(differences(expected, got)) == []) is same


def test_lines_that_were_put_in_are_one_difference() -> None:
    old, new = ["a", "b", "c", "d"], ["a", "x", "y", "b", "c", "D"]
    assert list(differences({"out": old}, {"out": new})) == [
        "out line 2: expected nothing, got 'x' (and 1 lines more)",
        "out line 4: expected 'd', got 'D'",
    ]


def test_what_passes_is_taken_out_and_nothing_else() -> None:
    document = {
        "of": {"seconds": 3600.0},
        "curve": {"seconds": 1.25, "points": [{"seconds": 0.5, "nats": 0.5}]},
        "history": {"seconds": [0.5, 0.25]},
        "build": "0123456789ab",
        "builds": ["0123456789ab"],
        "version": 1,
        "record": "/tmp/here/certificate-p2-star.json",
        "notes": ["two-coins: done (0.3 s)", "in /tmp/here/out", "the year 2024-25"],
    }
    assert normal(document, (("/tmp/here", "FOLDER"),)) == {
        "of": {"seconds": 3600.0},
        "curve": {"seconds": "(seconds)", "points": [{"seconds": "(seconds)", "nats": 0.5}]},
        "history": {"seconds": "(seconds)"},
        "build": "(build)",
        "builds": "(builds)",
        "version": 1,
        "record": None,
        "notes": ["two-coins: done (S s)", "in FOLDER/out", "the year 2024-25"],
    }


PAGE = """<html><head><style>p { color: red }</style><script>var x = 1;</script></head>
<body><h1>A <em>title</em></h1><p>One
line.</p><table><tr><th>what</th><th>seconds</th></tr><tr><td>a</td><td>1.5</td></tr></table>
<svg viewBox="0 0 10 20"><path d="M1 2L3.5-4"/><g><text x="1" y="2">K</text></g></svg></body></html>
"""


def test_a_page_is_its_lines_and_its_drawings() -> None:
    assert page_of(PAGE) == {
        "lines": ["A title", "One line.", "| what | seconds", "| a | (seconds)"],
        "drawings": [
            {
                "elements": {"svg": 1, "path": 1, "g": 1, "text": 1},
                "words": ["K"],
                "coordinates": 30 + 10.5 + 3,
            }
        ],
    }


def test_a_pattern_that_fits_no_case_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["compare", "--only", "no such case"]) == 2
    assert "--only: expected a part of the name" in capsys.readouterr().err


def test_every_case_is_frozen_and_every_golden_has_its_case() -> None:
    """Goldens that are made and forgotten, or cases that nobody made, would compare nothing."""
    cases = all_cases()
    for group in GROUPS:
        frozen = {golden.case for golden in read(script.file_of(script.OUTPUTS, group))}
        assert frozen == {name for name, case in cases.items() if case.group == group}
