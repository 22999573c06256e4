"""The README as an index page shows it: links that are relative in the repository lead somewhere.

With `Repository` among the addresses of pyproject.toml they are absolute; until it is there, a link
is its words alone, and a picture its description.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<mark>!?)\[(?P<words>[^\]]*)\]\((?!https?:|#)(?P<target>[^)]+)\)")


def absolute(text: str, address: str | None) -> str:
    """Return a Markdown text whose links to files of the repository are absolute."""

    def link(match: re.Match[str]) -> str:
        if address is None:
            return match["words"]
        kind = "raw" if match["mark"] else "blob"
        return f"{match['mark']}[{match['words']}]({address}/{kind}/HEAD/{match['target']})"

    return LINK.sub(link, text)


class Readme(MetadataHookInterface):
    """Hand the README to the builder."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, address)}
