"""Reference of commands and settings, made from where they are declared.

As a Sphinx extension it gives pages written in Markdown three directives:

    ```{settings} design
    ```

is a command's usage, what it does, and the table of its options, each with its keyword in Python,
what it is where it is left out, and what it means; with the name of a section of problem files,
`[design]`, the table of its keys. `{commands}` is the table of all commands, `{experiments}` that
of the papers' experiments, `{builtins}` that of problems that go by name, `{claims}` that of the
published statements with their verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from peerbayes.commands.command import Command
from peerbayes.commands.table import COMMANDS
from peerbayes.experiments.registry import EXPERIMENTS
from peerbayes.problem.builtins.families import BUILTINS
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
    """Yield the lines of the table of claims; formulas too wide for a table are said in words."""
    yield "| claim | verdict | what it says | where |"
    yield "|---|---|---|---|"
    for claim in CLAIMS.values():
        formula = claim.statement.replace("|", r"\vert ")
        says = f"${formula}$" if len(formula) <= WIDEST else claim.words
        if sentence := re.fullmatch(r"\\text\{([^{}]*)\}", claim.statement):
            says = f"“{sentence[1]}”"
        where = re.sub(rf"{PROJECT}: mathematics/([\w-]+)", r"[here](\1.md)", claim.source)
        where = where.replace("section ", "").replace("appendix", "app.")
        yield f"| `{claim.key}` | {claim.verdict} | {says} | {where} |"


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

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        holder = nodes.container()
        source, line = self.get_source_info()
        tables = {"commands": overview, "experiments": experiments}
        tables |= {"builtins": builtins, "claims": claims}
        found = tables[self.name]() if self.name in tables else table(self.arguments[0])
        lines = StringList("\n".join(found).split("\n"), source=f"{source}:{line}")
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the directives."""
    for name in ("settings", "commands", "experiments", "builtins", "claims"):
        app.add_directive(name, Settings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
