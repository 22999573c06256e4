"""A section for each figure of the papers, written into a page before it is read.

`{figures} p1` stands for a heading of every figure of that source, with the anchor by which other
pages refer to it and the cell that draws it, in the order of `peerbayes.sources.catalogue`.
"""

from __future__ import annotations

import re
from typing import Any

PLACE = re.compile(r"^```\{figures\} (\w+)\n```$", re.MULTILINE)
SECTION = """\
({name})=
### {title}

```{{code-cell}} python
source_figures.show("{name}")
```
"""


def expanded(text: str) -> str:
    """Return a page with the sections of its figures.

    Raises
    ------
    ValueError
        If there is no figure of a source that the page names.
    """
    from peerbayes.sources.catalogue import FIGURES

    def sections(place: re.Match[str]) -> str:
        own = {name: one.source for name, one in FIGURES.items() if name.startswith(f"{place[1]}-")}
        if not own:
            raise ValueError(f"figures: expected a source of {list(FIGURES)}, got {place[1]!r}")
        return "\n".join(SECTION.format(name=name, title=title) for name, title in own.items())

    return PLACE.sub(sections, text)


def put_sections(app: Any, name: str, source: list[str]) -> None:
    """Read the page with its sections."""
    del app, name
    source[0] = expanded(source[0])


def setup(app: Any) -> dict[str, bool]:
    """Connect to the build."""
    app.connect("source-read", put_sections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
