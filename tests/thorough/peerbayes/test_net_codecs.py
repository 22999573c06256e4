"""A codec that is none leaves what a row without one leaves."""

from __future__ import annotations

from pathlib import Path

from peerbayes import cli
from tests.peerbayes.commands import Capture
from tests.peerbayes.test_net_codecs import digits, parts, run  # noqa: F401


def test_no_codec_is_as_if_none_were_named(tmp_path: Path, capsys: Capture) -> None:
    options = ("--part", "a=0.5", "--replicates", "1")
    plain = run(capsys, tmp_path, *options)
    none = run(capsys, tmp_path / "none", *options, "--codec", "none")
    assert parts(none) == parts(plain)
    run(capsys, tmp_path, *options, "--codec", "plain")
    assert cli.main(["report", "--out", str(tmp_path)]) == 0
