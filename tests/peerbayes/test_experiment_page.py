"""What the documentation shows of the experiments is whole, and of the settings as they are."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from peerbayes.experiments import EXPERIMENTS
from peerbayes.experiments.net_rows import ROWS, NetPart
from peerbayes.experiments.registry import NetExperiment
from peerbayes.experiments.short_records import ShortPart, read_lines, read_row
from peerbayes.experiments.tuned import TunedExperiment, tuned_name
from peerbayes.experiments.tuned_search import COURSES, METHODS, SEARCH, TunedTraining, tuned_parts

FOLDER = Path(__file__).parents[2] / "docs/experiments"
PARTS = [short for row in ROWS for short in read_row(FOLDER, row).parts.values()]
EARLIER = read_lines(FOLDER / "earlier.jsonl.gz").records
# Of each file what the separate files of earlier versions held: records, numbers in them, and the
# beginning of the SHA-256 of their bodies in canonical JSON, by name.
KEPT = {
    "earlier": (15, 2871, "f0d5e96b7080c853"),
    "fedavg-iid": (2, 3088, "ba3a81f27a461cc4"),
    "fedavg-shards": (2, 1482, "d4ba8afcfba68ac8"),
    "fmnist-2-balanced-a": (7, 12043, "878b92c5df5b8269"),
    "fmnist-2-balanced-a-tuned": (255, 7155, "5cb2c5b2d7b2d0dc"),
    "fmnist-2-balanced-b": (3, 5207, "e8672312373e6bcc"),
    "fmnist-2-balanced-b-tuned": (255, 7155, "c8d55a28d15801eb"),
    "fmnist-2-iid": (2, 3230, "e0465e4daa1196b5"),
    "fmnist-2-iid-tuned": (255, 9693, "498a88eec3212d73"),
    "fmnist-2-unbalanced": (3, 5207, "39e0e21baf79732f"),
    "fmnist-2-unbalanced-tuned": (255, 7155, "7e9886a2bd80542c"),
    "fmnist-central": (1, 894, "061df6cfe11b1dee"),
    "gae": (46, 31144, "7b1d998396a37258"),
    "grid-mnist": (2, 11704, "5f77bfa437f4c7a3"),
    "grid-mnist-tuned": (120, 7545, "d3e1540956eef3a2"),
    "rate-link": (5, 40820, "6b9d1b47b13521fc"),
    "star-fmnist-1": (1, 5866, "98d230e3f0af0787"),
    "star-fmnist-1-tuned": (120, 9219, "b2d64817ac3ca09d"),
    "star-fmnist-2": (2, 11732, "c97d8906e6f4b281"),
    "star-fmnist-2-tuned": (120, 9222, "a6f955bb00e89c0d"),
    "star-mnist-1": (6, 35112, "499f391678e6cf41"),
    "star-mnist-1-tuned": (120, 7518, "a01117b8d7c39a3d"),
    "star-mnist-2": (1, 5852, "5a99671fbd65b6a2"),
    "star-mnist-2-tuned": (120, 7542, "95b212c0bf241f60"),
    "star-mnist-3": (1, 5852, "e453962c6c297a37"),
    "star-mnist-3-tuned": (120, 7542, "afbb31830599e3d4"),
    "timevarying-100": (1, 11453, "f26f2f673ffbc355"),
    "timevarying-100-tuned": (120, 158985, "f14b74b418902342"),
    "timevarying-25": (1, 7553, "f36f94eb395bb0a2"),
    "timevarying-25-tuned": (120, 41988, "0cf5a561b3a5c9bb"),
}


def numbers_of(value: object) -> int:
    if isinstance(value, dict | list):
        return sum(map(numbers_of, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_old(body: Mapping[str, Any]) -> bool:
    """Whether a record is of the time before marks of behaviour."""
    return "behaviour" not in body.get("content", {})


def test_no_number_of_a_record_was_lost() -> None:
    files = {path.name.removesuffix(".jsonl.gz"): path for path in FOLDER.glob("*.jsonl.gz")}
    assert set(files) >= set(KEPT)
    for name, known in KEPT.items():
        lines = read_lines(files[name])
        assert not lines.damage
        mark = hashlib.sha256()
        bodies = {
            part: record.body for part, record in lines.records.items() if is_old(record.body)
        }
        for part in sorted(bodies):
            mark.update(json.dumps(bodies[part], sort_keys=True).encode("ascii"))
        count = sum(map(numbers_of, bodies.values()))
        assert (len(bodies), count, mark.hexdigest()[:16]) == known, name
    assert sum(count for _, count, _ in KEPT.values()) == 481_829


def test_a_row_is_a_file() -> None:
    files = list(FOLDER.rglob("*.json*"))
    assert len(files) <= 40
    assert sum(path.stat().st_size for path in files) < 1_250_000


def name_of(short: ShortPart) -> str:
    return f"{short.row} {short.part}"


@pytest.mark.parametrize("short", PARTS, ids=name_of)
def test_short_records_are_of_the_present_settings(short: ShortPart) -> None:
    seed = short.content["seed"]
    experiment = NetExperiment(ROWS[short.row], seeds=seed + 1)
    assert short.settings == experiment.settings_mark(short.part)
    settings = short.content["settings"]
    assert settings["rounds_run"] == settings["rounds"]
    assert short.content["curve"]["points"][-1]["round"] == settings["rounds"]
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
    short = read_row(FOLDER, "fmnist-2-balanced-a").parts["paper seed 0"]
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


@pytest.mark.parametrize("row", EARLIER)
def test_earlier_results_are_of_the_present_recipes(row: str) -> None:
    shown = EARLIER[row].body
    experiment = EXPERIMENTS[shown["experiment"]]
    assert isinstance(experiment, NetExperiment)
    assert shown["experiment"] == row
    assert shown["lines"]
    for name, part in shown["parts"].items():
        wanted = experiment.part_settings(name)["values"]
        had = part["settings"]
        ours = {key: value for key, value in wanted.items() if key in had}
        assert ours == {key: had[key] for key in ours}, name
        assert len(ours) >= 3, name


def test_the_asymmetry_of_two_nodes_changes_sides_at_consensus() -> None:
    """What the page says of P1's row with labels 0-4 and 5-9: W gives most to the other node."""
    short = read_row(FOLDER, "fmnist-2-balanced-a").parts["paper seed 0"]
    before, after = (
        short.content["curve"][when]["sampled"]["accuracy"] for when in ("last_before", "last")
    )
    assert before[0] > before[1] + 0.1
    assert after[1] > after[0] + 0.1
    # Node 1 takes shirts, which it does not hold, for what it holds.
    confusion = short.content["curve"]["last_before"]["sampled"]["confusion"][0]
    assert sum(confusion[6][label] for label in (0, 2, 3, 4)) > 0.9 * sum(confusion[6])


TUNED = [row for row in COURSES if read_row(FOLDER, tuned_name(row)).parts]


@pytest.mark.parametrize("row", TUNED[::5])
def test_comparisons_on_record_follow_from_their_trials(row: str) -> None:
    experiment = TunedExperiment(ROWS[row])
    shorts = read_row(FOLDER, tuned_name(row)).parts
    plan = {part.name: part for part in tuned_parts(ROWS[row], seeds=3, is_quick=False)}
    assert set(shorts) <= set(plan)
    trials: dict[tuple[str, str], list[TunedTraining]] = {}
    for name in (name for name in plan if name in shorts):
        part, short = plan[name], shorts[name]
        assert short.settings == experiment.settings_mark(name)
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
