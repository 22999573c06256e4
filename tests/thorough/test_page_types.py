"""The code of the README and of the pages passes ``mypy --strict``, as a reader's own would.

Each page is a module. Two things are allowed to a page and not to the product: what it shows may be
None by its type (``sample_sizes(...).certified.upper``), and a name may be used again for something
else. Lines are those of the page.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.outputs import CODE_BLOCK

ROOT = Path(__file__).parents[2]
ALLOWED = (
    "--no-strict-optional",
    "--allow-redefinition-new",
    "--local-partial-types",
    "--no-warn-unreachable",
    "--disable-error-code=var-annotated",  # stubs of networkx ask for nx.Graph[str]
)
# The walk through the modules subclasses and calls what readers of other pages do not.
APART = {"docs/architecture.md"}


def code_of(page: str) -> str:
    """The Python blocks of a page, each line where it stands on the page; outputs are left out."""
    lines = [""] * (page.count("\n") + 1)
    for block in CODE_BLOCK.finditer(page):
        if block["language"] != "python":
            continue
        first = page.count("\n", 0, block.start("text"))
        session = block["text"].lstrip().startswith(">>>")
        for k, line in enumerate(block["text"].splitlines()):
            if not session:
                lines[first + k] = line
            elif line.startswith((">>> ", "... ")):
                lines[first + k] = line[4:]
    return "\n".join(lines)


def modules(folder: Path) -> Iterator[Path]:
    """Write the code of every page into a folder, as a module of its own."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name, code = page.relative_to(ROOT).as_posix(), code_of(page.read_text(encoding="utf-8"))
        if code.strip() and name not in APART:
            path = folder / f"{re.sub(r'[^a-z]', '_', name[:-3].lower())}.py"
            assert not path.exists()
            path.write_text(code, encoding="utf-8")
            yield path


def errors(paths: list[Path], folder: Path) -> list[str]:
    """What mypy says of modules, but for notes."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", *ALLOWED),
            *("--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(folder / "cache")),
            *("--no-error-summary", "--no-pretty", *map(str, paths)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return [line for line in done.stdout.splitlines() if ": note: " not in line]


def test_pages_pass_the_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        code_of(
            "# A page\n```python\nimport peerbayes as pb\npb.learning_rate(3, 4)\n```\n"
            "```python\n>>> pb.load('two-coins').modle\n1\n```\n"
        ),
        encoding="utf-8",
    )
    found = errors([*modules(tmp_path), wrong], tmp_path)
    ours = [line.split("wrong.py:")[1] for line in found if "wrong.py:" in line]
    assert [line.split(":")[0] for line in ours] == ["4", "4", "7"]  # so mistakes are seen
    rest = [line for line in found if "wrong.py:" not in line]
    assert rest == []
