"""The command line: words and exit codes only.

Each command reads its problem, calls the function of its own module, and prints the result as
tables or, with ``--json``, as JSON on standard output alone. Progress and errors go to standard
error. Exit codes: 0 done; 1 a check failed; 2 bad input, with one line that says what, where,
expected, got and remedy; 70 a fault of this program; 130 interrupted; 143 terminated.

Heavy modules are imported by the command that needs them, so that ``--help`` and a mistyped option
answer at once.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from peerbayes.problem.changing import ChangingProblem
    from peerbayes.problem.faulty import FaultyProblem
    from peerbayes.problem.regression import RegressionProblem

DONE, CHECK_FAILED, BAD_INPUT, FAULT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 70, 130, 141

# The base of typer's usage errors, which older versions take from click and newer ones bring along.
_UsageError: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "UsageError"
)

app = typer.Typer(
    name="peerbayes",
    help="Predict how fast agents on a graph learn together, then measure it.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _whole_number(minimum: int) -> Callable[[object], int]:
    """Reads an option, with the project's words if it cannot."""

    def parse(text: object) -> int:
        # int() alone would also take underscores and the digits of other scripts.
        plain = re.fullmatch("[+-]?[0-9]{1,30}", str(text))
        value = int(str(text)) if plain else minimum - 1
        if not minimum <= value <= _LARGEST:
            wanted = f"a whole number of at least {minimum}"
            raise typer.BadParameter(f"expected {wanted}, got {str(text)[:60]!r}")
        return value

    return parse


def _real(wanted: str, holds: Callable[[float], bool]) -> Callable[[object], float]:
    """Reads a decimal or a fraction, as problem files take them, if `holds` of its value."""

    def parse(text: object) -> float:
        # float() alone would also take underscores and the digits of other scripts.
        plain = re.fullmatch(r"[0-9]{1,30}/0*[1-9][0-9]{0,29}|[0-9.eE+-]+", str(text))
        above, _, below = str(text).partition("/")
        try:
            # Two whole numbers are divided with one rounding, as the fraction is.
            value = int(above) / int(below) if below else float(above)
        except (ValueError, ArithmeticError):
            plain = None
        if plain is None or not holds(value):
            raise typer.BadParameter(f"expected {wanted}, got {str(text)[:60]!r}")
        return value

    return parse


_probability = _real("a number in (0, 1), such as 0.05 or 1/20", lambda x: 0 < x < 1)
_share = _real("a number in [0, 1), such as 0.05 or 1/20", lambda x: 0 <= x < 1)
_factor = _real("a number above 0 and below a million", lambda x: 0 < x < 1e6)


def _numbers(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers between commas."""
    if not re.fullmatch(r"[0-9]{1,9}( *, *[0-9]{1,9})*", text.strip()):
        wanted = "agents' numbers between commas, such as 0,3"
        raise typer.BadParameter(f"{option}: expected {wanted}, got {text[:60]!r}")
    return tuple(int(part) for part in text.split(","))


def _distribution(text: str | None) -> str | tuple[float, ...] | None:
    """A word, or numbers between commas."""
    if text is None or not re.fullmatch(r"[0-9.eE+\-/, ]+", text):
        return text
    from theory.numbers.rational import read_fraction

    try:
        return tuple(float(read_fraction(part.strip())) for part in text.split(","))
    except (ValueError, ZeroDivisionError, OverflowError):
        wanted = "'uniform', or numbers below 1e308 between commas, such as 1/2,1/4,1/4"
        raise typer.BadParameter(f"--stationary: expected {wanted}, got {text[:60]!r}") from None


def _folder(text: object) -> Path:
    # Path("") is the current folder, which nobody asks for by an empty name.
    if not str(text):
        raise typer.BadParameter("expected the name of a folder, got ''")
    return Path(str(text))


# Seeds and counts beyond this are typing errors: they would overflow 64 bits.
_LARGEST = 2**62
_SHARED = "Options of every command"
_LIMITS = "Limits"
_NETS = "Experiments with neural nets"
ProblemArgument = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="A TOML or JSON file, or a built-in problem.")
]
Json = Annotated[
    bool,
    typer.Option("--json", help="JSON on standard output alone.", rich_help_panel=_SHARED),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        parser=_whole_number(0),
        metavar="S",
        help="Seed of what is drawn at random, if anything is.",
        rich_help_panel=_SHARED,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        parser=_folder,
        metavar="DIR",
        help="Folder for records.",
        rich_help_panel=_SHARED,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="No progress, no notices.", rich_help_panel=_SHARED),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        parser=_folder,
        metavar="DIR",
        help="Folder of the image files, for built-ins that need them.",
        rich_help_panel=_SHARED,
    ),
]
Delta = Annotated[
    float,
    typer.Option(
        "--delta",
        parser=_probability,
        metavar="D",
        help="Probability of error that sample sizes allow, in (0, 1).",
    ),
]
GivenDelta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        parser=_probability,
        metavar="D",
        help="Probability of error that sample sizes allow, in (0, 1); 0.05 if left out.",
    ),
]
DEFAULT_DELTA = 0.05
DEFAULT_OUT = Path("peerbayes-out")


def _parameter(name: str, meaning: str) -> Any:
    """An option of `formula`: text, so that exact values stay exact."""
    return typer.Option(f"--{name}", metavar="X", help=meaning, rich_help_panel="Parameters")


def _print_version(asked: bool) -> None:
    if asked:
        from peerbayes import __version__

        _write(f"peerbayes {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Predict how fast agents on a graph learn together, then measure it."""


@app.command()
def analyse(
    problem: ProblemArgument,
    delta: GivenDelta = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Fractions and expressions; needs exact numbers."),
    ] = False,
    certify: Annotated[
        bool, typer.Option("--certify", help="Intervals that contain the truth.")
    ] = False,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            parser=_whole_number(1),
            metavar="N",
            help="Also certify what N rounds are good for.",
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Mixing, best hypotheses, rate, exponent and sample sizes. Draws nothing.

    With --exact or --certify, parts that take long are kept in the folder for records.
    """
    from peerbayes.problem.loading import load_problem
    from peerbayes.problem.problems import (
        ChangingProblem,
        FaultyProblem,
        RegressionProblem,
        finite_problem,
    )
    from peerbayes.progress import Stages
    from peerbayes.resources import announce_analysis
    from theory.validation import fail

    if exact and certify:
        raise typer.BadParameter("--exact and --certify exclude each other; keep one of them")
    with Stages(quiet=quiet) as stages:
        loaded = load_problem(problem, data=data, progress=stages(f"{problem}: prepare"))
        if not quiet:
            announce_analysis(loaded.name, loaded.network.agents)
        if isinstance(loaded, RegressionProblem | FaultyProblem) and delta is not None:
            raise fail("--delta", "a problem with sample sizes", loaded.name, "leave it out")
        delta = DEFAULT_DELTA if delta is None else delta
        if isinstance(loaded, RegressionProblem):
            if certify or rounds is not None:
                finite_problem(loaded, f"analyse {'--certify' if certify else '--rounds'}")
            return _analyse_regression(loaded, exact=exact, json=json)
        if isinstance(loaded, ChangingProblem) and not (exact or certify or rounds):
            return _analyse_changing(loaded, delta=delta, json=json)
        if isinstance(loaded, FaultyProblem) and not (exact or certify or rounds):
            return _analyse_faulty(loaded, json=json)
        option = " --exact" * exact + " --certify" * certify + " --rounds" * bool(rounds)
        loaded = finite_problem(loaded, f"analyse{option}")
        if exact or certify:
            from peerbayes.kinds.proved import analyse_proved
            from peerbayes.kinds.proved_tables import proved_parts as parts

            result = analyse_proved(
                loaded,
                arithmetic="exact" if exact else "certified",
                delta=delta,
                out=out,
                progress=stages(f"{loaded.name}: prove"),
            ).as_json()
        else:
            from peerbayes.kinds.finite.analyse import analyse as run
            from peerbayes.tables import analysis_parts as parts

            result = run(loaded, delta=delta).as_json()
        if rounds is not None:
            from peerbayes.kinds.finite.at_rounds import at_rounds

            result["at_rounds"] = at_rounds(loaded, rounds, delta=delta).as_json()
    if json:
        return _json(result)
    tables = parts(result)
    if rounds is not None:
        from peerbayes.kinds.finite.at_rounds import at_rounds_parts

        tables += at_rounds_parts(result["at_rounds"])
    return _tables(tables)


def _analyse_regression(problem: RegressionProblem, *, exact: bool, json: bool) -> int:
    from peerbayes.kinds.regression.analyse import analyse_regression, analyse_regression_exactly
    from peerbayes.kinds.regression.tables import regression_parts

    run = analyse_regression_exactly if exact else analyse_regression
    result = run(problem).as_json()
    return _json(result) if json else _tables(regression_parts(result))


def _analyse_changing(problem: ChangingProblem, *, delta: float, json: bool) -> int:
    from peerbayes.kinds.changing.analyse import analyse_changing, changing_parts

    result = analyse_changing(problem, delta=delta).as_json()
    return _json(result) if json else _tables(changing_parts(result))


def _analyse_faulty(problem: FaultyProblem, *, json: bool) -> int:
    from peerbayes.kinds.faulty.analyse import FaultyAnalysis, faulty_parts

    result = FaultyAnalysis(problem).as_json()
    return _json(result) if json else _tables(faulty_parts(result))


@app.command()
def simulate(
    problem: ProblemArgument,
    rounds: Annotated[
        int,
        typer.Option("--rounds", parser=_whole_number(1), metavar="N", help="Rounds n."),
    ] = 1000,
    replicates: Annotated[
        int,
        typer.Option(
            "--replicates", parser=_whole_number(1), metavar="R", help="Independent runs R."
        ),
    ] = 100,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            parser=_whole_number(1),
            metavar="K",
            help="Processes that share the replicates; the numbers stay the same.",
        ),
    ] = 1,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend", metavar="NAME", help="Where they run: loky (here), dask, ray, ..."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Refuse runs that would take more, such as 500M or 2GiB.",
        ),
    ] = None,
    hours: Annotated[
        float,
        typer.Option(
            "--hours",
            parser=_factor,
            metavar="H",
            help="Refuse runs that are expected to take longer.",
        ),
    ] = 24.0,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from where a killed run was."),
    ] = False,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Run the exact algorithm on drawn observations; leaves a record.

    A long run keeps a checkpoint beside its record, removed at the end.
    """
    from exact.limits import as_memory
    from exact.parallel import check_backend
    from peerbayes.kinds.social_learning import simulate_problem
    from peerbayes.problem.loading import load_problem
    from peerbayes.problem.problems import RegressionProblem
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder
    from peerbayes.resources import Resources, to_standard_error

    # Before classifiers are trained.
    check_folder(out)
    check_backend(backend)
    resources = Resources(
        workers=workers,
        backend=backend,
        memory=None if memory is None else as_memory("--memory", memory),
        resume=resume,
        hours=hours,
        notice=None if quiet else to_standard_error,
    )
    with Stages(quiet=quiet) as stages:
        loaded = load_problem(problem, data=data, progress=stages(f"{problem}: prepare"))
        if isinstance(loaded, RegressionProblem):
            from peerbayes.kinds.regression.simulate import simulate_regression_problem
            from peerbayes.kinds.regression.tables import regression_run_parts

            run = simulate_regression_problem(
                loaded,
                rounds=rounds,
                replicates=replicates,
                seed=seed,
                out=out,
                progress=stages(f"{loaded.name}: simulate"),
                resources=resources,
            )
            result = run.as_json()
            return _json(result) if json else _tables(regression_run_parts(result))
        summary = simulate_problem(
            loaded,
            rounds=rounds,
            replicates=replicates,
            seed=seed,
            out=out,
            progress=stages(f"{loaded.name}: simulate"),
            resources=resources,
        )
    if json:
        return _json(summary.as_json())
    from peerbayes.tables import simulation_parts

    return _tables(simulation_parts(summary.as_json()))


@app.command(short_help="Lay theory beside simulation.")
def verify(
    problems: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROBLEM]...", help="Files or built-in problems; all built-ins if left out."
        ),
    ] = None,
    delta: Delta = DEFAULT_DELTA,
    claims: Annotated[
        bool,
        typer.Option("--claims", help="Put the papers' statements on trial instead."),
    ] = False,
    effort: Annotated[
        float,
        typer.Option(
            "--effort",
            parser=_factor,
            metavar="E",
            help="With --claims: multiplies the cases that are tried.",
        ),
    ] = 1.0,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Lay theory beside simulation; exit code 1 if a proved statement is broken.

    With --claims: the papers' statements, each with its verdict and a witness; exit code 1 if a
    witness no longer confirms its verdict.
    """
    if claims:
        return _verify_claims(problems or [], effort, json=json, seed=seed, out=out, quiet=quiet)
    from peerbayes.front.verify import verify as run
    from peerbayes.progress import Stages
    from peerbayes.resources import to_standard_error

    names = problems or []
    with Stages(quiet=quiet) as stages:
        outcome = run(
            names,
            data=data,
            seed=seed,
            delta=delta,
            out=out,
            progress=stages,
            notice=None if quiet else to_standard_error,
        )
    if not quiet:
        for notice in outcome.skipped:
            to_standard_error(notice)
    code = CHECK_FAILED if outcome.failed else DONE
    if json:
        return _json(outcome.as_json(), code)
    from peerbayes.tables import sweep_parts, verification_parts

    sweeps = sweep_parts([sweep.as_record() for sweep in outcome.sweeps])
    _tables([*verification_parts(outcome.as_json(), every=bool(names)), *sweeps])
    if outcome.unjudged:
        _write(f"\nmeasured only, nothing is claimed: {', '.join(outcome.unjudged)}\n")
    _write(f"\nrecord: {outcome.record_path}\nreport: {outcome.report_path}\n")
    return code


def _verify_claims(
    problems: Sequence[str], effort: float, *, json: bool, seed: int, out: Path, quiet: bool
) -> int:
    from peerbayes.front.claims import verify_claims
    from peerbayes.progress import Stages
    from theory.validation import fail

    if problems:
        got = " ".join(problems)[:60]
        raise fail("--claims", "no problem beside it", got, "leave out one of the two")
    with Stages(quiet=quiet) as stages:
        outcome = verify_claims(seed=seed, effort=effort, out=out, progress=stages)
    code = CHECK_FAILED if outcome.failed else DONE
    if json:
        return _json(outcome.as_json(), code)
    from peerbayes.tables import claims_parts

    _tables(claims_parts(outcome.as_json()))
    _write(f"\nrecord: {outcome.record_path}\nreport: {outcome.report_path}\n")
    return code


@app.command(short_help="The best weights, with a certificate.")
def design(
    problem: ProblemArgument,
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="NAME",
            help="rate, exponent, samples, mixing, trade-off or next-edge.",
        ),
    ] = "rate",
    delta: Delta = DEFAULT_DELTA,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="NAME",
            help="Hypothesis to settle on; left out: what the network settles on now.",
        ),
    ] = None,
    stationary: Annotated[
        str | None,
        typer.Option(
            "--stationary",
            metavar="V",
            help="With mixing: 'uniform', or numbers between commas; left out: as it is.",
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", metavar="NAME", help="With next-edge: uniform, metropolis, ..."),
    ] = None,
    worst_case: Annotated[
        bool,
        typer.Option("--worst-case", help="With exponent: whichever hypothesis is true."),
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="With rate: prove the optimum in exact arithmetic.")
    ] = False,
    minimum_influence: Annotated[
        float | None,
        typer.Option(
            "--minimum-influence",
            parser=_share,
            metavar="V",
            help="Smallest v_j; left out: 1/(10 N).",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    minimum_self_weight: Annotated[
        float | None,
        typer.Option(
            "--minimum-self-weight",
            parser=_share,
            metavar="S",
            help="Smallest weight on oneself.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    edge_budget: Annotated[
        int | None,
        typer.Option(
            "--edge-budget",
            parser=_whole_number(0),
            metavar="M",
            help="Most edges in use.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    degree_budget: Annotated[
        int | None,
        typer.Option(
            "--degree-budget",
            parser=_whole_number(0),
            metavar="D",
            help="Most neighbours of an agent.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(
            "--fixed",
            metavar="AGENTS",
            help="Agents whose weights stay, such as 0,3.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    symmetric: Annotated[
        bool,
        typer.Option("--symmetric", help="W symmetric.", rich_help_panel=_LIMITS),
    ] = False,
    doubly_stochastic: Annotated[
        bool,
        typer.Option("--doubly-stochastic", help="Columns sum to one.", rich_help_panel=_LIMITS),
    ] = False,
    replicates: Annotated[
        int | None,
        typer.Option(
            "--replicates",
            parser=_whole_number(0),
            metavar="R",
            help="Simulated runs of each network; 0 for none; left out: enough for delta.",
        ),
    ] = None,
    seconds: Annotated[
        int,
        typer.Option(
            "--seconds",
            parser=_whole_number(1),
            metavar="S",
            help="Time for all searches; what they have by then is shown.",
        ),
    ] = 120,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """The best v and W on the problem's graph, how good they are, and what rules would give.

    Limits are those of the problem's [design] table, and of the options. Leaves a record that
    'report' shows. Exit code 1 if a solver gave up; the best weights that it had are printed.
    """
    from peerbayes.design.tables import design_parts
    from peerbayes.front.design import DesignRequest
    from peerbayes.front.design import design as run
    from peerbayes.problem.loading import load_problem
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder

    limits = {
        "minimum_influence": minimum_influence,
        "minimum_self_weight": minimum_self_weight,
        "edge_budget": edge_budget,
        "degree_budget": degree_budget,
        "fixed_agents": None if fixed is None else _numbers("--fixed", fixed),
        "symmetric": symmetric or None,
        "doubly_stochastic": doubly_stochastic or None,
    }
    request = DesignRequest(
        objective=objective,
        delta=delta,
        target=target,
        stationary=_distribution(stationary),
        rule=rule,
        worst_case=worst_case,
        exact=exact,
        changes={name: value for name, value in limits.items() if value is not None},
        replicates=replicates,
        seed=seed,
        seconds=float(seconds),
    )
    check_folder(out)
    with Stages(quiet=quiet) as stages:
        loaded = load_problem(problem, data=data, progress=stages(f"{problem}: prepare"))
        result = run(loaded, request, out=out, progress=stages(f"{problem}: design"))
    code = CHECK_FAILED if result.failed else DONE
    if json:
        return _json(result.as_json(), code)
    _tables(design_parts(result.as_json()))
    return _write(f"\nrecord: {result.record_path}\n", code)


@app.command(short_help="Which agent should hold which data.")
def place(
    problem: ProblemArgument,
    objective: Annotated[
        str,
        typer.Option("--objective", metavar="NAME", help="rate, exponent or samples."),
    ] = "rate",
    delta: Delta = DEFAULT_DELTA,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="NAME",
            help="Hypothesis to settle on; left out: what the network settles on now.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="auto, milp, exhaustive or local."),
    ] = "auto",
    fixed: Annotated[
        str | None,
        typer.Option("--fixed", metavar="AGENTS", help="Agents that keep their data: 0,3."),
    ] = None,
    replicates: Annotated[
        int,
        typer.Option(
            "--replicates",
            parser=_whole_number(0),
            metavar="R",
            help="Simulated runs of each class of placements; 0 for none.",
        ),
    ] = 1000,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """The best placement of the agents' data, the network as it is; leaves a record."""
    from dataclasses import replace

    from peerbayes.design.place import place_problem
    from peerbayes.design.tables import place_parts
    from peerbayes.problem.loading import load_problem
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder, file_name, write_record

    check_folder(out)
    with Stages(quiet=quiet) as stages:
        loaded = load_problem(problem, data=data, progress=stages(f"{problem}: prepare"))
        result = place_problem(
            loaded,
            objective=objective,
            delta=delta,
            method=method,
            fixed=() if fixed is None else _numbers("--fixed", fixed),
            target=target,
            replicates=replicates,
            seed=seed,
            progress=stages(f"{problem}: place"),
        )
    path = out / file_name("place", result.problem_name, objective)
    write_record(path, kind="place", body=result.as_record())
    result = replace(result, record_path=path)
    if json:
        return _json(result.as_json())
    _tables(place_parts(result.as_json()))
    return _write(f"\nrecord: {path}\n")


@app.command(short_help="One HTML page: prediction beside measurement.")
def report(
    records: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RECORD]...", help="Records of verify; those in the folder if left out."
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """One self-contained HTML page: prediction beside measurement, with figures.

    Exit code 1 if beliefs that a record speaks of are damaged; the page says which.
    """
    from peerbayes.records import find_records
    from peerbayes.resources import to_standard_error

    paths = records or find_records(out, kind="verify", also=("claims", "run", "design", "place"))
    from peerbayes.report import write_report

    damaged: list[str] = []
    page = write_report(paths, out / "report.html", notice=damaged.append)
    for damage in damaged:
        to_standard_error(damage)
    code = CHECK_FAILED if damaged else DONE
    if json:
        found = {"report": str(page), "records": [str(path) for path in paths]}
        return _json(found | ({"damaged": damaged} if damaged else {}), code)
    return _write(f"report: {page}\n", code)


@app.command(short_help="Closed forms, checked before they are shown.")
def formula(
    topology: Annotated[
        str,
        typer.Argument(
            metavar="[TOPOLOGY]",
            help="A family, 'weights', or a problem; 'list', or nothing, says what there is.",
        ),
    ] = "list",
    agents: Annotated[str | None, _parameter("agents", "Number of agents.")] = None,
    rows: Annotated[str | None, _parameter("rows", "Grid, torus: number of rows.")] = None,
    columns: Annotated[str | None, _parameter("columns", "Grid, torus: of columns.")] = None,
    dimension: Annotated[str | None, _parameter("dimension", "Hypercube: of digits.")] = None,
    edge_confidence: Annotated[
        str | None, _parameter("edge-confidence", "Star: weight of every edge on the centre.")
    ] = None,
    centre_confidence: Annotated[
        str | None, _parameter("centre-confidence", "Star, hub: weight of the centre on itself.")
    ] = None,
    self_confidence: Annotated[
        str | None, _parameter("self-confidence", "Weight of every agent on itself.")
    ] = None,
    hub_weight: Annotated[
        str | None, _parameter("hub-weight", "Hub and ring: weight of the ring on the hub.")
    ] = None,
    neighbour_weight: Annotated[
        str | None, _parameter("neighbour-weight", "Path, grid, ring: weight on a neighbour.")
    ] = None,
    a: Annotated[str | None, _parameter("a", "Two agents: weight of the first.")] = None,
    b: Annotated[str | None, _parameter("b", "Two agents: weight of the second.")] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="LETTER=VALUE", help="Any parameter, by letter or name."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="W", help="The matrix, such as '1-a a; b 1-b'."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX on standard output.")] = False,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Closed forms of v, eigenvalues, deviation and rate; N symbolic where symmetry allows.

    Values are exact: 1/2 or 0.5. Exit code 1 if a formula and exact arithmetic disagree.
    """
    from peerbayes.formula.checked import families, formula_of, read_settings

    named = {
        "agents": agents,
        "rows": rows,
        "columns": columns,
        "dimension": dimension,
        "edge_confidence": edge_confidence,
        "centre_confidence": centre_confidence,
        "self_confidence": self_confidence,
        "hub_weight": hub_weight,
        "neighbour_weight": neighbour_weight,
        "a": a,
        "b": b,
    }
    values = read_settings(named, given or [])
    if topology == "list":
        listing = families(values, weights=weights)
        if json:
            return _json({"families": listing})
        from peerbayes.formula.text import family_parts

        return _tables(family_parts(listing))
    result = formula_of(topology, values, weights=weights, seed=seed)
    code = DONE if result.check.passed else CHECK_FAILED
    if json:
        return _json(result.as_json(), code)
    from peerbayes.formula.text import formula_parts, latex_text

    if latex:
        return _write(latex_text(result.as_json()), code)
    _tables(formula_parts(result.as_json()))
    return code


@app.command(name="list")
def list_problems(
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """The built-in problems and their variants, and the experiments, with what is on record."""
    from peerbayes.experiments import EXPERIMENTS
    from peerbayes.experiments.done import what_is_done
    from peerbayes.problem.loading import BUILTINS

    problems = [
        {
            "name": family.name,
            "title": family.title,
            "needs_data": family.needs_data,
            "default": family.default,
            "variants": list(family.variants),
        }
        for family in BUILTINS.values()
    ]
    experiments = [
        {
            "name": entry.name,
            "title": entry.title,
            "source": entry.source,
            "done": what_is_done(entry.name, out),
        }
        for entry in EXPERIMENTS.values()
    ]
    if json:
        return _json({"problems": problems, "experiments": experiments})
    from peerbayes.experiments.tables import experiment_list_parts
    from peerbayes.tables import list_parts

    return _tables([*list_parts(problems), *experiment_list_parts(experiments)])


@app.command(name="run", short_help="Run an experiment of the papers.")
def run_named_experiment(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="Its name; 'peerbayes list' shows them.")
    ],
    replicates: Annotated[
        int | None,
        typer.Option(
            "--replicates",
            parser=_whole_number(1),
            metavar="R",
            help="Independent runs of each part; left out: what the experiment says.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Take the parts that are on record already, and go on in others."
        ),
    ] = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            metavar="NAME",
            help="paper, best or once; best if left out.",
            rich_help_panel=_NETS,
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="WORDS",
            help="Only parts whose names contain this, such as 'a=0.5 seed 0'.",
            rich_help_panel=_NETS,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A look of less than a minute, kept apart.", rich_help_panel=_NETS
        ),
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="NAME", help="cpu, or cuda for a GPU.", rich_help_panel=_NETS
        ),
    ] = None,
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Run an experiment of the papers: printed beside measured and predicted.

    Exit code 1 if a measurement contradicts its prediction beyond sampling error.
    """
    from peerbayes.experiments import find_experiment, run_experiment
    from peerbayes.experiments.options import configured
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder
    from peerbayes.resources import to_standard_error

    found, only = configured(
        find_experiment(experiment),
        replicates=replicates,
        recipe=recipe,
        part=part,
        quick=quick,
        device=device,
        data=data,
        resume=resume,
        out=out,
        notice=None if quiet else to_standard_error,
    )
    check_folder(out)
    with Stages(quiet=quiet) as stages:
        outcome = run_experiment(
            found,
            seed=seed,
            replicates=replicates,
            only=only,
            resume=resume,
            out=out,
            progress=stages,
        )
    if not quiet:
        for notice in outcome.discarded:
            to_standard_error(notice)
    code = CHECK_FAILED if outcome.failed else DONE
    if json:
        return _json(outcome.as_json(), code)
    from peerbayes.experiments.tables import run_parts

    _tables(run_parts(outcome.as_json()))
    _write(f"\nrecord: {outcome.record_path}\nreport: {outcome.report_path}\n")
    return code


@app.command(short_help="Run every experiment with nets that is not on record.")
def campaign(
    status: Annotated[
        bool, typer.Option("--status", help="Say what is done, runs, failed or is missing.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="PATTERN",
            help="Parts whose names contain this or fit it, such as 'star-*: paper*'.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            parser=_whole_number(1),
            metavar="N",
            help="Parts at once, each a process of one thread.",
        ),
    ] = 1,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            parser=_folder,
            metavar="DIR",
            help="Folder of short records; docs/experiments of a checkout if left out.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also parts that another build has made.")
    ] = False,
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="cpu, or cuda for a GPU.")
    ] = "cpu",
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """Run the papers' experiments with neural nets, part by part, until nothing is missing.

    Most telling parts come first. A campaign may be stopped or killed at any moment: started
    again, it goes on where it was. Exit code 1 if a part failed.
    """
    from peerbayes.experiments.net_run import check_installed

    check_installed("campaign")
    from peerbayes.experiments.campaign import campaign_status, run_campaign
    from peerbayes.experiments.campaign_plan import selected
    from peerbayes.experiments.campaign_state import Campaign, usual_records
    from peerbayes.experiments.tables import campaign_parts
    from peerbayes.progress import Stages
    from peerbayes.records import check_folder
    from peerbayes.resources import to_standard_error
    from theory.validation import fail

    if seed:
        raise fail("--seed", "0: a campaign's seeds are part of its plan", seed, "leave it out")
    tasks = selected(only)
    home = Campaign(out, usual_records(out) if records is None else records, device, data, again)
    if status:
        result = campaign_status(home, tasks)
    else:
        check_folder(out)
        check_folder(home.records)
        with Stages(quiet=quiet) as stages:
            result = run_campaign(
                home,
                tasks,
                workers=workers,
                progress=stages,
                say=None if quiet else to_standard_error,
            )
    code = CHECK_FAILED if result.failed and not status else DONE
    if json:
        return _json(result.as_json(), code)
    return _tables(campaign_parts(result.as_json())) or code


@app.command(short_help="The JSON schema of files and results.")
def schema(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]", help="problem (the file), or a command whose JSON is described."
        ),
    ] = "problem",
    json: Json = False,
    seed: Seed = 0,
    out: Out = DEFAULT_OUT,
    quiet: Quiet = False,
    data: Data = None,
) -> int:
    """The JSON schema of a problem file, a record, or a command's JSON."""
    from peerbayes.schemas import read_schema

    return _json(read_schema(name))


def _json(result: Any, code: int = DONE) -> int:
    """Print a result as JSON."""
    import json

    from peerbayes.records import plain

    # Escapes for all but ASCII: valid wherever standard output goes.
    return _put(json.dumps(plain(result), indent=2, allow_nan=False) + "\n", code)


def _tables(parts: Sequence[RenderableType]) -> int:
    """Print a result for people."""
    from peerbayes.layout import render

    return _put(render(parts))


def _write(text: str, code: int = DONE) -> int:
    """Write lines for people to standard output."""
    from peerbayes.terminal import visible

    return _put(visible(text), code)


def _put(text: str, code: int = DONE) -> int:
    """Write to standard output; a reader that has gone away ends the program quietly."""
    from peerbayes.terminal import write_out

    try:
        write_out(text)
    except BrokenPipeError:
        raise typer.Exit(BROKEN_PIPE) from None
    return code


def _complain(text: str, code: int) -> int:
    """One line on standard error."""
    from peerbayes.terminal import say

    say("peerbayes: " + " ".join(text.split()))
    return code


def _usage(error: Exception) -> str:
    """A usage error in one line, with the remedy."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "peerbayes"
    text = " ".join(error.format_message().split()).rstrip(".")  # type: ignore[attr-defined]
    place = command.removeprefix("peerbayes").strip()
    return f"{place}{': ' if place else ''}{text}; see '{command} --help'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; `arguments` are those of the process if left out."""
    from peerbayes.signals import Terminated, ending_in_order, interruptible, silently_interruptible
    from peerbayes.terminal import check_streams, settle_output

    is_process = arguments is None
    try:
        with ending_in_order():
            if is_process:
                interruptible()
            check_streams()
            return _guarded(None if arguments is None else list(arguments))
    except Terminated as ending:
        return _complain("terminated", ending.code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ValueError as error:
        return _complain(str(error), BAD_INPUT)
    finally:
        if is_process:
            silently_interruptible()
        settle_output()


def _guarded(arguments: list[str] | None) -> int:
    """Run a command; whatever it raises is one line and an exit code."""
    from peerbayes.terminal import say

    try:
        code = app(args=arguments, prog_name="peerbayes", standalone_mode=False)
    except _UsageError as error:
        return _complain(_usage(error), BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except MemoryError:
        return _complain("not enough memory; use fewer agents, rounds or replicates", BAD_INPUT)
    except (ValueError, OSError, OverflowError) as error:
        return _complain(str(error), BAD_INPUT)
    except Exception:
        say(traceback.format_exc().rstrip("\n"))
        return _complain("a fault of this program, not of its input; please report it", FAULT)
    if code == INTERRUPTED:
        return _complain("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else DONE


if __name__ == "__main__":
    sys.exit(main())
