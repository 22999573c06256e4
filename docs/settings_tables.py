"""Reference of commands and settings, made from where they are declared.

As a Sphinx extension it gives pages written in Markdown some directives:

    ```{settings} design
    ```

is a command's usage, what it does, and the table of its options, each with its keyword in Python,
what it is where it is left out, and what it means; of `every`, the options of all commands; with
the name of a section of problem files, `[design]`, the table of its keys. `{modules}` is what some
modules and folders of a package, whose names follow, say of themselves.

`{commands}` is the table of all commands, `{experiments}` that of the papers' experiments,
`{builtins}` that of problems that go by name, `{claims}` that of the published statements with
their verdicts, `{kinds}` which kind of problem answers which question.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from peerbayes.commands.command import Command
from peerbayes.commands.table import COMMANDS
from peerbayes.experiments.registry import EXPERIMENTS
from peerbayes.kinds.registry import KINDS
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.problem.problems import WORDS
from peerbayes.problem.specification import DesignSection
from peerbayes.settings.declared import Declared, declared_in
from peerbayes.settings.domains import Flag
from peerbayes.settings.questions import SHARED
from theory.claims import CLAIMS
from theory.claims.claim import PROJECT

WIDEST = 94  # letters of a formula in the table of claims
# Options of every command, of which the page says once what they are.
EVERYWHERE = ("seed", "out", "force", "data", "batch")


def table(command: str) -> Iterator[str]:
    """Yield the lines of the table of a command's options, or a section's keys, in Markdown.

    Raises
    ------
    ValueError
        If there is no such command.
    """
    if command == "[design]":
        yield "| key | | left out |"
        yield "|---|---|---|"
        for name, key in DesignSection.model_fields.items():
            left_out = "" if key.default in (None, (), False) else f"`{key.default}`"
            yield f"| `{name}` | {key.description} | {left_out} |"
        return
    if command == "every":
        shared = {name: one for command in COMMANDS for name, one in command.declared.items()
                  if one.said.group == SHARED and name in EVERYWHERE}  # fmt: skip
        yield from rows([shared[name] for name in EVERYWHERE])
        return
    named = [one for one in COMMANDS if one.name == command]
    if not named:
        raise ValueError(f"settings: expected a command, got {command!r}")
    yield f"`{usage(named[0])}`"
    yield ""
    yield named[0].words
    yield ""
    groups = {one.name: d.name for kind in named[0].settings for d in declared_in(kind)
              if d.group for one in declared_in(d.group)}  # fmt: skip
    options = [d for d in named[0].declared.values() if not d.said.hidden]
    # Those of every command stand once, at the top of the page.
    options = [d for d in options if d.said.group != SHARED or d.name not in EVERYWHERE]
    yield from rows(options, groups)


def rows(
    options: Sequence[Declared], groups: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield the lines of a table of settings, if there are any; `groups` are those of Python."""
    if options:
        yield "| option | in Python | left out | |"
        yield "|---|---|---|---|"
    for declared in options:
        yield row(declared, groups.get(declared.name, ""))


def usage(command: Command) -> str:
    """Return how a command is called."""
    subject = "" if command.subject is None else f" {command.subject.metavar}"
    return f"peerbayes {command.name}{subject}"


def overview() -> Iterator[str]:
    """Yield the lines of the table of all commands."""
    yield "| command | does |"
    yield "|---|---|"
    for command in COMMANDS:
        yield f"| `{usage(command)}` | {command.summary} |"


def experiments() -> Iterator[str]:
    """Yield the lines of the table of the papers' experiments."""
    yield "| experiment | what | source |"
    yield "|---|---|---|"
    for one in EXPERIMENTS.values():
        yield f"| `{one.name}` | {one.title} | {one.source} |"


def builtins() -> Iterator[str]:
    """Yield the lines of the table of built-in problems."""
    yield "| name | what | variants |"
    yield "|---|---|---|"
    for family in BUILTINS.values():
        others = [f"`{name}`" for name in family.variants if name != family.name]
        more = f" and {len(others) - 4} more" if len(others) > 5 else ""
        shown = others[:4] if more else others
        yield f"| `{family.name}` | {family.title} | {', '.join(shown)}{more} |"


def claims() -> Iterator[str]:
    """Yield the lines of the table of claims; formulas too wide for a table are said in words.

    Of what does not hold as it stands, the table says when it does, and what is right in its place.
    """
    yield "| claim | verdict | what it says | holds if | right is | where |"
    yield "|---|---|---|---|---|---|"
    for claim in CLAIMS.values():
        formula = claim.statement.replace("|", r"\vert ")
        says = f"${formula}$" if len(formula) <= WIDEST else claim.words
        if sentence := re.fullmatch(r"\\text\{([^{}]*)\}", claim.statement):
            says = f"“{sentence[1]}”"
        where = re.sub(rf"{PROJECT}: mathematics/([\w-]+)", r"[here](\1.md)", claim.source)
        where = where.replace("section ", "").replace("appendix", "app.")
        amended = claim.condition, claim.repaired
        condition, repaired = (re.sub(r"([|*_<])", r"\\\1", words) for words in amended)
        cells = f"`{claim.key}`", claim.verdict, says, condition, repaired, where
        yield f"| {' | '.join(cells)} |"


def kinds() -> Iterator[str]:
    """Yield the lines of the table of which kind of problem answers which question."""
    yield f"| | {' | '.join(WORDS[kind.problem] for kind in KINDS)} |"
    yield f"|---|{'---|' * len(KINDS)}"
    options = [f"analyse --{name}" for name in KINDS[0].options]
    for question in ("analyse", *options, "simulate", "verify", "design", "place"):
        name, _, option = question.partition(" --")
        answered = (option in k.options if option else name in k.answers for k in KINDS)
        yield f"| `{question}` | {' | '.join('yes' if one else '–' for one in answered)} |"


def modules(package: str, *names: str) -> Iterator[str]:
    """Yield the lines of the table of some modules and folders of a package: what each is.

    Raises
    ------
    ValueError
        If there is none of a name.
    """
    home = Path(import_module(package).__path__[0])  # wherever these pages lie
    yield f"| in `{package}` | |"
    yield "|---|---|"
    for name in names:
        place = home / name
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if not file.is_file():
            raise ValueError(f"modules: expected a module of {package}, got {name!r}")
        says = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        line = re.sub("`+", "`", says.partition("\n")[0])
        yield f"| `{name}{'/' if place.is_dir() else ''}` | {line} |"


def row(declared: Declared, group: str) -> str:
    """Return the line of one setting, which Python has in a group if one is named."""
    setting = declared.setting
    assert setting is not None
    flag = isinstance(setting.domain, Flag)
    value = "" if flag else f" {setting.metavar or setting.domain.metavar}"
    default = declared.command_default
    given = flag or default in (None, (), MISSING)
    left_out = "" if given else f"`{default}`"
    keyword = f"{group}.{declared.name}" if group else declared.name
    cells = f"`{declared.option}{value}`", f"`{keyword}`", left_out, setting.help
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


class Settings(SphinxDirective):
    """The directives."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        holder = nodes.container()
        source, line = self.get_source_info()
        tables = {"commands": overview, "experiments": experiments}
        tables |= {"builtins": builtins, "claims": claims, "kinds": kinds}
        if self.name in tables:
            found = tables[self.name]()
        elif self.name == "modules":
            found = modules(self.arguments[0], *" ".join(self.content).split())
        else:
            found = table(self.arguments[0])
        lines = StringList("\n".join(found).split("\n"), source=f"{source}:{line}")
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the directives."""
    for name in ("settings", "modules", "commands", "experiments", "builtins", "claims", "kinds"):
        app.add_directive(name, Settings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
