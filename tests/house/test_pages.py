"""The code of the documentation is run by tests/pages.py; here that machinery is tested itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

from docs import outputs
from docs.outputs import fill, own_arguments, run_command, split_session
from docs.settings_tables import modules
from tests.pages import ROOT

CONFTEST = """
from sybil import Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

from tests.pages import FLAGS, files, folder, run_session

pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_session),
        files,
    ],
    patterns=["*.md"],
    setup=folder.enter,
    teardown=folder.leave,
).pytest()
"""


def run_page(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run one page as the tests run those of the documentation."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "page.md").write_text(textwrap.dedent(text))
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-W", "error"),
            *("-p", "no:cacheprovider", "-p", "no:randomly"),
            *("-c", os.devnull, "--rootdir", str(folder), str(folder / "page.md")),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


GOOD = """\
    Save this as `two.txt`:

    ```text
    one
    two
    ```

    ```python
    from pathlib import Path

    text = Path("two.txt").read_text()
    ```

    ```python
    >>> len(text)
    8
    ```

    ```console
    $ cat two.txt
    one
    ...
    $ exit 3
    $ echo $?
    3
    $ ls *.txt | wc -l
    1
    ```
    """


def test_a_good_page_passes(tmp_path: Path) -> None:
    done = run_page(tmp_path, GOOD)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout  # the file, two python blocks, one session


@pytest.mark.parametrize(
    "wrong",
    [
        "```python\nassert 1 == 2\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```console\n$ false\n```\n",
        "```console\n$ echo one\ntwo\n```\n",
        "```console\n$ exit 2\n$ echo $?\n1\n```\n",
        "```console\npeerbayes without a prompt\n```\n",
        "```python\nopen('not-saved.txt')\n```\n",
        "```python\nopen('left-open.txt', 'w')\n```\n",
    ],
)
def test_a_wrong_page_fails(tmp_path: Path, wrong: str) -> None:
    assert run_page(tmp_path, wrong).returncode == 1


def test_a_session_is_split_into_commands_and_what_they_show() -> None:
    session = "$ one --flag\nshown\nmore\n$ two\n$ echo $?\n0\n"
    assert split_session(session) == [
        ("one --flag", "shown\nmore\n"),
        ("two", ""),
        ("echo $?", "0\n"),
    ]


def test_every_page_of_the_documentation_runs_something_or_says_why_not() -> None:
    """A page of mathematics or a guide without a runnable example is unfinished."""
    reading_only = {"index.md", "reference/limits.md"}
    pages = {
        path.relative_to(ROOT / "docs").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "docs").glob("**/*.md"))
        if not path.is_relative_to(ROOT / "docs/_build")
    }
    runs = "```python", "```console", "{code-cell}", "{benchmark}"
    silent = {
        name
        for name, text in pages.items()
        if not any(mark in text for mark in runs)
        and "```{toctree}" not in text  # it leads on to others
        and not re.fullmatch(r"reference/api/\w+/[\w-]+\.md", name)  # docstrings have examples
    }
    assert silent <= reading_only, sorted(silent - reading_only)


@pytest.mark.parametrize("package", ["empirical", "peerbayes"])
def test_the_page_on_architecture_names_every_room(package: str) -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    words = text.split(f"```{{modules}} {package}\n", 1)[1].split("```", 1)[0].split()
    table = [*modules(package, *words)][2:]
    folders = [path.parent for path in (ROOT / package).rglob("__init__.py")]
    rooms = {folder.name for folder in folders if folder.parent == ROOT / package}
    assert rooms <= {word for word in words if (ROOT / package / word).is_dir()}
    assert all(re.fullmatch(r"\| `[\w/]+` \| [^|]{20,}\. \|", line) for line in table)
    with pytest.raises(ValueError, match=f"a module of {package}, got 'cellar'"):
        list(modules(package, "cellar"))


PATTERNS = """\
    Save this as `two.txt`:

    ```text
    one
    two
    ```

    ```python
    from pathlib import Path

    text = Path("two.txt").read_text()
    print(text * 2)
    ```

    ```python
    >>> text = text.upper()
    ```

    ```console
    $ cat two.txt
    ...
    $ exit 3
    $ echo $?
    3
    ```

    ```python
    print(text)
    ```
    """


def test_a_reader_sees_whole_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    filled = fill(textwrap.dedent(PATTERNS))
    assert "..." not in filled
    assert "$ cat two.txt\none\ntwo\n````" in filled
    assert "$ exit 3\n$ echo $?\n3\n````" in filled
    assert "one\ntwo\none\ntwo\n````" in filled
    assert "ONE\nTWO\n````" in filled  # names are shared, also by blocks with prompts
    assert filled.count("```python") == 3


def test_pages_are_filled_in_processes_of_their_own(tmp_path: Path) -> None:
    texts = ["```python\nx = 1\nprint(x)\n```\n", "```python\nprint('x' in globals())\n```\n"]
    pages = [tmp_path / f"{k}.md" for k in range(3)]
    for page, text in zip(pages, [*texts, "```python\nassert x == 1\n```\n"], strict=True):
        page.write_text(text)
    first, second = outputs.fill_in_processes(pages[:2])
    assert "\n1\n````" in first
    assert "\nFalse\n````" in second
    with pytest.raises(RuntimeError, match=r"2\.md:\n(.*\n)*NameError: name 'x' is not defined"):
        outputs.fill_in_processes(pages)


PICTURE = """\
```python
from pathlib import Path

Path("dot.svg").write_text("<svg/>")
```

![A dot, seen
from above.](dot.svg)
"""


def test_a_reader_sees_what_a_page_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "![A dot, seen\nfrom above.](data:image/svg+xml;base64,PHN2Zy8+)" in fill(PICTURE)
    with pytest.raises(FileNotFoundError, match=r"square\.svg"):
        fill("![A square.](square.svg)\n")


def test_a_picture_that_was_not_drawn_is_its_description() -> None:
    site = SimpleNamespace(filled_pages={})
    for page, shown in (("![A dot.](dot.svg)", "*A dot.*"), ("![A dot.](../dot.png)", None)):
        source = [page]
        outputs.put_filled(site, "page", source)  # of what was not drawn, the description
        assert source == [shown or page]
    source = ["![A dot,\nseen](../dot.png)"]
    outputs.put_filled(site, "page", source)
    assert source == ["![A dot, seen](../dot.png)"]


def test_a_failing_command_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match="exited with 4"):
        fill("```console\n$ exit 4\n```\n")


def test_a_refusal_that_a_page_shows_does_not_stop_the_build() -> None:
    shown = ">>> int('one')\nTraceback (most recent call last):\nValueError: no number\n"
    assert shown in fill(f"```python\n{shown}```\n")
    with pytest.raises(ValueError, match="invalid literal"):
        fill("```python\n>>> int('one')\n```\n")


def test_a_page_runs_as_a_module_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Annotations are evaluated, whatever the module that builds pages imports from the future."""
    monkeypatch.chdir(tmp_path)
    text = "def f(x: 1 + 1): pass\nprint('annotated', f.__annotations__['x'])\n"
    assert "annotated 2\n" in fill(f"```python\n{text}```\n")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("peerbayes list", ["peerbayes", "list"]),
        ("peerbayes analyse 'p2-star a=0.7' --json > a.json", [
            "peerbayes", "analyse", "p2-star a=0.7", "--json", ">", "a.json",
        ]),
        ("peerbayes campaign --only '5*'", ["peerbayes", "campaign", "--only", "5*"]),
        ('peerbayes formula weights --weights "1-a a; b 1-b"', [
            "peerbayes", "formula", "weights", "--weights", "1-a a; b 1-b",
        ]),
        ("peerbayes list | wc -l", []),
        ("peerbayes peer a.toml & wait", []),
        ("peerbayes list 2> said", []),
        ("peerbayes report *.json", []),
        ("peerbayes analyse $problem", []),
        ("python gauge.py", []),
    ],
)  # fmt: skip
def test_commands_that_need_no_shell_are_told_apart(command: str, words: list[str]) -> None:
    assert own_arguments(command) == words


@pytest.mark.parametrize(
    "command",
    [
        "peerbayes analyse two-coins --delta 0.01",
        "peerbayes simulate two-coins --rounds 20 --replicates 20 --json > run.json",
        "peerbayes analyse two-coin",
        "peerbayes design two-coins --objective speed",
    ],
)
def test_a_page_in_this_process_shows_what_a_process_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def shown() -> tuple[str, int, dict[str, bytes]]:
        with outputs.page_folder():
            printed, code = run_command(command)
            files = {path.name: path.read_bytes() for path in Path().glob("*.json")}
        return printed, code, files

    here = shown()
    assert os.environ.get("TERM") != "dumb"  # the page's terminal is left behind
    monkeypatch.setattr(outputs, "own_arguments", lambda command: [])
    assert shown() == here
