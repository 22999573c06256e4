"""What a shell completes: names of files, and of built-in problems and experiments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def paths(incomplete: str) -> list[str]:
    """Files and folders whose names begin so; folders end with a slash."""
    folder, _, name = incomplete.rpartition("/")
    above = f"{folder}/" if "/" in incomplete else ""
    return sorted(_beginning(Path(above or "."), above, name))


def _beginning(folder: Path, above: str, name: str) -> Iterator[str]:
    try:
        entries = list(folder.iterdir())
    except OSError:  # no such folder, or none that may be read
        return
    for entry in entries:
        if entry.name.startswith(name) and (name or not entry.name.startswith(".")):
            yield f"{above}{entry.name}{'/' * entry.is_dir()}"


def problems(incomplete: str) -> list[str]:
    """Built-in problems, and files."""
    from peerbayes.problem.builtins.families import BUILTINS

    return [*(name for name in BUILTINS if name.startswith(incomplete)), *paths(incomplete)]


def experiments(incomplete: str) -> list[str]:
    """Experiments of the papers."""
    from peerbayes.experiments.registry import EXPERIMENTS

    return [name for name in EXPERIMENTS if name.startswith(incomplete)]
