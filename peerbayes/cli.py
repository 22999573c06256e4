"""The command line: what each command is called, and what becomes of whatever it raises.

Each command (`peerbayes.commands`) reads its problem, calls the function of the problem's kind, and
prints the result as tables or, with ``--json``, as JSON on standard output alone. Progress and
errors go to standard error. Exit codes: 0 done; 1 a check failed; 2 bad input, with one line that
says what, where, expected, got and remedy; 70 a fault of this program; 130 interrupted; 143
terminated.

Heavy modules are imported by the command that needs them, so that ``--help`` and a mistyped option
answer at once.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from peerbayes._version import __version__
from peerbayes.commands.analyse import analyse
from peerbayes.commands.campaign import campaign
from peerbayes.commands.design import design
from peerbayes.commands.explore import explore
from peerbayes.commands.figures import figures
from peerbayes.commands.formula import formula
from peerbayes.commands.keys import keys
from peerbayes.commands.launch import launch
from peerbayes.commands.list import list_problems
from peerbayes.commands.output import BAD_INPUT, DONE, FAULT, INTERRUPTED, print_lines
from peerbayes.commands.peer import peer
from peerbayes.commands.place import place
from peerbayes.commands.report import report
from peerbayes.commands.router import router
from peerbayes.commands.run import run_named_experiment
from peerbayes.commands.schema import schema
from peerbayes.commands.simulate import simulate
from peerbayes.commands.train import train
from peerbayes.commands.verify import verify
from peerbayes.commands.watch import watch

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


def _print_version(asked: bool) -> None:
    if asked:
        print_lines(f"peerbayes {__version__}\n")
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


_COMMANDS: dict[str, tuple[Callable[..., int], str | None]] = {
    "analyse": (analyse, None),
    "simulate": (simulate, None),
    "verify": (verify, "Compare theory with simulation."),
    "design": (design, "The best weights, with a certificate."),
    "place": (place, "Which agent should hold which data."),
    "explore": (explore, "See a problem on a page, move it, design it."),
    "watch": (watch, "See live agents as they run, beside what theory predicts."),
    "peer": (peer, "One agent of a live network, as a process."),
    "launch": (launch, "All agents of a problem as live processes here."),
    "report": (report, "One HTML page: prediction beside measurement."),
    "formula": (formula, "Closed forms, checked before they are shown."),
    "list": (list_problems, None),
    "run": (run_named_experiment, "Run an experiment of the papers."),
    "train": (train, "Train a net of your own on a network."),
    "campaign": (campaign, "Run every experiment with nets that is not on record."),
    "figures": (figures, "Redraw the papers' figures, each with a verdict."),
    "router": (router, "Pass on what live agents say."),
    "schema": (schema, "The JSON schema of files and results."),
}
for _name, (_command, _summary) in _COMMANDS.items():
    app.command(name=_name, short_help=_summary)(_command)
app.add_typer(keys, name="keys", short_help="Keys of a live network's processes.")


@cache
def _parser() -> Any:
    """What reads a command line; made once, however many commands a process runs."""
    return typer.main.get_command(app)


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
    from peerbayes.signals import (
        Terminated,
        ending_in_order,
        hush_trackers,
        interruptible,
        silently_interruptible,
    )
    from peerbayes.terminal import check_streams, settle_output

    is_process = arguments is None
    try:
        with ending_in_order():
            if is_process:
                interruptible()
                hush_trackers()
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
        code = _parser()(args=arguments, prog_name="peerbayes", standalone_mode=False)
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
