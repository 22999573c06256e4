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
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from peerbayes._version import __version__
from peerbayes.commands.command import (
    BAD_INPUT,
    DONE,
    FAULT,
    INTERRUPTED,
    parsed_by_typer,
    print_lines,
)
from peerbayes.commands.table import COMMANDS

# The base of typer's usage errors, which older versions take from click and newer ones bring along.
_UsageError: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "UsageError"
)
_SAYS = "Predict how fast agents on a graph learn together, then measure it."
_HELP = {"help_option_names": ["-h", "--help"]}
_KEYS = "Keys and certificates of a live network's processes."


class Commands(TyperGroup):
    """The commands of a word, made when they are asked for, and listed by their headings."""

    prefix = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands, in their order."""
        names = [c.name.removeprefix(self.prefix).partition(" ")[0] for c in self._rows()]
        return list(dict.fromkeys(names))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, or None."""
        if not self.prefix and cmd_name == "keys":
            return _group(Keys, cmd_name, _KEYS)
        named = [c for c in self._rows() if c.name == self.prefix + cmd_name]
        return parsed_by_typer(named[0]) if named else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that words begin with; of a misspelt one the complaint says which."""
        if self.get_command(ctx, args[0]) is None:
            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            guess = f"; did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"No such command {args[0][:60]!r}{guess}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their summaries, heading by heading."""
        sections: dict[str, dict[str, str]] = {}
        for row in self._rows():
            name, *below = row.name.removeprefix(self.prefix).split()
            lines = sections.setdefault("Commands" if self.prefix else row.group, {})
            lines[name] = _KEYS if below else row.summary
        for heading, lines in sections.items():
            with formatter.section(heading):
                formatter.write_dl(list(lines.items()))

    def _rows(self) -> list[Any]:
        return [command for command in COMMANDS if command.name.startswith(self.prefix)]


class Keys(Commands):
    """The commands that begin with ``keys``."""

    prefix = "keys "


def _group(kind: type[Commands], name: str, words: str) -> Any:
    group = typer.Typer(name=name, add_completion=False, rich_markup_mode=None)

    def root(context: typer.Context) -> None:
        _help_if_bare(context)

    group.callback(cls=kind, help=words, invoke_without_command=True, context_settings=_HELP)(root)
    return typer.main.get_command(group)


def _help_if_bare(context: typer.Context) -> None:
    """Print help where no command follows."""
    if context.invoked_subcommand is None:
        print_lines(context.get_help() + "\n")
        raise typer.Exit


app = typer.Typer(
    name="peerbayes",
    help=_SAYS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        print_lines(f"peerbayes {__version__}\n")
        raise typer.Exit


@app.callback(
    cls=Commands,
    invoke_without_command=True,
    context_settings=_HELP,
    epilog="A command's own help: peerbayes COMMAND -h. Example: peerbayes analyse two-coins",
)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "-v",
            "--verbose",
            count=True,
            show_default=False,
            help="Log what is done; twice: in more detail.",
        ),
    ] = 0,
) -> None:
    if verbose:
        from peerbayes.terminal import log_to_standard_error

        log_to_standard_error(verbose)
    _help_if_bare(context)


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
    from peerbayes.start import (
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
