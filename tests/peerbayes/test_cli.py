"""The command line: what is printed where, and exit codes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from jsonschema import Draft202012Validator

import peerbayes
from peerbayes import cli
from peerbayes.commands.command import Command
from peerbayes.commands.table import COMMANDS
from peerbayes.comparison import Comparison
from peerbayes.experiments.run import PartFailed
from peerbayes.front.verify import sweep_parts, verification_parts
from peerbayes.layout import render
from peerbayes.measured import SlowestDocument, SweepDocument
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.records import read_record
from peerbayes.schemas import SCHEMAS, read_schema
from peerbayes.settings.questions import Verify
from peerbayes.tables import spread
from tests.peerbayes.commands import Capture, Patch, complaint, json_of, text_of
from tests.peerbayes.documents import GAUSSIAN, TWO_COINS

SMALL = ["--rounds", "10", "--replicates", "5"]
ROOT = Path(peerbayes.__file__).parents[1]


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "peerbayes", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
        **options,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ("analyse", ["analyse", "two-coins"]),
        ("analyse", ["analyse", "p2-grid corner", "--delta", "0.01"]),
        ("analyse", ["analyse", "gaussian.json"]),
        ("simulate", ["simulate", "two-coins", *SMALL, "--quiet"]),
        ("simulate", ["simulate", "gaussian.json", *SMALL, "--seed", "3", "--quiet"]),
        ("verify", ["verify", "two-coins", "gaussian.json", "--quiet"]),
        ("list", ["list"]),
    ],
)
def test_json_alone_on_standard_output(
    schema: str, arguments: list[str], here: Path, capsys: Capture
) -> None:
    (here / "gaussian.json").write_text(json.dumps(GAUSSIAN))
    assert cli.main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    Draft202012Validator(read_schema(schema)).validate(
        json.loads(captured.out, parse_constant=refuse)
    )


def test_progress_goes_to_standard_error(here: Path, capsys: Capture) -> None:
    assert cli.main(["simulate", "two-coins", *SMALL, "--json"]) == 0
    captured = capsys.readouterr()
    json.loads(captured.out)
    assert captured.err.startswith("two-coins: simulate: done (")


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_printed(name: str, capsys: Capture) -> None:
    assert cli.main(["schema", name]) == 0
    assert json.loads(capsys.readouterr().out) == read_schema(name)


def test_simulate_leaves_its_record_where_told(here: Path, capsys: Capture) -> None:
    first = json_of(capsys, ["simulate", "two-coins", *SMALL, "--seed", "7", "--json"])
    assert Path(first["record"]).parent == Path("peerbayes-out")
    assert read_record(first["record"]).body["result"]["rates"] == first["rates"]
    second = json_of(
        capsys, ["simulate", "two-coins", *SMALL, "--seed", "7", "--json", "--out", "x"]
    )
    assert Path(second["record"]).parent == Path("x")
    assert second["rates"] == first["rates"]
    assert first["seed"] == 7


def test_commands_that_draw_nothing_leave_nothing(here: Path, capsys: Capture) -> None:
    assert cli.main(["analyse", "two-coins"]) == 0
    assert cli.main(["list"]) == 0
    assert list(here.iterdir()) == []


def test_every_command_takes_the_shared_options(here: Path) -> None:
    shared = ["--seed", "1", "--out", "o", "--quiet", "--data", "d"]
    for command in (["analyse", "two-coins"], ["simulate", "two-coins", *SMALL], ["list"]):
        assert cli.main([*command, *shared]) == 0


@pytest.mark.parametrize(
    ("command", "used", "unused"),
    [
        ("verify", ["--json", "--seed", "--out", "--quiet", "--data"], []),
        ("analyse", ["--json", "--out", "--quiet", "--data"], ["--seed", "--force"]),
        ("report", ["--json", "--out", "--quiet"], ["--seed", "--data"]),
        ("router", ["--json", "--quiet"], ["--seed", "--out", "--data"]),
    ],
)
def test_help_shows_the_options_that_a_command_uses(
    command: str, used: list[str], unused: list[str], capsys: Capture
) -> None:
    text = text_of(capsys, [command, "-h"])
    assert text == text_of(capsys, [command, "--help"])
    assert all(f" {option}" in text for option in used)
    assert not any(f" {option}" in text for option in unused)
    assert f"Example: peerbayes {command} " in text


def test_without_a_command_there_is_help(capsys: Capture) -> None:
    text = text_of(capsys, [])
    assert text == text_of(capsys, ["--help"])
    headings = [line for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert len(headings) == 6
    for command in COMMANDS:
        assert f"  {command.name.partition(' ')[0]} " in text
    keys = text_of(capsys, ["keys"])
    assert all(f"  {name} " in keys for name in ("new", "add", "members", "check"))


@pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])
def test_examples_of_help_can_be_read(command: Command, monkeypatch: Patch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(Command, "run", lambda self, **given: seen.update(given, of=self) or 0)
    assert cli.main(shlex.split(command.example)[1:]) == 0
    assert seen["of"] is command
    assert set(seen) >= {"json", "quiet", *command.declared}


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyse", "p2-star"],
        ["analyse", "gaussian.json"],
        ["simulate", "p2-star", *SMALL],
        ["list"],
    ],
)
def test_tables_are_plain_and_fit_80_columns(
    arguments: list[str], here: Path, capsys: Capture
) -> None:
    (here / "gaussian.json").write_text(json.dumps(GAUSSIAN))
    text = text_of(capsys, arguments)
    assert "\x1b" not in text
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text.strip()


def test_tables_tell_what_json_tells(capsys: Capture) -> None:
    result = json_of(capsys, ["analyse", "two-coins", "--json"])
    text = text_of(capsys, ["analyse", "two-coins"])
    for value in (result["learning"]["rate"], result["learning"]["error_exponent"]):
        assert f"{value:.4g}" in text
    for name in ("printed", "repaired", "chernoff"):
        assert f"{result['samples'][name]:,}".replace(",", " ") in text
    assert "fair" in text


def test_names_that_look_like_markup_are_shown_as_they_are(here: Path, capsys: Capture) -> None:
    path = here / "odd.toml"
    text = TWO_COINS.replace('"loaded"', '"[bold]loaded[/bold] :smile:"')
    path.write_text(text.replace('"two-coins"', '"[red]coins"'))
    for command in (["analyse"], ["simulate", *SMALL, "--quiet"]):
        shown = text_of(capsys, [*command, "odd.toml"])
        assert "[bold]loaded[/bold] :smile:" in shown
        assert "[red]coins" in shown


def test_many_agents_are_summed_up() -> None:
    assert spread([0.5, None, 0.25]) == "0.5 - 0.25"
    assert spread([k / 100 for k in range(100)]) == "0 to 0.99"
    assert spread([None]) == "-"


STATEMENTS = [
    {
        "problem": problem,
        "statement": "rate of rejecting 'loaded' after 100 rounds",
        "predicted": 0.5,
        "measured": None,
        "standard_error": 0.01,
        "kind": "exact",
        "holds": holds,
        "is_theorem": is_theorem,
        "note": "",
        "side": "upper",
    }
    for problem, holds, is_theorem in (
        ("a", True, True),
        ("a", False, False),
        ("b", False, True),
    )
]


COMPARISONS = [Comparison.model_validate(statement) for statement in STATEMENTS]


def test_verdicts_are_told_apart() -> None:
    Draft202012Validator(read_schema("verify")).validate(STATEMENTS)
    full = render(verification_parts(COMPARISONS, every=True))
    assert [full.count(word) for word in ("holds", "fails*", "BROKEN")] == [1, 1, 1]
    short = render(verification_parts(COMPARISONS, every=False))
    assert [short.count(word) for word in ("holds", "fails*", "BROKEN")] == [0, 1, 1]
    assert "not a theorem" in full
    assert "not a theorem" in short
    assert "not a theorem" not in render(verification_parts(COMPARISONS[:1], every=True))


class Outcome:
    """What `verify` gives, for a test of words and exit codes."""

    def __init__(self, failed: bool, unjudged: tuple[str, ...] = ()) -> None:
        self.failed = failed
        self.unjudged = unjudged
        self.skipped = ("skipped fashion-mnist: no images",)
        self.sweeps: tuple[()] = ()
        self.record_path, self.report_path = Path("o/verify.json"), Path("o/report.html")

    def as_json(self) -> list[dict[str, Any]]:
        return STATEMENTS

    def tables(self, *, every: bool) -> list[Any]:
        return verification_parts(COMPARISONS, every=every)


@pytest.mark.parametrize("failed", [False, True])
def test_verify_exit_codes_and_words(failed: bool, monkeypatch: Patch, capsys: Capture) -> None:
    import peerbayes.front.verify

    seen: dict[str, Any] = {}

    def verify(names: list[str], how: Verify) -> Outcome:
        seen.update(vars(how), names=names)
        return Outcome(failed)

    monkeypatch.setattr(peerbayes.front.verify, "verify", verify)
    assert cli.main(["verify", "a", "b", "--delta", "0.1", "--seed", "4"]) == int(failed)
    captured = capsys.readouterr()
    assert captured.err == "skipped fashion-mnist: no images\n"
    assert captured.out.endswith("\nrecord: o/verify.json\nreport: o/report.html\n")
    assert (seen["names"], seen["delta"], seen["seed"]) == (["a", "b"], 0.1, 4)
    assert cli.main(["verify", "--json", "--quiet"]) == int(failed)
    captured = capsys.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out) == STATEMENTS
    assert seen["names"] == []


def test_verify_says_of_what_nothing_is_claimed(monkeypatch: Patch, capsys: Capture) -> None:
    import peerbayes.front.verify

    monkeypatch.setattr(
        peerbayes.front.verify, "verify", lambda *_, **__: Outcome(False, ("median", "clip"))
    )
    assert cli.main(["verify", "a", "--quiet"]) == 0
    assert "\nmeasured only, nothing is claimed: median, clip\n" in capsys.readouterr().out
    assert cli.main(["verify", "a", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == STATEMENTS


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "not enough memory"),
        (ValueError("one\ntwo"), 2, "one two"),
        (OSError(28, "No space left on device"), 2, "No space left"),
    ],
)
def test_errors_are_one_line(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: Patch,
    capsys: Capture,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    import peerbayes.problem.builtins.loading

    monkeypatch.setattr(peerbayes.problem.builtins.loading, "load_problem", fail)
    assert cli.main(["analyse", "two-coins"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert words in captured.err


def test_a_fault_of_the_program_is_no_failed_check(monkeypatch: Patch, capsys: Capture) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AttributeError("a bug")

    import peerbayes.problem.builtins.loading

    monkeypatch.setattr(peerbayes.problem.builtins.loading, "load_problem", fail)
    assert cli.main(["analyse", "two-coins"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_version(capsys: Capture) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"peerbayes {peerbayes.__version__}\n"


def test_front_door() -> None:
    for name in peerbayes.__all__:
        assert getattr(peerbayes, name) is getattr(peerbayes, name)
    assert peerbayes.load("two-coins").name == "two-coins"
    assert set(peerbayes.__all__) <= set(dir(peerbayes))
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = peerbayes.absent


# What takes longer to import than all the rest of a small command; not pydantic and rich, which
# typer itself may load.
DRAWING = ("matplotlib", "sklearn", "torch", "pandas")
SOLVING = ("sympy", "networkx", "highspy", "scipy.stats", "scipy.interpolate", "scipy.integrate")
COMPUTING = ("scipy", "numba", "flint")
HEAVY = (*DRAWING, *SOLVING, *COMPUTING)


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], ("numpy", *HEAVY)),
        (["analyse", "--foo"], ("numpy", *HEAVY)),
        (["list"], HEAVY),
    ],
)
def test_a_command_loads_nothing_heavy_that_it_can_do_without(
    arguments: list[str], heavy: tuple[str, ...], tmp_path: Path
) -> None:
    script = (
        "import sys; from peerbayes.cli import main; "
        f"main({arguments!r}); loaded = [m for m in {heavy!r} if m in sys.modules]; "
        "sys.exit(' '.join(loaded) or 0)"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr


def test_as_a_process(tmp_path: Path) -> None:
    good = run("analyse", "two-coins", "--json", cwd=tmp_path)
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["network"]["agents"] == 2
    bad = run("analyse", "two-coin", cwd=tmp_path)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.count("\n") == 1
    assert "did you mean 'two-coins'?" in bad.stderr


@pytest.mark.parametrize("arguments", [["schema"]])
def test_a_reader_that_goes_away(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    outcome = subprocess.run(
        [sys.executable, "-m", "peerbayes", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert outcome.stderr == b""
    assert outcome.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort()])
def test_interrupted_whatever_typer_makes_of_it(
    error: BaseException, monkeypatch: Patch, capsys: Capture
) -> None:
    def interrupt(**_: Any) -> None:
        raise error

    monkeypatch.setattr(cli, "_parser", lambda: interrupt)
    assert cli.main(["list"]) == 130
    assert capsys.readouterr().err == "peerbayes: interrupted\n"


def test_list_names_every_builtin(capsys: Capture) -> None:
    text = text_of(capsys, ["list"])
    assert all(name in text for name in BUILTINS)


def test_the_whole_loop(here: Path, capsys: Capture) -> None:
    text = text_of(capsys, ["verify", "two-coins", "--quiet"])
    assert "learning rate K" in text
    record, report = (line.split(": ")[1] for line in text.splitlines()[-2:])
    assert read_record(record).kind == "verify"
    page = Path(report).read_bytes()
    assert b"<html" in page
    Path(report).unlink()
    assert cli.main(["report", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": report, "records": [record]}
    # The page is made of the record alone.
    assert Path(report).read_bytes() == page


def test_a_sweep_is_a_row_for_each_edge_confidence() -> None:
    slowest = SlowestDocument(hypothesis="b", predicted=0.01, measured=0.0101, standard_error=2e-4)
    text = render(
        sweep_parts(
            [
                SweepDocument(
                    name="star over a",
                    edge_confidence=[0.1, 0.7],
                    centre_weight=[0.1011, 0.4406],
                    settled=[["a", "c"], ["b"]],
                    slowest=[slowest, None],
                    exponent=[0.028, None],
                    rates=[],
                    comparisons=[],
                )
            ]
        )
    )
    assert "star over a" in text
    rows = [line.split() for line in text.splitlines() if line.strip().startswith(("0.1", "0.7"))]
    assert rows == [
        ["0.1", "0.1011", "a", "or", "c", "0.01", "0.0101", "0.0002", "0.028"],
        ["0.7", "0.4406", "b", "-", "-", "-", "-"],
    ]


def test_a_problem_from_standard_input(monkeypatch: Patch, capsys: Capture) -> None:
    def typed(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    named = json_of(capsys, ["analyse", "two-coins", "--json"])
    typed(TWO_COINS)
    assert json_of(capsys, ["analyse", "-", "--json"]) == named
    typed(json.dumps({**GAUSSIAN, "name": None}))
    assert "standard input: name" in complaint(capsys, "analyse", "-")
    typed("name = = 1")
    assert "standard input: line 1" in complaint(capsys, "analyse", "-")


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("120", 120), ("-3", 80), ("2", 80)])
def test_tables_are_as_wide_as_the_environment_says(
    columns: str, width: int, monkeypatch: Patch, capsys: Capture
) -> None:
    usual = text_of(capsys, ["list"])
    monkeypatch.setenv("COLUMNS", columns)
    text = text_of(capsys, ["list"])
    assert max(map(len, text.splitlines())) <= width
    assert (text == usual) == (width == 80)


def test_what_is_done_is_logged_for_who_asks(tmp_path: Path) -> None:
    command = ["simulate", "two-coins", *SMALL, "--quiet", "--out", str(tmp_path)]
    silent, told = run(*command, cwd=tmp_path), run("-v", *command, "--force", cwd=tmp_path)
    assert silent.stderr == ""
    assert silent.stdout == told.stdout
    assert "peerbayes.progress: stage: two-coins: simulate" in told.stderr
    assert f"peerbayes.records: record of simulate: {tmp_path}" in told.stderr


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("ana", "analyse"),
        ("keys che", "check"),
        ("analyse two-c", "two-coins"),
        ("analyse coi", "coins.toml"),
        ("analyse two-coins --certi", "--certify"),
        ("analyse two-coins --out sub", "sub/"),
        ("run regression", "regression-2 regression-4"),
        ("train sub/n", "sub/net.toml"),
    ],
)
def test_a_shell_completes(words: str, completed: str, here: Path, capsys: Capture) -> None:
    for name in ("coins.toml", "sub/net.toml"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).touch()
    environment = {
        "_PEERBAYES_COMPLETE": "complete_bash",
        "COMP_WORDS": f"peerbayes {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with contextlib.suppress(SystemExit):
            cli.main([])
    assert capsys.readouterr().out.split() == completed.split()


@pytest.mark.parametrize(
    ("error", "told"), [(ValueError("all say so"), ""), (PartFailed("mine"), "peerbayes: mine\n")]
)
def test_of_several_processes_the_first_one_speaks(
    error: ValueError, told: str, monkeypatch: Patch, capsys: Capture
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("peerbayes.experiments.run.is_first_process", lambda: False)
    monkeypatch.setattr("peerbayes.front.run.run", fail)
    assert cli.main(["run", "regression-2"]) == 2
    assert capsys.readouterr().err == told
