"""Imports go one way: theory <- exact <- empirical <- peerbayes; torch is used in empirical alone.

Two independent checks. One reads the source (every import statement, also those inside functions).
The other imports every module of a room in a fresh interpreter that refuses the rooms above, and
looks at what was loaded. Both are shown to fail on a house that is built wrong.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("theory", "exact", "empirical", "peerbayes")
ABOVE = {room: set(ROOMS[floor + 1 :]) for floor, room in enumerate(ROOMS)}
FORBIDDEN = {  # the room: what must not be loaded when all of it is imported
    "theory": {*ABOVE["theory"], "torch"},
    "exact": {*ABOVE["exact"], "torch"},
    "empirical": {*ABOVE["empirical"]},
}
FRONT_DOORS = {  # the room: what importing its front door alone must not load (it costs seconds)
    "theory": {"torch", "numba", "matplotlib", "sklearn"},
    "exact": {"torch", "matplotlib", "sklearn"},
    "empirical": {"torch", "matplotlib"},
}

PROGRAM = """
import importlib, pkgutil, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == "torch" and name in forbidden:
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        if name.partition(".")[0] in forbidden:
            raise ImportError(f"{name} is above")

room, everything, forbidden = sys.argv[1], sys.argv[2] == "all", set(sys.argv[3:])
sys.meta_path.insert(0, Refuse())
door = importlib.import_module(room)
for module in pkgutil.walk_packages(door.__path__, room + ".") if everything else ():
    if not ("torch" in forbidden and module.name.startswith("empirical.nets")):
        importlib.import_module(module.name)
loaded = {name.partition(".")[0] for name in sys.modules} & forbidden
sys.exit(f"loaded {sorted(loaded)}" if loaded else 0)
"""


def import_alone(
    room: str, forbidden: set[str], *, everything: bool, root: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Import a room, or its front door only, where the forbidden packages cannot be had."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, room, "all" if everything else "door", *sorted(forbidden)],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level name of everything a file imports, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]
        elif (  # importlib.import_module("torch"), __import__("torch")
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")).endswith("import_module")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value).partition(".")[0]


def breaches(root: Path) -> list[str]:
    """List the imports that go up a floor, and those of torch outside its room."""
    found = []
    for room in ROOMS:
        barred = set(ABOVE[room]) | {"tests"} | ({"torch"} if room != "empirical" else set())
        for path in sorted((root / room).rglob("*.py")):
            names = set(imported(ast.parse(path.read_text(encoding="utf-8"))))
            found += [f"{path.relative_to(root)} imports {name}" for name in names & barred]
    return found


def test_no_file_imports_upwards() -> None:
    assert breaches(ROOT) == []


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_stands_without_those_above(room: str) -> None:
    done = import_alone(room, FORBIDDEN[room], everything=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("room", FRONT_DOORS)
def test_a_front_door_opens_without_heavy_packages(room: str) -> None:
    done = import_alone(room, FRONT_DOORS[room], everything=False)
    assert done.returncode == 0, done.stderr


def test_empirical_stands_without_torch() -> None:
    """Without the extra, the built-in problems on real data still work."""
    done = import_alone("empirical", {*FORBIDDEN["empirical"], "torch"}, everything=True)
    assert done.returncode == 0, done.stderr


def test_the_room_of_nets_says_which_extra_it_needs() -> None:
    program = PROGRAM.replace("import_module(room)", "import_module('empirical.nets')")
    done = subprocess.run(
        [sys.executable, "-c", program, "empirical", "door", "torch"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install '.[empirical]'" in done.stderr.splitlines()[-1]


def build_house(root: Path, sources: dict[str, str]) -> Path:
    """Build a small house of four empty rooms with the given files in it."""
    for room in ROOMS:
        (root / room).mkdir()
        (root / room / "__init__.py").write_text("")
    for name, text in sources.items():
        (root / name).write_text(text)
    return root


def test_an_honest_house_passes(tmp_path: Path) -> None:
    house = build_house(tmp_path, {"exact/run.py": "import theory\nfrom theory import __name__\n"})
    assert breaches(house) == []
    assert import_alone("exact", FORBIDDEN["exact"], everything=True, root=house).returncode == 0


@pytest.mark.parametrize(
    "statement",
    [
        "import exact",
        "from exact import __name__",
        "import exact as lower",
        "from importlib import import_module\nimport_module('exact')",
    ],
)
def test_both_checks_see_an_import_that_goes_up(tmp_path: Path, statement: str) -> None:
    house = build_house(tmp_path, {"theory/rate.py": statement})
    assert breaches(house) == ["theory/rate.py imports exact"]
    done = import_alone("theory", FORBIDDEN["theory"], everything=True, root=house)
    assert done.returncode == 1
    assert "exact is above" in done.stderr


def test_the_source_check_sees_an_import_inside_a_function(tmp_path: Path) -> None:
    hidden = "def f():\n    if True:\n        import torch\n"
    house = build_house(tmp_path, {"exact/learning.py": hidden, "empirical/training.py": hidden})
    assert breaches(house) == ["exact/learning.py imports torch"]


def test_the_interpreter_check_sees_what_was_loaded_before_it_looked(tmp_path: Path) -> None:
    """A package that is in sys.modules without an import statement is seen as well."""
    sneaky = "import sys, types\nsys.modules['peerbayes'] = types.ModuleType('peerbayes')\n"
    house = build_house(tmp_path, {"empirical/data.py": sneaky})
    assert breaches(house) == []
    done = import_alone("empirical", FORBIDDEN["empirical"], everything=True, root=house)
    assert "loaded ['peerbayes']" in done.stderr
