"""What workers do: the function of each name that the page can ask for.

Each takes the request, a table, and a callable for progress or None, and returns what goes to the
page as JSON. A ValueError is a refusal: one line that the page shows. Everything heavy is imported
by the function that needs it, so that the server can read the names without it.

Share links are read here too: a problem, and where its agents stand, in the part of an address
after ``#``. That part is a JSON text ``{"document", "positions"}``, deflated, in letters that
addresses take. No browser sends it anywhere; the page reads it, and so does the command line.
"""

from __future__ import annotations

import base64
import binascii
import json
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from theory.progress import Progress
from theory.validation import as_probability, fail

Request = dict[str, Any]
Function = Callable[[Request, Progress | None], Any]
FIRST = "p2-star"
"""The problem that is shown where none is given."""
MARK = "#problem="
_LARGEST_LINK, _LARGEST_TEXT = 2_000_000, 4_000_000


@dataclass(frozen=True)
class Work:
    """One thing that the page can ask for.

    Attributes
    ----------
    function
        What does it.
    long
        Whether it gets a process of its own, much time, and tells of its progress.
    patient
        Whether it gets much time all the same: a built-in problem may have to be trained first.
    """

    function: Function
    long: bool = False
    patient: bool = False


def _elsewhere(module: str, function: str) -> Function:
    """A function of another module, which is imported when it is first called."""

    def call(request: Request, progress: Progress | None) -> Any:
        return getattr(import_module(f"peerbayes.explorer.{module}"), function)(request, progress)

    return call


def start(request: Request, progress: Progress | None) -> Any:
    """What was given when the server was started.

    A document (of `pb.explore`), or text of the command line: a name, a file, or a share link.
    """
    from peerbayes.explorer.edits import edited

    given = request.get("problem") or FIRST
    if "document" in request:
        return _state(edited(request["document"], []))
    if is_link(given):
        linked = read_link(given)
        return _state(edited(linked["document"], [])) | {"positions": linked.get("positions")}
    return _loaded(given, progress)


def open_problem(request: Request, progress: Progress | None) -> Any:
    """A built-in problem by its name, or the text of a problem file."""
    from peerbayes.explorer.documents import opened
    from peerbayes.problem.reading import read_problem

    name, text = request.get("name"), request.get("text")
    if not isinstance(text, str):
        # Only names: a page may not ask for files.
        if not isinstance(name, str) or "/" in name or "\\" in name or Path(name).exists():
            wanted = "the name of a built-in problem"
            raise fail("name", wanted, repr(name)[:60], "choose one of them")
        return _loaded(name, progress)
    suffix = {"toml": ".toml", "json": ".json"}.get(str(request.get("format")), "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"problem{suffix}"
        path.write_text(text, encoding="utf-8")
        try:  # refused as the file would be
            return _state(opened(read_problem(path)))
        except ValueError as error:
            words = str(error).replace(f"{path}: ", "").replace(str(path), "the text")
            raise ValueError(words) from None


def edit(request: Request, progress: Progress | None) -> Any:
    """The document after some edits, and what is seen of it."""
    from peerbayes.explorer.documents import asked_about
    from peerbayes.explorer.edits import edited, named_anew
    from peerbayes.messages import describe

    edits = request.get("edits", [])
    if not isinstance(edits, list):
        raise fail("edits", "a list", describe(edits), "send one")
    before = asked_about(request)
    document = named_anew(before, edited(before, edits))
    wanted = request.get("numbers", True) is not False
    return _state(document, numbers=wanted, delta=request.get("delta"))


def save(request: Request, progress: Progress | None) -> Any:
    """The file of a document, as `pb.save` writes it."""
    from peerbayes.explorer.documents import asked_about, problem_of
    from peerbayes.problem.writing import write_problem
    from peerbayes.record_names import file_name

    problem, suffix = problem_of(asked_about(request)), request.get("format") or "toml"
    if suffix not in ("toml", "json"):
        raise fail("format", "toml or json", repr(suffix)[:60], "choose one of them")
    with tempfile.TemporaryDirectory() as folder:
        path = write_problem(problem, Path(folder) / f"problem.{suffix}")
        text = path.read_text(encoding="utf-8")
    return {"text": text, "file_name": Path(file_name(problem.name)).stem + f".{suffix}"}


def analyse(request: Request, progress: Progress | None, *, certify: bool = False) -> Any:
    """What `pb.analyse` says in doubles, all sample sizes included; or intervals that it proves."""
    from peerbayes.explorer.documents import asked_about, problem_of
    from peerbayes.kinds.registry import kind_of
    from peerbayes.settings.questions import Analyse

    problem = problem_of(asked_about(request))
    asked = Analyse(delta=request.get("delta"), certify=certify)
    result = kind_of(problem).analyse(problem, asked, progress).as_json()
    return {**result, "words": list(result.get("notes") or [])}


def _loaded(name: str, progress: Progress | None) -> Request:
    from peerbayes.explorer.documents import opened
    from peerbayes.problem.builtins.loading import load_problem

    return _state(opened(load_problem(name, progress=progress)))


def _state(document: Request, *, numbers: bool = True, delta: object = None) -> Request:
    from peerbayes.explorer.numbers import numbers_of
    from peerbayes.explorer.seen import view_of

    view = view_of(document)
    settings = {} if delta is None else {"delta": as_probability("delta", delta)}
    found = numbers_of(document, **settings) if numbers else None
    return {"document": document, "view": view, "numbers": found}


WORK: dict[str, Work] = {
    "start": Work(start, patient=True),
    "open": Work(open_problem, patient=True),
    "edit": Work(edit),
    "save": Work(save),
    "gallery": Work(_elsewhere("gallery", "gallery")),
    "story": Work(_elsewhere("gallery", "story")),
    "certify": Work(partial(analyse, certify=True), long=True),
    "analyse": Work(analyse, long=True),
    "run": Work(_elsewhere("runs", "run"), long=True),
    "design": Work(_elsewhere("designs", "design"), long=True),
}


def prepare() -> None:
    """Import what every answer needs."""
    import_module("peerbayes.kinds.registry")


def warm_steps() -> Iterator[Callable[[], object]]:
    """Steps after which everything is imported and compiled that the usual requests need."""
    seen: Request = {}

    def ask(name: str, **request: Any) -> Callable[[], object]:
        return lambda: WORK[name].function({"document": seen["document"], **request}, None)

    yield lambda: start({}, None)
    yield lambda: seen.update(open_problem({"name": "two-coins"}, None))
    for edit in ({"kind": "set-changes", "change": "links"}, {"kind": "set-faults", "faulty": [1]}):
        yield ask("edit", edits=[edit])
    yield ask("certify")
    yield ask("run", rounds=5, replicates=3, seed=0, truth=None)
    yield ask("design", objective="rate", constraints={}, seconds=5)
    yield lambda: open_problem({"name": "p1-regression"}, None)
    yield lambda: WORK["gallery"].function({}, None)


# Share links ------------------------------------------------------------------------------------


def is_link(text: str) -> bool:
    """Whether this is a share link, whole or damaged."""
    return text.startswith(("http://", "https://", MARK)) and MARK in text


def read_link(link: str) -> Request:
    """The table of a share link; its document is not checked.

    Raises
    ------
    ValueError
        If it is damaged or too long.
    """
    wanted, remedy = "a whole share link", "copy it again"
    if len(link) > _LARGEST_LINK:
        raise fail("PROBLEM", wanted, f"one of {len(link)} characters", "save a file instead")
    packed = link.partition(MARK)[2].strip()
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
        text = inflate.decompress(raw, _LARGEST_TEXT)
        if not inflate.eof:
            raise fail("PROBLEM", wanted, "one that is cut off or too long", remedy)
        table = json.loads(text)
    except (binascii.Error, zlib.error, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise fail("PROBLEM", wanted, "one that is damaged", remedy) from None
    if not isinstance(table, dict) or not isinstance(table.get("document"), dict):
        raise fail("PROBLEM", wanted, "one without a problem", remedy)
    return table
