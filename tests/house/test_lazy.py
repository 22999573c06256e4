"""Packages that show names without importing them first: the names are there all the same."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("theory", "exact", "empirical", "peerbayes")


def lazy_packages() -> list[str]:
    """Every package whose front door calls `show_lazily`."""
    return sorted(
        ".".join(path.parent.relative_to(ROOT).parts)
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
        if "show_lazily(__name__)" in path.read_text(encoding="utf-8")
    )


def in_a_fresh_interpreter(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_there_are_lazy_packages() -> None:
    assert {"theory", "theory.design", "exact", "empirical", "peerbayes"} <= set(lazy_packages())


@pytest.mark.parametrize("name", lazy_packages())
def test_every_name_is_there_and_listed(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__ == sorted(set(package.__all__), key=package.__all__.index)
    for shown in package.__all__:
        assert not isinstance(getattr(package, shown), ModuleType)
        assert shown in dir(package)


def test_a_name_is_imported_when_it_is_first_used() -> None:
    program = (
        "import sys, theory; assert 'numpy' not in sys.modules; theory.Network; "
        "print('theory.network.network' in sys.modules, 'theory.learning.rate' in sys.modules)"
    )
    assert in_a_fresh_interpreter(program) == "True False"


def test_a_function_is_shown_though_the_module_of_its_name_was_imported_first() -> None:
    program = (
        "import theory.learnability.departures, theory.learnability as package\n"
        "from theory.learnability import departures\n"
        "print(callable(departures), package.departures is departures)"
    )
    assert in_a_fresh_interpreter(program) == "True True"


def test_modules_of_a_package_are_its_attributes() -> None:
    program = "import theory; print(theory.network.mixing.__name__)"
    assert in_a_fresh_interpreter(program) == "theory.network.mixing"


def test_all_names_at_once() -> None:
    program = "from theory.rational import *; print(RationalNetwork.__name__)"
    assert in_a_fresh_interpreter(program) == "RationalNetwork"


def test_a_name_that_is_not_there() -> None:
    theory = importlib.import_module("theory")
    with pytest.raises(AttributeError, match="module 'theory' has no attribute 'learning_rat'"):
        _ = theory.learning_rat
    with pytest.raises(ImportError, match="cannot import name 'learning_rat'"):
        exec("from theory import learning_rat")
    assert not hasattr(theory, "__wrapped__")


@pytest.mark.parametrize("hiding", ["theory.py", "exact/__init__.py", "empirical.py"])
def test_a_file_that_hides_a_package_is_named_in_one_line(tmp_path: Path, hiding: str) -> None:
    path = tmp_path / hiding
    path.parent.mkdir(exist_ok=True)
    path.touch()
    beside = tmp_path / "script.py"
    beside.write_text("import peerbayes")
    wanted = f"expected its own package {hiding.split('.')[0].split('/')[0]!r}, got {path}, which"
    # The folder itself is searched first: as the current one, and as that of a script.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for arguments, code in (
        (["-m", "peerbayes", "list"], 2),
        (["-c", "import peerbayes"], 1),
        ([str(beside)], 1),
    ):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        last = done.stderr.splitlines()[-1]
        assert (done.returncode, wanted in last, "rename that" in last) == (code, True, True)
        assert code == 1 or done.stderr.count("\n") == 1


def test_a_folder_that_hides_nothing_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "theory").mkdir()  # no package: those that are count first
    done = subprocess.run(
        [sys.executable, "-c", "import peerbayes, exact.cost"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
@pytest.mark.parametrize("name", lazy_packages())
def test_packages_are_pickled_and_copied_by_name(
    name: str, how: Callable[[ModuleType], ModuleType]
) -> None:
    package = importlib.import_module(name)
    assert how(package) is package
