"""What is installed works without the checkout: the wheel has all that the commands read."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from peerbayes._version import __version__
from tests.peerbayes.documents import TWO_COINS

ROOT = Path(__file__).parents[2]
ROOMS = ("theory", "exact", "empirical", "peerbayes")


def run(*arguments: str, folder: Path, **variables: str) -> str:
    """What a Python process in this folder prints; it must end well."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing in it but the wheel's packages; the tests' own serve the rest."""
    built, target = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
    pytest.importorskip("hatchling", reason="no hatchling here to build the wheel with")
    # With what is installed: nothing is asked of a network.
    alone = ("--no-deps", "--no-build-isolation", "--no-index")
    run(*pip, "wheel", *alone, "--wheel-dir", str(built), str(ROOT), folder=built)
    (wheel,) = built.glob("*.whl")
    run(
        *pip,
        "install",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
        str(wheel),
        folder=built,
    )
    return target


def test_every_file_of_the_packages_is_installed(installed: Path) -> None:
    for room in ROOMS:
        assert (installed / room / "py.typed").is_file()
        for path in (ROOT / room).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert (installed / path.relative_to(ROOT)).is_file(), path


def test_the_wheel_is_of_the_version_that_the_program_says(installed: Path) -> None:
    assert (installed / f"peerbayes-{__version__}.dist-info").is_dir()


def test_links_of_the_readme_lead_somewhere_on_an_index_page(installed: Path) -> None:
    """Relative ones would not; without the repository's address they are words."""
    metadata = installed / f"peerbayes-{__version__}.dist-info" / "METADATA"
    description = metadata.read_text("utf-8").split("\n\n", 1)[1]
    assert "# peerbayes" in description
    assert "(https://arxiv.org" in description
    assert re.findall(r"\]\((?!https?:)", description) == []


def test_links_of_the_readme_are_absolute_once_there_is_an_address() -> None:
    pytest.importorskip("hatchling")
    absolute = runpy.run_path(str(ROOT / "hatch_build.py"))["absolute"]
    text = "![two\nlines](docs/a.svg), [how](docs/b.md#c), [paper](https://arxiv.org/abs/1)"
    assert absolute(text, None) == "two\nlines, how, [paper](https://arxiv.org/abs/1)"
    assert absolute(text, "https://x.org/y") == (
        "![two\nlines](https://x.org/y/raw/HEAD/docs/a.svg), "
        "[how](https://x.org/y/blob/HEAD/docs/b.md#c), [paper](https://arxiv.org/abs/1)"
    )


def test_every_kind_of_command_runs_elsewhere(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "coins.toml").write_text(TWO_COINS)
    (tmp_path / "try.py").write_text(
        "import sys, peerbayes\n"
        "from peerbayes.cli import main\n"
        "assert peerbayes.__file__.startswith(sys.argv[1]), peerbayes.__file__\n"
        "for command in sys.stdin.read().splitlines():\n"
        "    assert main([*command.split(), '--quiet', '--out', 'out']) == 0, command\n"
    )
    commands = (
        "analyse coins.toml",
        "analyse coins.toml --exact",
        "analyse coins.toml --certify",
        "simulate coins.toml --rounds 20 --replicates 20",
        "verify coins.toml",
        "report",
        "formula star --agents 9",
        "design coins.toml",
        "place p2-grid --replicates 0",
        "run regression-2 --replicates 20",
        "list --json",
        "schema problem",
        "schema record",
    )
    done = subprocess.run(
        [sys.executable, "try.py", str(installed)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        input="\n".join(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "<style>" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
