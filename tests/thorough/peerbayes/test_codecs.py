"""A tiny run of the codecs' comparison, and its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from peerbayes.experiments.codecs import CODECS, CodecsExperiment, CodecsPart
from peerbayes.experiments.experiment import RunRecord
from peerbayes.experiments.run import run_experiment
from peerbayes.records import read_record
from peerbayes.report.experiments import codecs_view
from tests.peerbayes.test_codecs import TINY


def test_a_tiny_run_and_its_page(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    tiny: CodecsExperiment = replace(CODECS, seeds=2, is_quick=True, training=TINY)
    done = run_experiment(tiny, out=tmp_path)
    before = done.record_path.read_bytes()
    again = run_experiment(tiny, resume=True, out=tmp_path)
    assert again.reused == ("codecs seed 0", "codecs seed 1")
    assert done.record_path.read_bytes() == before
    other = run_experiment(tiny, out=tmp_path / "other")
    assert other.record_path.read_bytes() == before

    run = RunRecord.model_validate(read_record(done.record_path).body)
    first, second = (CodecsPart.model_validate(one) for one in run.content.values())
    assert (first.seed, second.seed) == (0, 1)
    assert first.silence != second.silence
    assert first.weights == 64 * 8 + 8 + 8 * 10 + 10
    assert first.curve.normal[-1] == 0.0  # where the curve ends, silence does
    assert first.curve.normal[0] > first.curve.normal[60] > 0.0
    view = codecs_view(run, key="k")
    assert [one.title for one in view.pictures] == [
        "Bits against nats of divergence, codec by codec", "Distance to the limit",
    ]  # fmt: skip
    assert "Not drawn, for nothing is lost: plain, float32." in view.pictures[0].finding
    for family in ("posterior", "difference + topk", "low-rank"):
        assert any(entry.label == family for entry in view.pictures[0].legend)
