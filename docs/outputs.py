"""Put whole outputs into pages: run a page's commands and examples when the site is built.

The source of a page shows of an output what the tests insist on (tests/pages.py), and `...` for the
rest. Its reader gets all of it: each command with everything that it prints, each example in Python
with what it prints below, each picture that an example draws and the page shows by the file's name.
A page that fails stops the build, and so does a picture without a description.

As a Sphinx extension it fills the pages that `outputs_pages` names, unless `outputs_run` is off. To
see one page as its reader will:

    python docs/outputs.py docs/quickstart.md
"""

from __future__ import annotations

import base64
import contextlib
import doctest
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE_BLOCK = re.compile(
    r"\b[Ss]ave\b[^`\n]*\bas `(?P<name>[\w.-]+)`[^\n]*:\n\n```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CODE_BLOCK = re.compile(
    r"^```(?P<language>python|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
PICTURE = re.compile(r"^!\[(?P<description>[^\]]*)\]\((?P<name>[\w-]+\.svg)\)$", re.MULTILINE)
DESCRIPTION = re.compile(r"!\[[^\]`]*\]\(")
SECONDS = 300  # a page's command that takes minutes does not belong on the page
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMBA")}
# What takes long to import, and what nearly every page does; a page may be without some of it.
PRELOADED = (
    *("numpy", "scipy.stats", "scipy.optimize", "scipy.sparse.linalg", "numba", "sympy", "flint"),
    *("networkx", "pydantic", "rich.console", "matplotlib.pyplot", "sklearn.datasets", "torch"),
)


# A page's terminal ------------------------------------------------------------------------------


def split_session(text: str) -> list[tuple[str, str]]:
    """Split a terminal session into (command, output shown)."""
    pieces = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if pieces[0].strip():
        raise ValueError(f"a console block starts with '$ ', not with {pieces[0]!r}")
    commands = []
    for piece in pieces[1:]:
        command, _, shown = piece.partition("\n")
        commands.append((command.strip(), shown))
    return commands


def run_command(command: str) -> tuple[str, int]:
    """Run a command; return what it prints (errors too where it fails) and its exit code.

    `peerbayes ...` without a shell's help runs in this process, which saves its start; that a
    process prints the same is a test of its own.
    """
    if arguments := own_arguments(command):
        return run_here(arguments)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        encoding="utf-8",
        env=terminal(),
        timeout=SECONDS,
        check=False,
    )
    code = done.returncode
    return done.stdout + done.stderr if code else done.stdout, code  # progress is not shown


def own_arguments(command: str) -> list[str]:
    """Return the words of a `peerbayes` command that needs no shell but for `> file` at its end."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "quoted", command)  # in quotes, signs stand for themselves
    needs_shell = re.search(r"[|&;()<*?\[{~#]|\d>|>.*>", bare) or re.search(r"[$`\\]", command)
    words = shlex.split(command) if not needs_shell else []
    to_file = ">" in bare and words[-2:-1] != [">"]
    return words if words[:1] == ["peerbayes"] and not to_file else []


def run_here(words: list[str]) -> tuple[str, int]:
    """Run one of our commands in this process, as if in a page's terminal."""
    from peerbayes.cli import main

    words, file = (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)
    printed, said, before = io.StringIO(), io.StringIO(), dict(os.environ)
    os.environ.update(terminal())
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            code = main(words[1:])
    finally:
        os.environ.clear()
        os.environ.update(before)
    output = printed.getvalue()
    if file is not None:
        Path(file).write_text(output, encoding="utf-8")
        output = ""
    return output + said.getvalue() if code else output, code


def terminal() -> dict[str, str]:
    """Return the environment of a page's terminal: plain, 100 columns, this source tree first."""
    path = [str(Path.cwd() / ".bin"), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return {
        **os.environ,
        "PATH": os.pathsep.join(path),
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "OPENBLAS_NUM_THREADS": "1",
    }


@contextlib.contextmanager
def page_folder() -> Iterator[None]:
    """Work in an empty folder, in which `peerbayes` is this source tree's command."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="peerbayes-page-") as folder:
        os.chdir(folder)
        try:
            command = Path(".bin/peerbayes")
            command.parent.mkdir()
            command.write_text(
                f'#!/bin/sh\nexec "{sys.executable}" -m peerbayes "$@"\n', encoding="utf-8"
            )
            command.chmod(0o755)
            yield
        finally:
            os.chdir(before)


# A page, filled ---------------------------------------------------------------------------------


def fill(text: str) -> str:
    """Return a page with what its commands and examples print, run in the current folder.

    Raises
    ------
    RuntimeError
        If a command fails, and the page does not show its exit code.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    saved = {match.start("text"): match for match in FILE_BLOCK.finditer(text)}
    blocks = {match.start("text"): match for match in CODE_BLOCK.finditer(text)}
    parts, position = [], 0
    for start in sorted(saved | blocks):
        if start in saved:
            file = saved[start]
            Path(file["name"]).write_text(file["text"], encoding="utf-8")
            continue
        block = blocks[start]
        parts.append(text[position : block.start()])
        run = session if block["language"] == "console" else example
        parts.append(run(block["text"], names))
        position = block.end()
    return PICTURE.sub(drawn, "".join([*parts, text[position:]]))


def drawn(picture: re.Match[str]) -> str:
    """Return a picture that the page drew, put into the page itself."""
    content = base64.b64encode(Path(picture["name"]).read_bytes()).decode()
    return f"![{picture['description']}](data:image/svg+xml;base64,{content})"


def session(text: str, names: dict[str, Any]) -> str:
    """Return a block for each command with all that it prints."""
    del names
    shown: list[str] = []
    code = 0
    commands = [command for command, _ in split_session(text)]
    for command, after in zip(commands, [*commands[1:], ""], strict=True):
        if command == "echo $?":
            shown[-1] += f"$ {command}\n{code}\n"
            code = 0
            continue
        output, code = run_command(command)
        if code and after != "echo $?":
            raise RuntimeError(f"$ {command}\nexited with {code}:\n{output}")
        shown.append(f"$ {command}\n{output}")
    return "\n\n".join(fenced("console", piece) for piece in shown)


def example(text: str, names: dict[str, Any]) -> str:
    """Return an example with what it prints below; one with prompts shows that by itself."""
    source = f"```python\n{text}```"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if text.lstrip().startswith(">>>"):
            for step in doctest.DocTestParser().get_examples(text):
                # A refusal that the page shows is no failure; that it is the one is for tests.
                with contextlib.suppress(*([Exception] if step.exc_msg else [])):
                    exec(compile(step.source, "page", "single", dont_inherit=True), names)
            return source
        exec(compile(text, "page", "exec", dont_inherit=True), names)
    return f"{source}\n\n{fenced('text', printed.getvalue())}" if printed.getvalue() else source


def fenced(language: str, text: str) -> str:
    """Return a block of code whose long lines and many lines are scrolled, not cut."""
    body = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return f"````{{code-block}} {language}\n:class: output\n\n{body}\n````"


# Sphinx -----------------------------------------------------------------------------------------


def fill_in_processes(pages: Sequence[Path]) -> list[str]:
    """Return pages filled, each by a process of its own, as many at once as there are cores.

    Pages share nothing but what is imported before: one interpreter loads the libraries, and every
    page is a fork of it, on one thread.

    Raises
    ------
    RuntimeError
        If a page fails, with what went wrong on the first that did.
    """
    with tempfile.TemporaryDirectory(prefix="peerbayes-pages-") as folder:
        done = subprocess.run(
            [sys.executable, __file__, *map(str, pages), "--into", folder],
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [Path(folder, str(k)).read_text(encoding="utf-8") for k in range(len(pages))]


def fill_in_forks(pages: Sequence[Path], into: Path, *, at_once: int) -> str:
    """Fill pages in forks of this process, each into a file called by its number.

    Returns
    -------
    str
        The page that failed first and why; empty if none did. No page is begun after it.
    """
    # Few pages import what they need themselves.
    for library in PRELOADED if len(pages) > 2 * at_once else ():
        with contextlib.suppress(ImportError):
            import_module(library)
    waiting, running = list(enumerate(pages)), {}
    while waiting or running:
        while waiting and len(running) < at_once:
            number, page = waiting.pop(0)
            child = os.fork()
            if not child:
                os._exit(_fill_one(page, into / str(number)))
            running[child] = number
        ended, status = os.wait()
        number = running.pop(ended)
        if status:
            for child in running:
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)
            file = into / f"{number}.error"
            why = file.read_text(encoding="utf-8") if file.is_file() else f"status {status}"
            return f"{pages[number]}:\n{why}"
    return ""


def _fill_one(page: Path, target: Path) -> int:
    """Fill a page into a file; 1 if it fails, with the reason in a file beside."""
    try:
        text = page.read_text(encoding="utf-8")
        with page_folder():
            filled = fill(text)
        target.write_text(filled, encoding="utf-8")
    except BaseException:
        target.with_suffix(".error").write_text(traceback.format_exc(), encoding="utf-8")
        return 1
    return 0


def fill_pages(app: Any, env: Any, docnames: list[str]) -> None:
    """Run all pages that are to be read and filled."""
    pages = {}
    if app.config.outputs_run:
        for name in docnames:
            path = Path(env.doc2path(name))
            if any(fnmatch(name, pattern) for pattern in app.config.outputs_pages):
                text = path.read_text(encoding="utf-8")
                if CODE_BLOCK.search(text) and not text.startswith("---"):  # a notebook runs itself
                    pages[name] = path
    filled = fill_in_processes(list(pages.values())) if pages else []
    app.filled_pages = dict(zip(pages, filled, strict=True))


def put_filled(app: Any, name: str, source: list[str]) -> None:
    """Read the filled page in place of its source; of what was not drawn, the description."""
    text = app.filled_pages.get(name, source[0])
    text = PICTURE.sub(r"*\g<description>*", text)
    # Lines of a description would be joined without a space.
    source[0] = DESCRIPTION.sub(lambda found: found[0].replace("\n", " "), text)


def check_pictures(app: Any, page: Any) -> None:
    """Refuse a page with a picture that has no description."""
    from docutils import nodes

    for picture in page.findall(nodes.image):
        if not picture.get("alt", "").strip():
            where = app.env.docname
            raise RuntimeError(f"{where}: a picture without a description, for who cannot see it")


def setup(app: Any) -> dict[str, bool]:
    """Connect to the build."""
    app.add_config_value("outputs_pages", [], "env")
    app.add_config_value("outputs_run", True, "env")
    app.connect("env-before-read-docs", fill_pages)
    app.connect("source-read", put_filled)
    app.connect("doctree-read", check_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main(*pages: str, into: str | None = None) -> int:
    """Print a page as its reader will see it; fill many into files of a folder."""
    if into is not None:
        failed = fill_in_forks([*map(Path, pages)], Path(into), at_once=os.cpu_count() or 1)
        sys.stderr.write(failed)
        return int(bool(failed))
    text = Path(pages[0]).read_text(encoding="utf-8")
    with page_folder():
        filled = fill(text)
    sys.stdout.write(filled)
    return 0


if __name__ == "__main__":
    given = sys.argv[1:]
    several = given[-2:-1] == ["--into"]
    sys.exit(main(*given[:-2], into=given[-1]) if several else main(*given))
