"""`peerbayes run`: the experiments' lines, records, and what is read back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import peerbayes as pb
from peerbayes import cli
from peerbayes.documents import Document
from peerbayes.experiments import EXPERIMENTS, find_experiment, run_experiment
from peerbayes.experiments.experiment import Experiment, Line, Numbered, numbered
from peerbayes.experiments.registry import configured
from peerbayes.experiments.run import PartFailed, Parts, Team, part_seed
from peerbayes.records import read_record
from peerbayes.schemas import read_schema
from peerbayes.settings.declared import made_flat
from peerbayes.settings.nets import Experiment as Options
from tests.peerbayes.commands import Capture, Patch, json_of, text_of
from tests.peerbayes.test_report import Page


class Number(Document):
    """What a part of the coin finds."""

    seed: int
    value: float


@dataclass(frozen=True)
class Coin(Experiment[Numbered]):
    """An experiment of three parts, each a number; counts how often parts are run."""

    ran: list[str]
    name: str = "coin"
    title: str = "a coin"
    source: str = "nowhere"
    seeds: int = field(default=5, kw_only=True)
    bias: float = 0.5
    fails: str = ""

    options = frozenset()
    replicates_are_parts = False
    table = numbered("a", "b", "c")

    def settings(self) -> dict[str, Any]:
        return {"bias": self.bias}

    def run_part(self, part: str, *, seed: int, replicates: int, progress: Any) -> Number:
        if part == self.fails:
            raise KeyboardInterrupt
        self.ran.append(part)
        return Number(seed=seed, value=self.bias * replicates)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        return tuple(
            Line(name, "", content["value"], 1.0, 2.5, content["value"] == 2.5)
            for name, content in parts.items()
        )


class SeededCoin(Coin):
    """The same, of which each replicate is a part."""

    replicates_are_parts = True


@pytest.fixture
def no_page(monkeypatch: Patch) -> None:
    """The coin's record is none that the page knows."""
    monkeypatch.setattr("peerbayes.report.write_report", lambda records, path: path)


@pytest.mark.usefixtures("no_page")
def test_an_interrupted_run_is_taken_up_again(tmp_path: Path) -> None:
    whole = Coin([])
    run_experiment(whole, seed=3, out=tmp_path / "whole")
    assert whole.ran == ["a", "b", "c"]
    broken = Coin([], fails="b")
    with pytest.raises(KeyboardInterrupt):
        run_experiment(broken, seed=3, out=tmp_path / "parts")
    again = Coin([])
    result = run_experiment(again, seed=3, out=tmp_path / "parts", resume=True)
    assert again.ran == ["b", "c"]
    assert result.reused == ("a",)
    first, second = tmp_path / "whole" / "run-coin.json", tmp_path / "parts" / "run-coin.json"
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.usefixtures("no_page")
def test_without_resume_everything_is_run_again(tmp_path: Path) -> None:
    coin = Coin([])
    run_experiment(coin, out=tmp_path)
    result = run_experiment(coin, out=tmp_path)
    assert coin.ran == ["a", "b", "c"] * 2
    assert len({part["seed"] for part in result.parts.values()}) == 3
    assert result.reused == ()


@pytest.mark.parametrize(
    "change",
    [{"bias": 0.25}, {"seeds": 6}, {"seed": 4}],
)
@pytest.mark.usefixtures("no_page")
def test_parts_of_other_settings_are_not_taken(change: dict[str, Any], tmp_path: Path) -> None:
    run_experiment(Coin([]), seed=3, out=tmp_path)
    options = {"seed": 3, **{k: v for k, v in change.items() if k == "seed"}}
    other = Coin([], **{k: v for k, v in change.items() if k != "seed"})
    result = run_experiment(other, out=tmp_path, resume=True, **options)
    assert result.reused == ()
    assert len(result.discarded) == 3
    assert all("of other settings" in notice for notice in result.discarded)


@pytest.mark.usefixtures("no_page")
def test_parts_that_are_not_asked_for_are_read_back_if_they_are_there(tmp_path: Path) -> None:
    first = run_experiment(Coin([]), seed=3, out=tmp_path, only=["c"])
    assert list(first.parts) == first.record.parts == ["c"]
    coin = Coin([])
    second = run_experiment(coin, seed=3, out=tmp_path, only=["a"])
    assert (coin.ran, list(second.parts), second.reused) == (["a"], ["a", "c"], ())
    assert second.parts["c"] == first.parts["c"]
    # Of other settings: not laid beside.
    assert list(run_experiment(Coin([]), seed=4, out=tmp_path, only=["a"]).parts) == ["a"]


@pytest.mark.usefixtures("no_page")
def test_one_replicate_is_enough_where_each_is_a_part(tmp_path: Path) -> None:
    run = run_experiment(SeededCoin([]), replicates=1, out=tmp_path)
    assert run.parts["a"]["value"] == 0.5
    with pytest.raises(ValueError, match="replicates: expected a whole number of at least 2"):
        run_experiment(Coin([]), replicates=1, out=tmp_path)


@pytest.mark.usefixtures("no_page")
def test_what_is_thrown_away_is_said(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr("peerbayes.experiments.find_experiment", lambda name: Coin([]))
    arguments = ["run", "coin", "--replicates", "5", "--out", str(tmp_path)]
    assert cli.main([*arguments, "--resume"]) == 0
    # Parts that were never there are not thrown away.
    assert "not read back" not in capsys.readouterr().err
    part = tmp_path / "coin.parts" / "b.json"
    # An --out with the wrong kind of record in the place of a part.
    part.write_bytes((tmp_path / "run-coin.json").read_bytes())
    assert cli.main([*arguments, "--resume"]) == 0
    assert f"{part}: not read back, for it is no part of an experiment" in capsys.readouterr().err
    part.write_text("{}")
    assert cli.main([*arguments, "--resume", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("damage", [b"", b"{}", b"no json"])
@pytest.mark.usefixtures("no_page")
def test_damaged_parts_are_run_again(damage: bytes, tmp_path: Path) -> None:
    run_experiment(Coin([]), out=tmp_path)
    (tmp_path / "coin.parts" / "b.json").write_bytes(damage)
    coin = Coin([])
    result = run_experiment(coin, out=tmp_path, resume=True)
    assert coin.ran == ["b"]
    assert result.reused == ("a", "c")
    (notice,) = result.discarded
    assert notice.startswith(str(tmp_path / "coin.parts" / "b.json"))
    assert "damaged; 'b' was run again" in notice


@pytest.mark.usefixtures("no_page")
def test_a_changed_part_is_run_again(tmp_path: Path) -> None:
    run_experiment(Coin([]), out=tmp_path)
    path = tmp_path / "coin.parts" / "c.json"
    path.write_text(path.read_text().replace("2.5", "2.4"))
    assert run_experiment(Coin([]), out=tmp_path, resume=True).reused == ("a", "b")


def test_fingerprints_and_seeds_tell_parts_apart() -> None:
    coin = Coin([])
    marks = {
        Parts(coin, Path(), seed, replicates).fingerprint(part)
        for part in coin.parts
        for seed in (0, 1)
        for replicates in (2, 3)
    }
    assert len(marks) == 12
    seeds = [part_seed(seed, index) for seed in range(20) for index in range(20)]
    assert len(set(seeds)) == 400
    assert all(0 <= seed < 2**62 for seed in seeds)


@pytest.mark.usefixtures("no_page")
def test_a_contradiction_is_a_failure(tmp_path: Path) -> None:
    assert not run_experiment(Coin([]), out=tmp_path).failed
    assert run_experiment(Coin([], bias=0.4), out=tmp_path).failed


@pytest.mark.parametrize("name", ["regression-2"])
def test_the_papers_regressions(
    name: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: Patch,
) -> None:
    short = replace(EXPERIMENTS[name], rounds=300, records=8, draws=20)  # type: ignore[type-var]
    monkeypatch.setattr("peerbayes.experiments.find_experiment", lambda name: short)
    arguments = ["run", name, "--replicates", "100", "--out", str(tmp_path), "--seed", "1"]
    result = json_of(capsys, [*arguments, "--json", "--quiet"])
    Draft202012Validator(read_schema("run")).validate(result)
    lines = {line["what"]: line for line in result["lines"]}
    agents = {"regression-2": 2, "regression-4": 4}[name]
    assert len(lines) == agents + 6
    assert all(line["holds"] for line in lines.values())
    printed = [line["printed"] for line in lines.values() if line["printed"]]
    assert printed == ["MSE stays high"] * agents + ["MSE equals the central node's"]
    # The limits of the two quotients: 432/245 over 48/25, 3344/1225 over 16/5.
    limit = {"regression-2": 0.9184, "regression-4": 0.8531}[name]
    assert f"tends to {limit}" in lines["cooperating over central node"]["remark"]
    for learner in ("agent 0 alone", "cooperating"):
        assert any(learner in what for what in lines)
    page = Page(Path(result["report"]).read_text(encoding="utf-8"))
    assert page.tags["svg"] >= 3
    assert "MSE stays high" in page.text
    assert "Measured and predicted agree" in page.text
    body = read_record(result["record"]).body
    assert set(body["content"]) == set(result["parts"])
    assert len(body["content"]["cooperating"]["coordinates"]) == agents + 1
    # Once more: every part is read back, and the record is the same to the last bit.
    before = Path(result["record"]).read_bytes()
    text = text_of(capsys, [*arguments, "--resume", "--quiet"])
    assert "read back: cooperating, agent 0 alone" in text
    assert all(len(row) <= 80 for row in text.splitlines() if not row.startswith(("record", "rep")))
    assert Path(result["record"]).read_bytes() == before
    # The page of everything in a folder shows runs too.
    assert cli.main(["report", "--out", str(tmp_path)]) == 0
    assert name in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_keeps_the_contract(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert find_experiment(name) is experiment
    assert experiment.name == name
    assert experiment.replicates >= (1000 if name.startswith("regression") else 3)
    json.dumps(experiment.settings())
    parts = experiment.parts
    assert len(parts) == len(set(parts))
    if experiment.replicates_are_parts:  # each part has a seed, which its name tells
        assert {experiment.stream(part) for part in parts} == set(range(experiment.replicates))
        assert {experiment.stream(p) for p in parts if p.endswith("seed 1")} <= {1}
    else:
        assert [experiment.stream(part) for part in parts] == list(range(len(parts)))
    last = experiment.parts_with("")[-1]
    assert experiment.parts_with(last) == (last,)
    with pytest.raises(ValueError, match="--part: expected words of"):
        experiment.parts_with("pigeon")


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        (("gae", "codecs", "rate-link"), {"recipe": "best"}, "--recipe: expected an .* recipes"),
        (("regression-2",), {"recipe": "best"}, "--recipe: expected an experiment with neural"),
        (("star-mnist-1", "codecs", "rate-link", "regression-2"), {"workers": 2},
         "--workers: expected gae, whose nodes .*side by side use campaign --workers"),
        (("gae", "codecs", "rate-link", "regression-2"), {"codec": "sign"},
         "--codec: expected a row of Bayesian nets"),
        (("regression-2",), {"part": "agent"}, "--part: expected an experiment with neural nets"),
        (("regression-2",), {"quick": True}, "--quick: expected an experiment with neural nets"),
        (("regression-2",), {"device": "cpu"}, "--device: expected an experiment with neural"),
        (("codecs",), {"device": "cuda"}, "--device: expected cpu, where codecs work, got 'cuda'"),
        (("star-mnist-1",), {"recipe": "tuned", "codec": "sign"}, "--codec: expected no codec"),
        (("star-mnist-1",), {"recipe": "bets"}, "--recipe: expected paper or best .*did you mean"),
        (("fedavg-iid",), {"recipe": "once"}, "--recipe: expected paper or best.* has no priors"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict | tuple) else "",
)  # fmt: skip
def test_options_of_no_use_are_refused(
    names: Sequence[str], options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    for name in names:
        with pytest.raises(ValueError, match=said):
            configured(find_experiment(name), made_flat(Options, options), tmp_path)


def test_the_list_has_every_experiment(capsys: Capture) -> None:
    text = text_of(capsys, ["list"])
    assert all(name in text for name in EXPERIMENTS)


# Processes of torchrun share the parts: the record is that of one process -----------------------


class Store:
    """What torchrun's processes tell each other, where one runs after the other."""

    def set(self, word: str, value: str) -> None:
        """Nobody listens."""

    def wait(self, words: Sequence[str], patience: timedelta) -> None:
        """Nobody is waited for: who is to wait comes last."""


def files(out: Path) -> dict[str, bytes]:
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*.json")}


def run(out: Path, **options: Any) -> Any:
    short = replace(find_experiment("regression-2"), rounds=50, draws=5)  # type: ignore[type-var]
    return pb.run(short, replicates=3, out=out, **options)


def run_in_two(monkeypatch: Patch, out: Path, **options: Any) -> Any:
    """What the first of two processes returns, which waits for the other at the end."""

    def process(rank: int) -> Any:
        team = Team(2, rank, store=Store())
        monkeypatch.setattr("peerbayes.front.run.team_of_torchrun", lambda: nullcontext(team))
        return run(out, **options)

    with suppress(PartFailed):  # the parts of the other are not there yet
        process(1)
    return process(0)


def test_two_processes_leave_what_one_leaves(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("peerbayes.report.write_report", lambda records, path: path)
    run(tmp_path / "alone")
    alone, two = files(tmp_path / "alone"), tmp_path / "two"
    assert len(alone) > 2, "there is more than one part to share"
    first = run_in_two(monkeypatch, two)
    assert files(two) == alone
    assert first.run.reused == ()
    # Parts on record are taken where that is asked for, but for those that are gone or damaged.
    parts = sorted(two.glob("*.parts/*.json"))
    parts[1].unlink()
    parts[2].write_text("{}")
    written = {path: path.stat().st_mtime_ns for path in parts if path.exists()}
    run_in_two(monkeypatch, two, resume=True)
    assert files(two) == alone
    kept = [path for path, when in written.items() if path.stat().st_mtime_ns == when]
    assert kept == [parts[0], *parts[3:]]


def test_a_process_without_the_others_folder_says_so(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Team, "own", lambda self, parts: tuple(parts[::2]))
    assert cli.main(["run", "regression-2", "--replicates", "2", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "as another process ran it, got nothing of it; give all processes one folder" in said
