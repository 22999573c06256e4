"""What the documentation shows of the experiments is whole, and of the settings as they are."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from peerbayes.experiments import EXPERIMENTS
from peerbayes.experiments.net_documents import NetPart
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.nets import NetExperiment
from peerbayes.experiments.short_parts import read_row, read_short, settings_mark, short_path
from peerbayes.experiments.tuned import TunedExperiment, tuned_name
from peerbayes.experiments.tuned_documents import TunedTraining
from peerbayes.experiments.tuned_plan import COURSES, tuned_parts
from peerbayes.experiments.tuned_search import METHODS, SEARCH

FOLDER = Path(__file__).parents[2] / "docs/experiments"
PARTS = sorted(path for row in ROWS for path in (FOLDER / row).glob("*.json"))
EARLIER = sorted((FOLDER / "earlier").glob("*.json"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", PARTS, ids=name_of)
def test_short_records_are_of_the_present_settings(path: Path) -> None:
    short = read_short(path)  # its checksum fits
    seed = short.content["seed"]
    experiment = NetExperiment(ROWS[short.row], seeds=seed + 1)
    assert short.settings == settings_mark(experiment, short.part)
    assert path == short_path(FOLDER, short.row, short.part)
    settings = short.content["settings"]
    assert settings["rounds_run"] == settings["rounds"]
    assert short.content["curve"]["points"][-1]["round"] == settings["rounds"]
    assert path.stat().st_size < 120_000
    found = short.found
    assert (found.name, found.seed, found.made_by) == (short.part, seed, short.made_by)
    assert (
        found.curve.points[-1].after.way.accuracy
        == (
            short.content["curve"]["points"][-1]["after"].get("sampled")
            or short.content["curve"]["points"][-1]["after"]["mean"]
        )["accuracy"]
    )


def test_a_part_of_an_earlier_version_is_read_and_a_damaged_one_is_not() -> None:
    short = read_short(short_path(FOLDER, "fmnist-2-balanced-a", "paper seed 0"))
    earlier = {
        k: v for k, v in short.content.items() if k not in ("build", "behaviour", "versions")
    }
    earlier["curve"] = {k: v for k, v in earlier["curve"].items() if k != "last_before"}
    found = NetPart.model_validate(earlier)
    assert (found.made_by, found.versions, found.last("before")) == ("unknown", {}, None)
    assert found.last() == short.found.last()
    for key in ("recipe", "network", "curve"):
        with pytest.raises(ValueError, match=key):
            NetPart.model_validate({k: v for k, v in earlier.items() if k != key})


@pytest.mark.parametrize("path", EARLIER, ids=name_of)
def test_earlier_results_are_of_the_present_recipes(path: Path) -> None:
    shown = json.loads(path.read_text(encoding="utf-8"))
    experiment = EXPERIMENTS[shown["experiment"]]
    assert isinstance(experiment, NetExperiment)
    assert shown["experiment"] == path.stem
    assert shown["lines"]
    for name, part in shown["parts"].items():
        wanted = experiment.part_settings(name)["values"]
        had = part["settings"]
        ours = {key: value for key, value in wanted.items() if key in had}
        assert ours == {key: had[key] for key in ours}, name
        assert len(ours) >= 3, name


def test_the_asymmetry_of_two_nodes_changes_sides_at_consensus() -> None:
    """What the page says of P1's row with labels 0-4 and 5-9: W gives most to the other node."""
    short = read_short(short_path(FOLDER, "fmnist-2-balanced-a", "paper seed 0"))
    before, after = (
        short.content["curve"][when]["sampled"]["accuracy"] for when in ("last_before", "last")
    )
    assert before[0] > before[1] + 0.1
    assert after[1] > after[0] + 0.1
    # Node 1 takes shirts, which it does not hold, for what it holds.
    confusion = short.content["curve"]["last_before"]["sampled"]["confusion"][0]
    assert sum(confusion[6][label] for label in (0, 2, 3, 4)) > 0.9 * sum(confusion[6])


TUNED = [row for row in COURSES if (FOLDER / tuned_name(row)).is_dir()]


@pytest.mark.parametrize("row", TUNED[::5])
def test_comparisons_on_record_follow_from_their_trials(row: str) -> None:
    experiment = TunedExperiment(ROWS[row])
    shorts = read_row(FOLDER, tuned_name(row))
    plan = {part.name: part for part in tuned_parts(ROWS[row], seeds=3, is_quick=False)}
    assert set(shorts) <= set(plan)
    trials: dict[tuple[str, str], list[TunedTraining]] = {}
    for name in (name for name in plan if name in shorts):
        part, short = plan[name], shorts[name]
        assert short.settings == settings_mark(experiment, name)
        found = TunedTraining.model_validate(short.content)
        assert (found.method, found.number, found.course.rounds) == (
            part.method, part.number, part.rounds,
        )  # fmt: skip
        method, own = METHODS[part.method], trials.setdefault((part.course.name, part.method), [])
        tried = [one.trial for one in own]
        if part.purpose == "search":
            assert found.settings == SEARCH.settings(method, tried)
            assert "other_data_auroc" not in found.measures
            own.append(found)
        else:
            choice = SEARCH.chosen(method, tried)
            assert (found.settings, tuple(found.edges)) == (choice.settings, choice.edges)
            assert found.validation_loss == choice.loss
