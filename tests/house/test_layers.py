"""Imports go one way: theory <- exact <- empirical <- peerbayes; torch is used in empirical alone.

Two independent checks. One reads the source (every import statement, also those inside functions).
The other imports every module of a room in a fresh interpreter that refuses the rooms above, and
looks at what was loaded. No files import each other in a circle, and no folders: neither those at
the top of a room, each with all that lies in it, nor those of one folder further down.
All are shown to fail on a house that is built wrong.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("theory", "exact", "empirical", "peerbayes")
ABOVE = {room: set(ROOMS[floor + 1 :]) for floor, room in enumerate(ROOMS)}
FORBIDDEN = {  # the room: what must not be loaded when all of it is imported
    "theory": {*ABOVE["theory"], "torch"},
    "exact": {*ABOVE["exact"], "torch"},
    "empirical": {*ABOVE["empirical"]},
}
# Files at the top of a room that stand above its folders, where the others stand below them: what a
# user starts, and the schemas of what all commands print. Any other would make a circle of folders.
ABOVE_FOLDERS = ("peerbayes.__main__", "peerbayes.cli", "peerbayes.schemas")
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
    with_torch = "gae", "kernels", "likelihoods", "live", "messages", "nets", "train"
    needs_torch = tuple(f"empirical.{name}" for name in with_torch)
    if not ("torch" in forbidden and module.name.startswith(needs_torch)):
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


def module_name(path: Path, root: Path) -> str:
    """The dotted name of a file; a package's is that of its folder."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def wanted_names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each (module, name) that a file imports, wherever it stands; "" for all of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def files_that_import(root: Path, rooms: tuple[str, ...]) -> nx.DiGraph:
    """From every file to those whose definitions it imports, as modules.

    A name that a package only shows leads on to the file that defines it. Imports inside functions
    and for the types alone count like any other.
    """
    paths = {
        module_name(path, root): path for room in rooms for path in (root / room).rglob("*.py")
    }
    wanted = {
        module: list(wanted_names(ast.parse(path.read_text(encoding="utf-8"))))
        for module, path in paths.items()
    }

    def defined_in(module: str, name: str) -> str:
        if f"{module}.{name}" in paths:
            return f"{module}.{name}"
        if module in paths and paths[module].name == "__init__.py":
            for source, shown in wanted[module]:
                if name and shown == name:
                    return defined_in(source, name)
        return module

    graph = nx.DiGraph()
    for module, names in wanted.items():
        targets = {defined_in(source, name) for source, name in names} & set(paths) - {module}
        graph.add_edges_from((module, target) for target in targets)
    return graph


def circles(graph: nx.DiGraph) -> list[list[str]]:
    """What can be reached from itself, group by group."""
    return sorted(
        sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1
    )


def folders_that_import(
    root: Path, files: nx.DiGraph, above: tuple[str, ...] = ABOVE_FOLDERS
) -> nx.DiGraph:
    """From every folder to those beside it, and those in it, that it imports from.

    Beside others a folder is all that lies in it on the disk, however deep. Among its own folders
    it is the files at its top, but for those of `above`, which count as folders of their own. A
    package that shows what its folders define does not import from them.
    """

    def folders(module: str) -> list[str]:
        parts = module.split(".")
        is_folder = (root / Path(*parts)).is_dir() or module in above
        return parts if is_folder else parts[:-1]

    graph = nx.DiGraph()
    for one, other in files.edges:
        if not other.startswith(f"{one}."):
            mine, theirs = folders(one), folders(other)
            pairs = zip(mine, theirs, strict=False)
            depth = 1 + len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            graph.add_edge(".".join(mine[:depth]), ".".join(theirs[:depth]))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def test_no_file_imports_upwards() -> None:
    assert breaches(ROOT) == []


@pytest.fixture(scope="module")
def files() -> nx.DiGraph:
    return files_that_import(ROOT, ROOMS)


def test_no_files_and_no_folders_import_each_other_in_a_circle(files: nx.DiGraph) -> None:
    """Not even if every import that stands inside a function stood at the top."""
    assert len(files) > 300
    assert circles(files) == []
    assert circles(folders_that_import(ROOT, files)) == []


@pytest.mark.parametrize("name", ABOVE_FOLDERS)
def test_no_file_is_called_above_folders_that_is_not(name: str, files: nx.DiGraph) -> None:
    others = tuple(other for other in ABOVE_FOLDERS if other != name)
    assert circles(folders_that_import(ROOT, files, others)) != []


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


@pytest.mark.parametrize(
    ("package", "extra"),
    [
        ("empirical.kernels", "empirical"),
        ("empirical.likelihoods", "empirical"),
        ("empirical.nets", "empirical"),
        ("empirical.train", "train"),
        ("empirical.messages", "messages"),
    ],
)
def test_a_room_of_nets_says_which_extra_it_needs(package: str, extra: str) -> None:
    program = PROGRAM.replace("import_module(room)", f"import_module({package!r})")
    done = subprocess.run(
        [sys.executable, "-c", program, "empirical", "door", "torch"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 1
    assert f"pip install -c constraints.txt '.[{extra}]'" in done.stderr.splitlines()[-1]


def build_house(root: Path, sources: dict[str, str]) -> Path:
    """Build a small house of four empty rooms with the given files in it."""
    for room in ROOMS:
        (root / room).mkdir()
        (root / room / "__init__.py").write_text("")
    for name, text in sources.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
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


IN_A_FUNCTION = "def f():\n    from theory.rate import rate\n"
FOR_THE_TYPE = (
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from theory.rate import Rate\n"
)


@pytest.mark.parametrize("back", ["import theory.rate", IN_A_FUNCTION, FOR_THE_TYPE])
def test_a_circle_of_files_is_seen(tmp_path: Path, back: str) -> None:
    sources = {"theory/rate.py": "from theory import mixing\n", "theory/mixing.py": back}
    files = files_that_import(build_house(tmp_path, sources), ("theory",))
    assert circles(files) == [["theory.mixing", "theory.rate"]]


def test_a_circle_through_what_a_package_shows_is_seen(tmp_path: Path) -> None:
    sources = {
        "theory/learning/__init__.py": "from theory.learning.rate import rate\n",
        "theory/learning/rate.py": "from theory.network import mixing\n",
        "theory/network/mixing.py": "from theory.learning import rate as learned\n",
    }
    files = files_that_import(build_house(tmp_path, sources), ("theory",))
    assert circles(files) == [["theory.learning.rate", "theory.network.mixing"]]


def test_a_circle_through_a_package_that_defines_and_shows_is_seen(tmp_path: Path) -> None:
    sources = {
        "theory/__init__.py": "from theory.rate import rate\nversion = 1\n",
        "theory/rate.py": "from theory import version\n",
    }
    files = files_that_import(build_house(tmp_path, sources), ("theory",))
    assert circles(files) == [["theory", "theory.rate"]]


@pytest.mark.parametrize("inside", ["theory", "theory/learning", "theory/learning/rates"])
def test_a_circle_of_folders_through_one_that_lies_deeper_is_seen(
    tmp_path: Path, inside: str
) -> None:
    """A folder is all that lies in it: its deeper folders are not looked at by themselves."""
    package = inside.replace("/", ".")

    def house(name: str, kernels: str) -> tuple[Path, nx.DiGraph]:
        root = tmp_path / name
        root.mkdir()
        dotted = kernels.replace("/", ".")
        sources = {
            f"{inside}/nets/net.py": f"from {package}.{dotted}.loops import noise\n",
            f"{inside}/{kernels}/loops/noise.py": "",
            f"{inside}/train/run.py": f"from {package}.nets import net\n",
        }
        return root, files_that_import(build_house(root, sources), ("theory",))

    root, files = house("before", "train/kernels")
    assert circles(files) == []
    found = circles(folders_that_import(root, files))
    assert found == [[f"{package}.nets", f"{package}.train"]]
    # What both use stands beside them: no circle.
    assert circles(folders_that_import(*house("after", "kernels"))) == []


def test_a_circle_of_a_folder_and_the_files_beside_it_is_seen(tmp_path: Path) -> None:
    sources = {
        "theory/command.py": "from theory.design import graph\n",
        "theory/design/graph.py": "from theory import rate\n",
        "theory/rate.py": "",
    }
    house = build_house(tmp_path, sources)
    files = files_that_import(house, ("theory",))
    assert circles(files) == []
    assert circles(folders_that_import(house, files)) == [["theory", "theory.design"]]
    assert circles(folders_that_import(house, files, above=("theory.command",))) == []


def test_a_circle_of_folders_is_seen_where_no_files_go_in_one(tmp_path: Path) -> None:
    sources = {
        "theory/design/__init__.py": "from theory.design.rate.best import best\n",
        "theory/design/graph.py": "from theory.design.rate import rows\n",
        "theory/design/limits.py": "",
        "theory/design/rate/best.py": "from theory.design import limits\n",
        "theory/design/rate/rows.py": "",
    }
    house = build_house(tmp_path, sources)
    files = files_that_import(house, ("theory",))
    assert circles(files) == []
    assert circles(folders_that_import(house, files)) == [["theory.design", "theory.design.rate"]]
    (house / "theory/design/graph.py").write_text("")
    assert circles(folders_that_import(house, files_that_import(house, ("theory",)))) == []
