"""Worker processes leave the record that one process leaves."""

from pathlib import Path

import pytest

from tests.peerbayes.commands import Capture
from tests.peerbayes.test_resources import KINDS, RUN, run, short_units  # noqa: F401


@pytest.mark.parametrize("kind", KINDS)
def test_the_record_does_not_depend_on_processes(
    kind: str, tmp_path: Path, capsys: Capture
) -> None:
    command = ["simulate", KINDS[kind], "--rounds", "30", "--replicates", "3000", "--quiet"]
    for folder, options in (("a", []), ("b", ["--workers", "2"])):
        assert run(capsys, *command, *options, "--out", str(tmp_path / folder)) == (0, [])
    (first,) = (tmp_path / "a").iterdir()
    assert first.read_bytes() == (tmp_path / "b" / first.name).read_bytes()
