"""Tables of options and keywords, made from the settings that they are declared in.

As a Sphinx extension it gives pages written in Markdown a directive,

    ```{settings} design
    ```

which becomes the table of that command's options: each with its keyword in Python, what it is where
it is left out, and what it means. With the name of a section of problem files, `[design]`, it
becomes the table of its keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from peerbayes.commands.table import COMMANDS
from peerbayes.problem.specification import DesignSection
from peerbayes.settings.declared import Declared
from peerbayes.settings.domains import Flag


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
    yield "| option | in Python | left out | |"
    yield "|---|---|---|---|"
    for declared in named[0].declared.values():
        if declared.setting is not None and not declared.setting.hidden:
            yield row(declared)


def row(declared: Declared) -> str:
    """Return the line of one setting."""
    setting = declared.setting
    assert setting is not None
    flag = isinstance(setting.domain, Flag)
    value = "" if flag else f" {setting.metavar or setting.domain.metavar}"
    default = declared.command_default
    given = flag or default in (None, (), MISSING)
    left_out = "" if given else f"`{default}`"
    cells = f"`{declared.option}{value}`", f"`{declared.name}`", left_out, setting.help
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


class Settings(SphinxDirective):
    """The directive."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        holder = nodes.container()
        source, line = self.get_source_info()
        lines = StringList(list(table(self.arguments[0])), source=f"{source}:{line}")
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the directive."""
    app.add_directive("settings", Settings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
