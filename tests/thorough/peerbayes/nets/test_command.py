"""Trainings by command: codecs, damaged beliefs."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from pathlib import Path

from jsonschema import Draft202012Validator

from peerbayes.cli import main
from peerbayes.nets.documents import TrainRecord
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from tests.peerbayes.commands import Capture, text_of
from tests.peerbayes.nets.support import write_net
from tests.peerbayes.nets.test_command import spoilt


def test_a_codec_is_on_record_and_on_the_page(tmp_path: Path, capsys: Capture) -> None:
    path, out = write_net(tmp_path, spoilt(messages={"codec": "seeds"})), tmp_path / "out"
    printed = text_of(capsys, ["train", str(path), "--out", str(out), "--codec", "difference+sign"])
    body = read_record(out / "train-wells-s4.json").body
    Draft202012Validator(read_schema("train")).validate({**body, "record": None})
    messages = TrainRecord.model_validate(body).messages
    assert messages is not None
    assert messages.codec == {"codec": "difference", "inner": {"codec": "sign"}, "mixing": 0.5}
    assert messages.bytes_sent == body["history"]["bytes_sent"][-1]
    # Six directed links, six rounds, 27 weights and the noise's: their means and precisions.
    weights = body["parameters"]
    assert messages.bytes_uncoded == 6 * 6 * 8 * weights
    blocks = 5  # of two layers with biases, and the constant
    assert messages.bytes_sent == 6 * 6 * (40 + 2 * (4 * blocks + -(-weights // 8)))
    assert "difference (inner sign, mixing 0.5)" in printed
    page = (out / "train-wells-s4.html").read_text(encoding="utf-8")
    assert "difference (inner sign, mixing 0.5)" in page
    assert "MB without it" in page
    assert main(["train", str(path), "--out", str(out), "--codec", "none", "--force"]) == 0
    assert "messages" not in read_record(out / "train-wells-s4.json").body


def test_damaged_beliefs_are_told(tmp_path: Path, capsys: Capture) -> None:
    path, out = write_net(tmp_path, rounds=2), tmp_path / "out"
    assert main(["train", str(path), "--out", str(out), "--quiet"]) == 0
    beliefs = out / "train-wells-s4.trained" / "trained.safetensors"
    content = bytearray(beliefs.read_bytes())
    content[-2] ^= 1
    beliefs.write_bytes(content)
    capsys.readouterr()
    assert main(["report", "--out", str(out)]) == 1
    assert "trained.safetensors" in capsys.readouterr().err
    beliefs.unlink()
    assert main(["report", "--out", str(out)]) == 1
    beliefs.parent.rmdir()  # the record alone was taken elsewhere
    assert main(["report", "--out", str(out)]) == 0
