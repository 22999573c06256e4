"""Collect the code in the documentation and in docstrings as tests (see tests/pages.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil.integration.pytest import SybilItem

from tests.pages import docstrings, pages

collect_examples = (pages + docstrings).pytest()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect the examples of a file; one of code without any, like most, is not parsed."""
    if file_path.suffix == ".py" and b">>>" not in file_path.read_bytes():
        return None
    return collect_examples(file_path, parent)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the examples of a page together and in order, since they share names."""
    examples: dict[Path, list[SybilItem]] = {}
    for item in items:
        if isinstance(item, SybilItem):
            examples.setdefault(item.path, []).append(item)
    ordered: list[pytest.Item] = []
    for item in items:
        if isinstance(item, SybilItem):
            ordered += sorted(examples.pop(item.path, []), key=lambda one: one.example.start)
        else:
            ordered.append(item)
    items[:] = ordered
