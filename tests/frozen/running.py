"""Run a case, and return its goldens; commands run in this process, as in a page's terminal."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.frozen.cases import Case
from tests.frozen.normal import SOMETIMES, Replacements, lines_of, normal, page_of
from tests.frozen.store import Golden

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = Path(__file__).parent / "problems"
BAD_INPUT = 2
# A plain terminal of fixed width; one thread; the images where they were before.
TERMINAL = {
    **{"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "MPLBACKEND": "agg"},
    **{f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")},
}


class ImagesError(Exception):
    """MNIST and Fashion-MNIST are not on this machine; says what the command said."""


def goldens_of(case: Case) -> list[Golden]:
    """Run a case and return what it says.

    Raises
    ------
    ImagesError
        If it needs images that are not here.
    """
    if case.group == "certificates":
        from tests.frozen.certificates import family

        found = family(case.name.removeprefix("certificates: "))
        return [Golden(case.name, name, content) for name, content in found.items()]
    if case.group == "replays":
        from tests.frozen.replays import frozen_replay

        return [Golden(case.name, "told", frozen_replay(case.name.removeprefix("replay: ")))]
    return [Golden(case.name, what, content) for what, content in command(case)]


def command(case: Case) -> Iterator[tuple[str, Any]]:
    """Run a command, and yield each of its outputs and what it is called."""
    refused = False
    if "json" in case.outputs:
        with folder_of(case) as places:
            said = run([*case.words, "--json", "--quiet"])
            refused = said["code"] == BAD_INPUT
            if refused and case.images and "images" in said["err"]:
                raise ImagesError(said["err"].strip())
            yield "json", {**printed(said, places), "files": files_left()}
            for name in files_left():
                yield from left(name, places)
            for name in case.files:
                yield f"file {name}", lines_of(Path(name).read_text(encoding="utf-8"), places)
            if "report" in case.outputs and not refused:
                yield from report(places)
    if "text" in case.outputs and not refused:
        with folder_of(case) as places:
            yield "text", in_lines(run(case.words), places)


def report(places: Replacements) -> Iterator[tuple[str, Any]]:
    """Run `report` on the records that a command left; yield what it prints, and the page."""
    records = [name for name in files_left() if name.endswith(".json")]
    shown = [name for name in records if "kind" in json.loads(Path(name).read_text("utf-8"))]
    if shown:
        yield "report", in_lines(run(["report", *shown, "--out", "page", "--quiet"]), places)
        for page in sorted(Path("page").glob("*.html")):
            yield "report page", page_of(page.read_text(encoding="utf-8"), places)


@contextlib.contextmanager
def folder_of(case: Case) -> Iterator[Replacements]:
    """Work in a folder with the problem files, after the commands that come before the case."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="peerbayes-frozen-") as name:
        folder = Path(name).resolve()
        places = [(str(folder), "FOLDER"), (str(ROOT), "REPOSITORY")]
        if images := os.environ.get("PEERBAYES_DATA"):
            places.append((images, "IMAGES"))
        try:
            os.chdir(folder)
            for path in PROBLEMS.iterdir():
                shutil.copy(path, folder)
            for words in case.before:
                run(Case(case.group, words).words)
            yield tuple(places)
        finally:
            os.chdir(before)


def run(words: list[str]) -> dict[str, Any]:
    """Run a command; return its exit code and what it writes to both streams."""
    from peerbayes.cli import main

    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("ignore")  # Python shows one once a process
        code = main(words)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def in_lines(said: dict[str, Any], places: Replacements) -> dict[str, Any]:
    """Return what a command said, line by line."""
    lines = {name: lines_of(said[name], places) for name in ("out", "err")}
    return {"code": said["code"], **lines}


def printed(said: dict[str, Any], places: Replacements) -> dict[str, Any]:
    """Return what a command said, standard output read as JSON where it is JSON."""
    lines = in_lines(said, places)
    with contextlib.suppress(json.JSONDecodeError):
        lines["out"] = normal(finite(json.loads(said["out"])), places)
    return lines


def finite(value: Any) -> Any:
    """Return a document in which numbers that JSON lacks, if any, are texts."""
    return json.loads(json.dumps(value), parse_constant=str)


def files_left() -> list[str]:
    """Return the files that a command left, down to those in a folder; not the problem files."""
    found = [path for pattern in ("*", "*/*") for path in Path().glob(pattern) if path.is_file()]
    ours = {path.name for path in PROBLEMS.iterdir()}
    return sorted(
        path.as_posix()
        for path in found
        if not (len(path.parts) == 1 and path.name in ours) and not SOMETIMES.fullmatch(str(path))
    )


def left(name: str, places: Replacements) -> Iterator[tuple[str, Any]]:
    """Yield a record or a page that a command left; other files are only listed."""
    path = Path(name)
    if path.suffix == ".json":
        yield f"record {name}", normal(finite(json.loads(path.read_text("utf-8"))), places)
    elif path.suffix == ".html":
        yield f"page {name}", page_of(path.read_text(encoding="utf-8"), places)
