"""The benchmarks run at toy size, and the documentation explains all that they report."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import tables
from benchmarks.networks import dense, ring, ring_gap
from benchmarks.rounds import CHAINS, LANES, multiply_adds
from tests.oracles import exact_eigenvalues
from tests.thorough.peerbayes.explore.browser.conftest import CHROMIUM

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
NETS = {name for name, case in tables.CASES.items() if "torch" in case.get("packages", ())}
CONDITIONS = {"rows", "processor", "threads", "python", "libraries", "repeats", "seconds"}
# What `make bench` may take, by the clock.
MOST_SECONDS = 1200


@pytest.fixture(scope="module", params=[name for name in tables.CASES if name != "gpu"])
def toy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a benchmark writes at toy size."""
    if request.param in NETS:
        pytest.importorskip("torch")
    if request.param == "explore":
        pytest.importorskip("playwright", reason="no Playwright here")
        if CHROMIUM is None:
            pytest.skip("no Chromium here: apt-get install chromium")
    out = tmp_path_factory.mktemp("benchmark") / f"{request.param}.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks", request.param),
            *("--quick", "--repeats", "1", "--out", str(out)),
        ],
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # The terminal shows what the page will.
    for part in tables.parts(json.loads(out.read_text(encoding="utf-8"))).values():
        assert tables.table(part) in done.stdout
    return out


def check(file: Path, name: str) -> None:
    record = tables.record_of(name, file.parent)
    assert record is not None
    if name != "gpu":
        assert set(record) | {"seconds"} == CONDITIONS  # records of before have none
    found = tables.parts(record)
    cases = {case["part"]: case for case in tables.CASES[name]["tables"]}
    assert sorted(found) == sorted(cases)
    for part, rows in found.items():
        columns = {column for row in rows for column, _ in tables.cells(row)}
        explained = tables.columns(cases[part])
        assert columns <= explained
        assert columns == explained or name == "gpu"  # whose lines are of several versions
        assert all(f"| {column}" in tables.page(name, file.parent) for column in columns)


def test_a_benchmark_runs_and_the_page_explains_its_columns(toy: Path) -> None:
    check(toy, toy.stem)


@pytest.mark.parametrize("name", tables.CASES)
def test_the_page_explains_what_was_measured(name: str) -> None:
    check(ROOT / f"docs/benchmarks/{name}.json", name)


def test_the_page_has_every_benchmark_once() -> None:
    """As a directive, which `make docs` runs; each module measures something of the table."""
    assert sorted(re.findall(r"```\{benchmark\} (\w+)", PAGE)) == sorted(tables.CASES)
    measured = [table for case in tables.CASES.values() for table in case["tables"]]
    used = {table["run"].partition(":")[0] for table in measured if "run" in table}
    others = {"__init__", "__main__", "contest", "tables"}
    assert {path.stem for path in (ROOT / "benchmarks").glob("*.py")} == used | others


def test_all_that_is_measured_usually_takes_twenty_minutes() -> None:
    records = [ROOT / f"docs/benchmarks/{name}.json" for name in tables.usual()]
    seconds = [json.loads(file.read_text(encoding="utf-8")).get("seconds", 0) for file in records]
    assert sum(seconds) < MOST_SECONDS


def test_a_case_with_what_nobody_takes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table: dict[str, Any] = {"part": "", "run": "networks:dense", "columns": {"`weights`": ""}}
    case = {"weights": "few", "kind": "random", "agents": 3}
    monkeypatch.setitem(tables.CASES, "toy", {"tables": [table]})
    table["quick"] = [case]
    how = tables.Options(quick=True, repeats=1)
    (row,) = tables.rows("toy", how)
    assert row["weights"] == "few"
    table["quick"] = [{**case, "agent": 3}]
    with pytest.raises(
        ValueError, match=r"toy: expected parameters of networks:dense, got .*agent"
    ):
        next(tables.rows("toy", how))


def test_a_benchmark_that_there_is_not_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "speed"],
        capture_output=True, encoding="utf-8", cwd=ROOT, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("benchmarks: expected one of consensus, ")


def test_a_pattern_that_fits_no_case_leaves_the_record(tmp_path: Path) -> None:
    out = tmp_path / "laws.json"
    out.write_text("kept", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "laws", "--quick", "--only=none", f"--out={out}"],
        capture_output=True, encoding="utf-8", cwd=ROOT, check=False,
    )  # fmt: skip
    line = "benchmarks: --only: expected a pattern that fits a case of laws, got 'none'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
    assert out.read_text(encoding="utf-8") == "kept"


def test_the_record_of_one_benchmark_lies_in_the_folder_given(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "networks", "--quick", "--only=sparse", "--repeats=1",
         f"--out={tmp_path}"],
        capture_output=True, encoding="utf-8", cwd=ROOT, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["networks.json"]


def test_elimination_is_accurate_where_its_peers_are_not() -> None:
    """The page's claim, at toy size."""
    shown = tables.columns(tables.CASES["networks"]["tables"][0])
    how = tables.Options(quick=True, repeats=1, columns=shown)
    found = dense(how, kind="halves", agents=10)["error"]
    # Ten agents: at most about ten roundings (docs: mathematics/mixing).
    assert found["gth"] < 20 * 2.0**-53
    # The coupling leaves four of sixteen digits; three more are luck enough.
    assert min(found["solve"], found["eig"]) > 1e-7


def test_the_core_is_measured_by_its_widest_multiply_adds() -> None:
    """As many instructions as there are sums, at least, each on whole registers."""
    assert multiply_adds(1000) == CHAINS
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("names of instructions and registers are those of x86")
    (code,) = multiply_adds.inspect_asm().values()
    register = {8: "zmm", 4: "ymm"}[LANES]
    assert len(re.findall(rf"vfn?madd\w+pd\b.*%{register}", code)) >= CHAINS


def test_the_page_says_when_nothing_was_measured(tmp_path: Path) -> None:
    assert "make bench" in tables.page("laws", tmp_path)


def test_a_table_shows_shares_units_and_gaps() -> None:
    rows = [
        {"part": "a", "size": 3, "half_share": 0.5, "milliseconds": {"copy": 0.12345}},
        {"size": 4, "limit_rate": 2.0},
    ]
    lines = tables.table(rows).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["size", "half (share)", "copy (ms)", "limit rate"]
    assert cells[2:] == [["3", "50%", "0.123", ""], ["4", "", "", "2"]]


@pytest.mark.parametrize(("back", "forth"), [(0.25, 0.25), (0.25, 0.5)])
def test_the_gap_of_a_ring(back: float, forth: float) -> None:
    """Weights that are not rounded: the closed form against the characteristic polynomial."""
    one = np.ones(9)
    weights = ring(stay=(1 - back - forth) * one, back=back * one, forth=forth * one)
    slem = np.abs(exact_eigenvalues(weights)).max()
    # Both are rounded a few times; the gap is above .1.
    assert ring_gap(9, back=back, forth=forth) == pytest.approx(1 - slem, rel=1e-14)


def gpu(*options: str) -> subprocess.CompletedProcess[str]:
    """The measurements of a GPU, which are added to a file line by line."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "gpu", *options],
        capture_output=True, encoding="utf-8", cwd=ROOT, check=False,
    )  # fmt: skip


def test_every_part_for_a_gpu_runs_and_is_not_measured_twice(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "gpu.jsonl"
    parts = "products", "train", "module", "resnet", "gae"
    wanted = [f"--only={part}" for part in parts]
    options = "--device", "cpu", "--quick", "--out", str(out)
    done = gpu(*options, *wanted)
    assert done.returncode == 0, done.stderr
    lines = out.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    found = tables.parts({"rows": rows})
    assert set(found) == set(parts)
    assert all(tables.table(part) in done.stdout for part in found.values())
    assert all(row["TFLOP/s"] > 0 for row in rows)
    assert all("share of bfloat16" in row for row in rows if row["part"] != "products")
    # The last line was cut off, and is measured again, alone.
    out.write_text("\n".join(lines)[:-5], encoding="utf-8")
    assert gpu(*options, *wanted).returncode == 0
    again = out.read_text(encoding="utf-8").splitlines()
    assert again[:-1] == lines[:-1]
    assert json.loads(again[-1])["name"] == rows[-1]["name"]
    # Behind the last second nothing is begun.
    last = gpu("--device", "cpu", "--quick", "--seconds", "-1")
    assert (last.returncode, last.stdout) == (0, "\n"), last.stderr


def test_a_case_of_a_file_of_lines_that_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table: dict[str, Any] = {"part": "", "run": "networks:dense", "columns": {"`weights`": ""}}
    monkeypatch.setitem(tables.CASES, "toy", {"tables": [table]})
    table["quick"] = [{"weights": kind, "kind": kind, "agents": 3} for kind in ("none", "random")]
    how = tables.Options(quick=True, repeats=1, out=tmp_path / "toy.jsonl")
    (row,) = tables.rows("toy", how)
    assert (row["weights"], how.failed) == ("random", ["none"])
    assert capsys.readouterr().err == "none: KeyError('none')\n"


def test_without_a_gpu_its_measurements_say_so_in_a_line() -> None:
    if pytest.importorskip("torch").cuda.is_available():
        pytest.skip("there is a GPU")
    done = gpu("--quick")
    line = "gpu: expected a CUDA device, got none that torch can use: nothing is measured\n"
    assert (done.returncode, done.stdout) == (0, line), done.stderr
