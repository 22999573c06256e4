"""Coded and plain parts of one row, side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerbayes import cli
from peerbayes.records import read_record
from tests.peerbayes.commands import Capture
from tests.peerbayes.test_net_codecs import HEADER, ROW, digits, parts, run  # noqa: F401


def test_no_codec_is_as_if_none_were_named(tmp_path: Path, capsys: Capture) -> None:
    options = ("--part", "a=0.5", "--replicates", "1")
    plain = run(capsys, tmp_path, *options)
    none = run(capsys, tmp_path / "none", *options, "--codec", "none")
    assert parts(none) == parts(plain)
    run(capsys, tmp_path, *options, "--codec", "plain")
    assert cli.main(["report", "--out", str(tmp_path)]) == 0


def test_coded_and_plain_parts_are_kept_apart(tmp_path: Path, capsys: Capture) -> None:
    options = ("--part", "a=0.5", "--replicates", "1")
    plain = run(capsys, tmp_path, *options)
    before = Path(plain["record"]).read_bytes()
    coded = run(capsys, tmp_path, *options, "--codec", "plain")
    assert coded["experiment"] == f"{ROW} plain"
    assert coded["title"].endswith(", messages by plain")
    assert Path(plain["record"]).read_bytes() == before
    assert coded["record"] != plain["record"]
    # Without a codec records have the form that they had.
    body = read_record(plain["record"]).body
    assert "codec" not in body["settings"]
    assert "codec" not in body["content"]["best a=0.5 seed 0"]

    words = {"codec": "plain", "kind": "float32"}
    body = read_record(coded["record"]).body
    assert body["settings"]["codec"] == words
    part, other = parts(coded)["best a=0.5 seed 0"], parts(plain)["best a=0.5 seed 0"]
    assert part["codec"] == words
    # A lossless codec says the same in frames: 16 directed links of a star of nine.
    for here, there in zip(part["curve"]["points"], other["curve"]["points"], strict=True):
        assert here["bytes"] == there["bytes"] + 16 * HEADER * here["round"] > 0
    assert part["curve"]["last"]["mean"]["nll"] == pytest.approx(
        other["curve"]["last"]["mean"]["nll"], rel=1e-3
    )
    page = Path(coded["report"]).read_text(encoding="utf-8")
    for words_of_page in ("Against bytes: accuracy", "NLL [nats]", "plain (kind float32)"):
        assert words_of_page in page
