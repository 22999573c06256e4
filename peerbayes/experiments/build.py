"""Which build a part was made with: a fingerprint of the code that decides its numbers.

The definitions of the modules below are taken one by one, without comments, docstrings, imports
and formatting, as a set. Neither better words nor a definition moved to another file of the list
makes another build; a changed constant does. The theory that hands over weights and influence is
not listed: what it hands over is part of a part's settings.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_HOUSE = Path(__file__).parents[2]
# Where beliefs are kept, who computes them, and data of others, decide no number.
_WITHOUT_NUMBERS = {
    f"{name}.py" for name in ("__init__", "distributed", "own_data", "posterior_files", "threads")
}


def deciding_files() -> tuple[Path, ...]:
    """The source files whose definitions decide the numbers of a part."""
    nets = _HOUSE / "empirical" / "nets"
    return (
        *(path for path in sorted(nets.glob("*.py")) if path.name not in _WITHOUT_NUMBERS),
        *(_HOUSE / "empirical" / name for name in ("data.py", "dealing.py", "partition.py")),
        _HOUSE / "peerbayes" / "experiments" / "net_problem.py",
    )


@cache
def build_of_nets() -> str:
    """The fingerprint of the code that trains and measures networks of nets: 12 hex digits."""
    return _fingerprint_of_files(*deciding_files())


@cache
def build_of_tuned() -> str:
    """The fingerprint of the code that trains and judges the methods of `tuned`: 12 hex digits.

    The learners of `empirical.train` and what they are built on; data of others decide nothing.
    """
    train = _HOUSE / "empirical" / "train"
    files = [path for path in sorted(train.rglob("*.py")) if path.parent.name != "data"]
    files += sorted((_HOUSE / "empirical" / "kernels").glob("*.py"))
    own = _HOUSE / "peerbayes" / "experiments"
    files += [own / f"tuned_{name}.py" for name in ("plan", "runs", "search")]
    return _fingerprint_of_files(*deciding_files(), *files)


@cache
def build_of_gae() -> str:
    """The fingerprint of the code that trains and measures GAE: 12 hex digits."""
    empirical = _HOUSE / "empirical"
    folders = (empirical / part for part in ("gae", "messages"))
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return _fingerprint_of_files(*files, empirical / "data.py")


@cache
def build_of_codecs() -> str:
    """The fingerprint of the code that trains with, and tries, codecs: 12 hex digits."""
    files = list(deciding_files())
    for folder in ("kernels", "messages", "train"):
        files += sorted((_HOUSE / "empirical" / folder).rglob("*.py"))
    return _fingerprint_of_files(*files)


def _fingerprint_of_files(*paths: Path) -> str:
    """Of modules with definitions of their own: an ``__init__`` only gathers and names them."""
    own = (path for path in paths if path.name != "__init__.py")
    return fingerprint_of_code(path.read_text(encoding="utf-8") for path in own)


def fingerprint_of_code(sources: Iterable[str]) -> str:
    r"""12 hex digits of the SHA-256 of what these modules define.

    Examples
    --------
    >>> one = fingerprint_of_code(['RATE = 1.0', 'def f():\n    "Words."\n    return RATE'])
    >>> one == fingerprint_of_code(['# A rate.\ndef f(): return RATE\nRATE = 1.0'])
    True
    >>> one == fingerprint_of_code(['def f(): return RATE\nRATE = 2.0'])
    False
    """
    marks = {mark for source in sources for mark in _definitions(source)}
    return hashlib.sha256("".join(sorted(marks)).encode("ascii")).hexdigest()[:12]


def _definitions(source: str) -> Iterator[str]:
    """Yield the checksum of every statement at the top of a module but imports and texts."""
    tree = _WithoutWords().visit(ast.parse(source))
    for statement in tree.body:
        yield hashlib.sha256(ast.unparse(statement).encode("utf-8")).hexdigest()


class _WithoutWords(ast.NodeTransformer):
    """Takes out texts that stand alone, such as docstrings, and imports."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:  # ast's name
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_Import(self, node: ast.Import) -> None:  # ast's name
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # ast's name
        return None

    def visit_If(self, node: ast.If) -> ast.AST | None:  # ast's name
        is_typing = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_typing else self.generic_visit(node)
