"""`codecs`: what it concludes of numbers made up for the purpose, and a tiny real run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from peerbayes.experiments.codecs import CODECS, CONTENDERS, CodecSetting
from peerbayes.experiments.experiment import Line
from tests.peerbayes.commands import Capture, Patch, complaint

TINY = CodecSetting("digits", (8,), rounds=2, local_steps=2, batch=10)


def a_trial(family: str, bits: float, limit: float | None, **more: Any) -> dict[str, Any]:
    own = {"setting": "", "codec": {"codec": family}, "nats": 0.1, "common": limit}
    return {"family": family, "bits": bits, "limit": limit, **own, **more}


def a_part(seed: int, *trials: dict[str, Any]) -> dict[str, Any]:
    curve = {"nats": [1e-3, 0.5], "normal": [2.0, 0.0], "shannon": [1.9, 0.0]}
    return {
        "seed": seed, "weights": 100, "silence": 0.5, "curve": curve, "trials": list(trials),
        "behaviour": "b", "versions": {},
    }  # fmt: skip


def concluded(*parts: dict[str, Any]) -> dict[str, Line]:
    return {line.what: line for line in CODECS.conclude({str(k): p for k, p in enumerate(parts)})}


def test_lines_are_means_over_seeds_beside_the_limit() -> None:
    lines = concluded(
        a_part(0, a_trial("posterior", 2.0, 1.8, common=1.5), a_trial("plain", 64, None, nats=0.0)),
        a_part(1, a_trial("posterior", 3.0, 2.6, common=2.5), a_trial("plain", 64, None, nats=0.0)),
    )
    line = lines["bits a weight, posterior"]
    assert (line.measured, line.standard_error) == pytest.approx((2.5, 0.5))
    assert line.predicted == pytest.approx(2.2)
    assert line.remark == (
        "at 0.1 nats a weight: 0.30 above the limit given its replica,"
        " 0.50 given the message before"
    )
    assert lines["bits a weight, plain"].predicted is None
    assert lines["bits a weight, plain"].remark == "nothing is lost"
    far = "bits a weight above the limit, posterior, the largest from 1 to 4 bits"
    assert lines[far].measured == pytest.approx((0.2 + 0.4) / 2)
    # A curve of a normal source is no bound on what other sources need.
    assert all(line.holds is None for line in lines.values())


def test_the_largest_distance_is_over_rates_from_one_to_four() -> None:
    own = [a_trial("posterior", b, b - d) for b, d in ((0.9, 0.7), (1.0, 0.1), (4.5, 0.9))]
    far = "bits a weight above the limit, posterior, the largest from 1 to 4 bits"
    assert concluded(a_part(0, *own))[far].measured == pytest.approx(0.1)
    assert far not in concluded(a_part(0, own[0]))


def test_codecs_of_one_family_differ_and_are_there_once() -> None:
    names = [(one.family, one.setting) for one in CONTENDERS]
    assert len(set(names)) == len(names)
    quick = replace(CODECS, is_quick=True)
    assert quick.name == "codecs quick"
    assert all(one in CODECS.contenders for one in quick.contenders)
    assert len(quick.contenders) < len(CODECS.contenders)
    assert {one.family for one in quick.contenders} == {one.family for one in CODECS.contenders}
    settings = CODECS.part_settings("codecs seed 0")
    assert len(settings["codecs"]) == len(CONTENDERS)
    assert settings != quick.part_settings("codecs seed 0")


def test_every_codec_that_writes_beliefs_is_tried() -> None:
    torch = pytest.importorskip("torch")
    from empirical.messages.codec import Block, Layout
    from empirical.messages.codecs import CODECS as KINDS
    from empirical.messages.codecs import codec_from_words, codec_of

    ones = torch.ones(64)
    layout = Layout({"precision": ones, "shift": 0 * ones}, (Block("w", 0, (8, 8)),))
    tried = {one.words["codec"] for one in CONTENDERS}
    for name in KINDS:
        try:
            codec_of(name).coder(layout)
        except ValueError:
            assert name not in tried
        else:
            assert name in tried
    for one in CONTENDERS:
        codec_from_words(one.words).coder(layout)


def test_without_torch(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr("peerbayes.experiments.codecs.find_spec", lambda name: None)
    said = complaint(capsys, "run", "codecs", "--quick", "--out", str(tmp_path))
    assert "codecs quick: expected torch, got no torch;" in said
