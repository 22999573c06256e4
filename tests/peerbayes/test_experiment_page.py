"""What the documentation shows of the experiments was made with the recipes as they are."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from peerbayes.experiments import EXPERIMENTS
from peerbayes.experiments.nets import NetExperiment

KEPT = sorted((Path(__file__).parents[2] / "docs/experiments").glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_shown_results_are_of_the_present_recipes(path: Path) -> None:
    shown = json.loads(path.read_text(encoding="utf-8"))
    experiment = EXPERIMENTS[shown["experiment"]]
    assert shown["experiment"] == path.stem
    assert shown["title"] == experiment.title
    assert shown["lines"]
    if not isinstance(experiment, NetExperiment):
        return
    for name, part in shown["parts"].items():
        wanted = experiment.part_settings(name)["values"]
        had = part["settings"]
        ours = {key: value for key, value in wanted.items() if key in had}
        assert ours == {key: had[key] for key in ours}, name
        assert len(ours) >= 3, name


def test_every_row_is_shown() -> None:
    rows = {name for name, one in EXPERIMENTS.items() if isinstance(one, NetExperiment)}
    assert rows <= {path.stem for path in KEPT}
