"""A command, made from its settings: the options, the help, and what becomes of the answer.

A `Command` is a row of the table `peerbayes.commands.table`. Its options are the fields of its
class of settings (`peerbayes.settings`), of which each says its domain and its help; what it does
is a function elsewhere. Modules of that function are imported when the command runs, and a
command's options are made when it is asked for, so that ``--help`` and a mistyped name answer at
once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from peerbayes.settings.declared import Declared, Settings, declared_in, flat_in, made_flat
from peerbayes.settings.domains import Domain, Flag, Place, Several
from peerbayes.settings.questions import SHARED, Images, Output, Seeded

if TYPE_CHECKING:
    from rich.console import RenderableType

    from peerbayes.kinds.registry import Result
    from peerbayes.terminal import Stages


# What commands print on standard output, and the exit codes they end with ------------------------


DONE, CHECK_FAILED, BAD_INPUT, FAULT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 70, 130, 141


def show(result: Result, *, json: bool, code: int = DONE) -> int:
    """Print a result as JSON, or as tables for people."""
    if json:
        return print_json(result.as_json(), code)
    return print_tables(result.tables(), code)


def print_json(result: Any, code: int = DONE) -> int:
    """Print a result as JSON."""
    import json

    from peerbayes.records import plain

    # Escapes for all but ASCII: valid wherever standard output goes.
    return _put(json.dumps(plain(result), indent=2, allow_nan=False) + "\n", code)


def print_tables(parts: Sequence[RenderableType], code: int = DONE) -> int:
    """Print a result for people."""
    from peerbayes.tables import render

    return _put(render(parts), code)


def print_lines(text: str, code: int = DONE) -> int:
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


# A command, made from its settings ---------------------------------------------------------------


# What every command takes, whether it has a use for it or not; help shows it where it has.
_EVERYWHERE = [*declared_in(Seeded), *(d for d in declared_in(Output) if d.name == "out")]
_EVERYWHERE += declared_in(Images)


@dataclass(frozen=True)
class Subject:
    """What a command is about: its argument without an option's name.

    Attributes
    ----------
    metavar, help
        How help calls it, and a line about it.
    default
        What it is if it is left out; it cannot be where this is ``...``.
    several
        Whether there may be any number of them, also none.
    reader
        The domain of its values; None for text.
    completes
        What a shell may complete it to: a function of `peerbayes.commands.completing`.
    """

    metavar: str
    help: str
    default: Any = ...
    several: bool = False
    reader: Domain | None = None
    completes: str = ""


@dataclass(frozen=True)
class Terminal:
    """How a command speaks: in JSON or for people, and whether it says how far it is."""

    json: bool
    quiet: bool
    stages: Stages

    def notice(self, text: str) -> None:
        """Say a sentence beside the result, unless quiet."""
        if not self.quiet:
            from peerbayes.terminal import say

            say(text)


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes
    ----------
    name, group
        What it is called, and the heading that it stands under in ``peerbayes --help``.
    summary, words
        A line in the list of commands, and what its own help says.
    settings
        The class whose fields are its options.
    does
        Where its function is, ``module:name``. With `speaks` the function takes (subject, settings,
        terminal) and returns an exit code or a result; otherwise it is a question of the front
        door, which takes (subject, settings) and returns a result.
    example
        A command line that works as it is.
    subject
        Its argument; None if there is none.
    leaves
        What is told below the tables, of the result's paths: "record", "report".
    speaks
        See `does`.
    team
        Whether processes of torchrun run it together, of which the first one speaks.
    """

    name: str
    group: str
    summary: str
    words: str
    settings: tuple[Callable[..., Settings], ...]
    does: str
    example: str
    subject: Subject | None = None
    leaves: tuple[str, ...] = ()
    speaks: bool = False
    team: bool = False

    @property
    def declared(self) -> dict[str, Declared]:
        """The settings that are options, by name."""
        every = (d for settings in self.settings for d in flat_in(settings))
        return {d.name: d for d in every if d.setting is not None}

    def run(self, **given: Any) -> int:
        """Answer a command line, whose values are given by name."""
        from peerbayes.terminal import Stages

        first = True
        speaking: tuple[type[ValueError], ...] = ()
        if self.team:
            from peerbayes.experiments.run import PartFailed, is_first_process

            first, speaking = is_first_process(), (PartFailed,)
        json, quiet = given.pop("json"), given.pop("quiet") or not first
        subject = given.pop("subject", None)
        try:
            with Stages(quiet=quiet) as stages:
                terminal = Terminal(json, quiet, stages)
                answer = self._answer(subject, self._asked(given, terminal), terminal)
        except ValueError as error:
            if first or isinstance(error, speaking):
                raise
            return BAD_INPUT  # the first process says why
        if isinstance(answer, int):
            return answer
        code = CHECK_FAILED if getattr(answer, "failed", False) else DONE
        if not first:
            return code
        show(answer, json=json, code=code)
        if self.leaves and not json:
            print_lines(
                "\n" + "".join(f"{n}: {getattr(answer, f'{n}_path')}\n" for n in self.leaves)
            )
        return code

    def _asked(self, given: dict[str, Any], terminal: Terminal) -> list[Settings]:
        """The settings of options."""
        asked = []
        for kind in self.settings:
            names = [d.name for d in declared_in(kind)]
            values = dict(given)
            if "progress" in names:
                values["progress"] = terminal.stages
            if "notice" in names and not terminal.quiet:
                values["notice"] = terminal.notice
            asked.append(made_flat(kind, values))
        return asked

    def _answer(self, subject: Any, asked: list[Settings], terminal: Terminal) -> Any:
        module, _, name = self.does.partition(":")
        function = getattr(import_module(module), name)
        subjects = [] if self.subject is None else [subject]
        if self.speaks:
            return function(*subjects, *asked, terminal)
        return function(*subjects, *asked)


# Options -----------------------------------------------------------------------------------------


def parsed_by_typer(command: Command) -> TyperCommand:
    """The command as what reads a command line."""
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    wanted = [_subject(command.subject)] if command.subject else []
    wanted += [_option(d) for d in command.declared.values() if d.said.group != SHARED]
    wanted += [_switch("json", "JSON on standard output alone.")]
    wanted += [_option(d) for d in command.declared.values() if d.said.group == SHARED]
    wanted += [_option(d, hidden=True) for d in _EVERYWHERE if d.name not in command.declared]
    wanted += [_switch("quiet", "No progress, no notices.")]

    def run(**given: Any) -> int:
        return command.run(**{name: _plain(name, value) for name, value in given.items()})

    def _plain(name: str, value: Any) -> Any:
        declared = command.declared.get(name)
        if declared is not None and isinstance(declared.said.domain, Several):
            return tuple(value or ())
        # An option that is there or not: where it is not, the default may be None.
        return declared.default if declared is not None and value is False else value

    parameters = sorted(wanted, key=lambda p: p.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    made.command(
        name=command.name.rpartition(" ")[2],
        cls=GroupedOptions,
        help=command.words,
        short_help=command.summary,
        epilog=f"Example: {command.example}",
        context_settings={"help_option_names": ["-h", "--help"]},
    )(run)
    found = typer.main.get_command(made)
    assert isinstance(found, TyperCommand)
    return found


class GroupedOptions(TyperCommand):
    """A command whose help lists its options under their headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by heading."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            heading = "Arguments" if parameter.param_type_name == "argument" else "Options"
            panel = getattr(parameter, "rich_help_panel", None)
            sections.setdefault(panel or heading, []).append(record)
        first = ("Arguments", "Options")
        for heading, records in sorted(sections.items(), key=lambda one: one[0] not in first):
            with formatter.section(heading):
                formatter.write_dl(records)


def _option(declared: Declared, *, hidden: bool = False) -> inspect.Parameter:
    """One setting as typer takes it."""
    setting = declared.said
    panel = setting.group or None
    hidden = hidden or setting.hidden
    default = declared.command_default
    words: dict[str, Any] = {"help": setting.help, "rich_help_panel": panel, "hidden": hidden}
    kind: Any
    if isinstance(setting.domain, Flag):
        kind, default = bool, bool(default)
    else:
        words["metavar"] = setting.metavar or setting.domain.metavar
        kind = str | None
        if isinstance(setting.domain, Several):
            kind, default = list[str] | None, default or None
            if declared.default is MISSING:
                kind, default = list[str], MISSING
        else:
            kind, words["parser"] = Any, reading(setting.domain)
        if isinstance(setting.domain, Place):
            words["autocompletion"] = _completed_by("paths")
    option = typer.Option(declared.option, **words)
    return _parameter(declared.name, Annotated[kind, option], default)


def _switch(name: str, words: str) -> inspect.Parameter:
    option = typer.Option(f"--{name}", help=words, rich_help_panel=SHARED)
    return _parameter(name, Annotated[bool, option], False)


def _subject(subject: Subject) -> inspect.Parameter:
    words: dict[str, Any] = {"metavar": subject.metavar, "help": subject.help}
    if subject.completes:
        words["autocompletion"] = _completed_by(subject.completes)
    kind: Any = list[str] | None if subject.several else str
    default = None if subject.several else MISSING if subject.default is ... else subject.default
    if default is None and not subject.several:
        kind = str | None
    if subject.reader is not None:
        words["parser"] = reading(subject.reader)
        kind = list[Path] | None if subject.several else Path
    return _parameter("subject", Annotated[kind, typer.Argument(**words)], default)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    empty = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=empty
    )


def _completed_by(name: str) -> Callable[[str], list[str]]:
    """What completes a word, loaded when a shell asks."""

    def complete(incomplete: str) -> list[str]:
        found = getattr(import_module("peerbayes.commands.completing"), name)(incomplete)
        return list(found)

    return complete


def reading(domain: Domain) -> Callable[[object], Any]:
    """A parser of an option's text, which complains as all of them do."""

    def parse(text: object) -> Any:
        try:
            return domain.read(str(text))
        except ValueError:
            wanted = f"expected {domain.wanted}, got {str(text)[:60]!r}"
            raise typer.BadParameter(wanted) from None

    return parse
