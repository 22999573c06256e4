"""Files are whole or not there, have ordinary permissions, follow no links, and leave nothing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exact.whole_files import remove_leftovers, replacing

ROOT = Path(__file__).parents[2]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x"
    write(path, b"one")
    with replacing(path) as file:
        file.write(b"two")
        file.flush()
        assert path.read_bytes() == b"one"
    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["x"]


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write(path, b"one")

    def interrupted() -> None:
        with replacing(path) as file:
            file.write(b"tw")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"one"
    assert names(tmp_path) == ["x"]


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_permissions_follow_the_umask(umask: int, tmp_path: Path) -> None:
    write(tmp_path / "x", b"one")
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o666 & ~umask


def test_links_are_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("all of it")
    (tmp_path / "x").symlink_to(target)
    (tmp_path / ".x.0123abcd").symlink_to(target)
    write(tmp_path / "x", b"one")
    assert target.read_text() == "all of it"
    assert not (tmp_path / "x").is_symlink()


def test_only_leftovers_of_this_very_file_go(tmp_path: Path) -> None:
    kept = [".x.0123abcde", ".x.0123abcg", ".y.0123abcd", "x.0123abcd", ".x.part.0123abcd", ".x"]
    for name in (*kept, ".x.0123abcd"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / ".x.01234567").mkdir()
    remove_leftovers(tmp_path / "x")
    assert names(tmp_path) == sorted([*kept, ".x.01234567"])
    remove_leftovers(tmp_path / "absent" / "x")


def test_what_somebody_writes_is_no_leftover(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with replacing(path) as first:
        first.write(b"first")
        write(path, b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["x"]


KILLED = """
import os, signal, sys
from pathlib import Path
from exact.whole_files import replacing

with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "x"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = names(tmp_path)
    assert left.startswith(".x.")
    write(path, b"whole")
    assert names(tmp_path) == ["x"]


def test_names_of_any_length(tmp_path: Path) -> None:
    for name in ("x" * 255, "\u4e2d" * 85):
        write(tmp_path / name, b"one")
        assert (tmp_path / name).read_bytes() == b"one"
    assert len(names(tmp_path)) == 2
