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
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest._code.code import Traceback
from sybil import Document, Example, Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.integration.pytest import SybilItem
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

from docs.outputs import FILE_BLOCK, page_folder, run_command, split_session

ROOT = Path(__file__).parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PACKAGES = ("theory", "exact", "empirical", "peerbayes")
LEVELS = ("", "/*", "/*/*")


def files(document: Document) -> Iterable[Region]:
    """Find the files that a page asks its reader to save."""
    for match in FILE_BLOCK.finditer(document.text):
        yield Region(match.start("text"), match.end("text"), match.groupdict(), write_file)


def write_file(example: Example) -> None:
    """Put a page's file into the page's folder."""
    Path(example.parsed["name"]).write_text(example.parsed["text"], encoding="utf-8")


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
            output, code = run_command(command)
            asked = position + 1 < len(session) and session[position + 1][0] == "echo $?"
            if code and not asked:
                return f"$ {command}\nexited with {code}:\n{output}"
        if shown.strip() and not doctest.OutputChecker().check_output(shown, output, FLAGS):
            return f"$ {command}\nprinted\n{output}\nwhere the page shows\n{shown}"
    return None


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


SCRIPTS = str(ROOT / "docs/experiments")


class Folder:
    """An empty folder for each page."""

    def enter(self, namespace: dict[str, object]) -> None:
        del namespace
        self.here = page_folder()
        self.here.__enter__()
        # As the site has it: scripts that make tables and figures of the pages on experiments.
        if SCRIPTS not in sys.path:
            sys.path.append(SCRIPTS)

    def leave(self, namespace: dict[str, object]) -> None:
        del namespace
        self.here.__exit__(None, None, None)


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
modules = [f"{package}{level}/*.py" for package in PACKAGES for level in LEVELS]
docstrings = Sybil(
    parsers=[DocTestParser(optionflags=FLAGS)],
    path=str(ROOT),
    patterns=modules,
    excludes=[f"tests/{module}" for module in modules],
    document_types={".py": PythonDocStringDocument},
)
