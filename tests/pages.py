"""The documentation is tested: pages, the README, and the examples in docstrings.

* ```` ```python ```` blocks of a page run in order and share their names.
* ```` ```console ```` blocks hold ``$`` commands. Each must exit with 0, unless ``$ echo $?``
  follows with the code it should have. Output that is shown must be the output (``...`` skips),
  errors included where the command fails.
* A sentence that ends in *Save … as* ```` `name` ```` `:` followed by a block makes that file.
* ```` ```sh ```` blocks are for the reader alone (installing, long runs).

Each page runs in an empty folder of its own.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest._code.code import Traceback
from sybil import Document, Example, Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.integration.pytest import SybilItem
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

ROOT = Path(__file__).parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ROOMS = ("theory", "exact", "empirical", "peerbayes")
LEVELS = ("", "/*", "/*/*")

FILE_BLOCK = re.compile(
    r"\b[Ss]ave\b[^`\n]*\bas `(?P<name>[\w.-]+)`[^\n]*:\n\n```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def files(document: Document) -> Iterable[Region]:
    """Find the files that a page asks its reader to save."""
    for match in FILE_BLOCK.finditer(document.text):
        yield Region(match.start("text"), match.end("text"), match.groupdict(), write_file)


def write_file(example: Example) -> None:
    """Put a page's file into the page's folder."""
    Path(example.parsed["name"]).write_text(example.parsed["text"], encoding="utf-8")


def split_session(text: str) -> list[tuple[str, str]]:
    r"""Split a terminal session into (command, output shown).

    >>> split_session("$ echo a\na\n$ true\n")
    [('echo a', 'a\n'), ('true', '')]
    """
    pieces = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if pieces[0].strip():
        raise ValueError(f"a console block starts with '$ ', not with {pieces[0]!r}")
    commands = []
    for piece in pieces[1:]:
        command, _, shown = piece.partition("\n")
        commands.append((command.strip(), shown))
    return commands


def run_session(example: Example) -> str | None:
    """Run the commands of a console block; return what is wrong, if anything."""
    session = split_session(example.parsed)
    if not session:
        return "a console block without a command: use ```text for output alone"
    code = 0
    for position, (command, shown) in enumerate(session):
        if command == "echo $?":
            output, code = f"{code}\n", 0
        else:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                capture_output=True,
                encoding="utf-8",
                env=terminal(),
                timeout=300,  # a page's command that takes minutes does not belong on the page
                check=False,
            )
            code = done.returncode
            output = done.stdout + done.stderr if code else done.stdout  # progress is not shown
            asked = position + 1 < len(session) and session[position + 1][0] == "echo $?"
            if code and not asked:
                return f"$ {command}\nexited with {code}:\n{output}"
        if shown.strip() and not doctest.OutputChecker().check_output(shown, output, FLAGS):
            return f"$ {command}\nprinted\n{output}\nwhere the page shows\n{shown}"
    return None


def terminal() -> dict[str, str]:
    """Return the environment of a page's terminal: plain, 100 columns, this source tree first."""
    path = [str(Path.cwd() / ".bin"), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return {
        **os.environ,
        "PATH": os.pathsep.join(path),
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _outside_of_the_page(
    item: SybilItem, excinfo: pytest.ExceptionInfo[BaseException]
) -> Traceback:
    """Shorten a traceback to the page's part; whole, where the page has none in it.

    The library's own version stops the whole run on an error that comes from pytest, such as a file
    that a page has left open.
    """
    try:
        return _shortened(item, excinfo)
    except IndexError:
        return excinfo.traceback


_shortened = SybilItem._traceback_filter
SybilItem._traceback_filter = _outside_of_the_page


class Folder:
    """An empty folder for each page, in which `peerbayes` is this source tree's command."""

    def __init__(self) -> None:
        self.before = ""
        self.here = ""

    def enter(self, namespace: dict[str, object]) -> None:
        del namespace
        self.before, self.here = os.getcwd(), tempfile.mkdtemp(prefix="peerbayes-page-")
        os.chdir(self.here)
        command = Path(".bin/peerbayes")
        command.parent.mkdir()
        command.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -m peerbayes "$@"\n',
            encoding="utf-8",
        )
        command.chmod(0o755)

    def leave(self, namespace: dict[str, object]) -> None:
        del namespace
        os.chdir(self.before)
        shutil.rmtree(self.here)


folder = Folder()
pages = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_session),
        files,
        SkipParser(),
    ],
    path=str(ROOT),
    patterns=["README.md", *(f"docs{level}/*.md" for level in LEVELS)],
    setup=folder.enter,
    teardown=folder.leave,
)
docstrings = Sybil(
    parsers=[DocTestParser(optionflags=FLAGS)],
    path=str(ROOT),
    patterns=["tests/pages.py", *(f"{room}{level}/*.py" for room in ROOMS for level in LEVELS)],
    excludes=[f"tests/{room}{level}/*.py" for room in ROOMS for level in LEVELS],
    document_types={".py": PythonDocStringDocument},
)
