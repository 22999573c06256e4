"""Which file is whose: paths that a net file names, and the agents that they belong to."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from theory.validation import fail

_WILD = re.compile(r"[*?\[]")
# Names that a message lists.
_NAMED = 12

Item = TypeVar("Item")


def files_of_agents(
    files: Sequence[str] | dict[str, str],
    *,
    folder: Path,
    agents: int,
    names: Sequence[str] | None,
) -> dict[str, Path]:
    """The path of each agent, by name, in the network's order.

    A file's agent is called like the file, without its ending; where files in several folders are
    called alike, like the folder; or, where the network's names say so, like what the ``*`` of the
    pattern stands for. Without names in the network, agents are in the order of their names, with
    numbers in them read as numbers.

    Parameters
    ----------
    files
        A pattern or paths, relative to `folder`; or paths by agent.
    agents, names
        The network's number of agents, and their names if they have some.

    Raises
    ------
    ValueError
        If a pattern matches nothing, there are not as many files as agents, two agents have one
        name, or the names are others than the network's.
    """
    if isinstance(files, dict):
        found = {name: folder / path for name, path in files.items()}
        return in_order(found, agents=agents, names=names, what="files")
    paths = [path for entry in files for path in _matching(entry, folder)]
    twice = next((path for k, path in enumerate(paths) if path in paths[:k]), None)
    if twice is not None:
        raise fail("data.files", "each file once", f"{twice} twice", "leave one out")
    if len(paths) != agents:
        shown = ", ".join(path.name for path in paths[:_NAMED])
        shown += ", …" if len(paths) > _NAMED else ""
        raise fail(
            "data.files",
            f"{agents} files, one for each agent of the network",
            f"{len(paths)} ({shown})",
            "change the pattern, or the number of agents",
        )
    called = _names(paths)
    if names is not None and set(called) != set(names) and len(files) == 1:
        starred = _starred(files[0], paths, folder)
        called = starred if set(starred) == set(names) else called
    return in_order(
        dict(zip(called, paths, strict=True)),
        agents=agents,
        names=names,
        what="files",
        sort=len(files) == 1,
    )


def in_order(
    found: dict[str, Item],
    *,
    agents: int,
    names: Sequence[str] | None,
    what: str,
    sort: bool = False,
) -> dict[str, Item]:
    """What belongs to agents by name, in the order of the network's names, if it has names.

    Raises
    ------
    ValueError
        If there are not as many as agents, or their names are others than the network's.
    """
    shown = ", ".join(list(found)[:_NAMED]) + (", …" if len(found) > _NAMED else "")
    if len(found) != agents:
        wanted = f"{agents} agents, as the network has"
        remedy = "change the data, or the number of agents"
        raise fail(f"data.{what}", wanted, f"{len(found)} ({shown})", remedy)
    if names is None:
        order = sorted(found, key=natural) if sort else list(found)
        return {name: found[name] for name in order}
    absent = [name for name in names if name not in found]
    if absent:
        wanted = f"the names of the network, {absent[0]!r} among them"
        remedy = "rename one of them, or name the files of each agent in a table"
        raise fail(f"data.{what}", wanted, shown, remedy)
    return {name: found[name] for name in names}


def natural(name: str) -> list[tuple[int, int | str]]:
    """A key that sorts names with the numbers in them read as numbers.

    >>> sorted(["site-10", "site-9"], key=natural)
    ['site-9', 'site-10']
    """
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", name)]


def _matching(entry: str, folder: Path) -> list[Path]:
    """The paths that a pattern stands for; itself if it is a file, or has no wild cards."""
    # os.path: False too for what cannot be a name.
    if not _WILD.search(entry) or os.path.exists(folder / entry):
        return [folder / entry]
    anchor = Path(entry)
    if anchor.is_absolute():
        folder, entry = Path(anchor.anchor), str(anchor.relative_to(anchor.anchor))
    try:
        found = sorted(folder.glob(entry), key=lambda path: natural(str(path)))
    except (ValueError, NotImplementedError) as error:
        remedy = "write a pattern such as hospital-*.csv"
        raise fail("data.files", "a pattern", f"{entry!r} ({error})", remedy) from None
    found = [path for path in found if not path.name.startswith(".")]
    if not found:
        wanted = f"files that match {entry!r}"
        raise fail("data.files", wanted, f"none in {folder}", "correct the pattern")
    return found


def _names(paths: Sequence[Path]) -> list[str]:
    """What agents are called by their files: the files' names, or those of their folders."""
    for called in ([p.stem if p.suffix else p.name for p in paths], [p.parent.name for p in paths]):
        if len(set(called)) == len(called):
            return called
    stems = [path.stem for path in paths]
    twice = next(k for k, stem in enumerate(stems) if stem in stems[:k])
    raise fail(
        "data.files",
        "files of distinct names, one an agent",
        f"{paths[stems.index(stems[twice])]} and {paths[twice]}",
        'rename one, or name each agent\'s file: files = { mast = "a.csv", … }',
    )


def _starred(pattern: str, paths: Sequence[Path], folder: Path) -> list[str]:
    """What the only star of a pattern stands for in each path; nothing if it has none, or two."""
    if len(_WILD.findall(pattern)) != 1 or "*" not in pattern:
        return []
    whole = re.compile("(.+)".join(re.escape(part) for part in pattern.split("*")))
    texts = [
        path.as_posix() if Path(pattern).is_absolute() else path.relative_to(folder).as_posix()
        for path in paths
    ]
    return [found[1] for text in texts if (found := whole.fullmatch(text))]
