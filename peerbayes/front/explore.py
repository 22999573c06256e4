"""`pb.explore`: a problem on a page of this machine's browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peerbayes.explorer.serving import Explorer
    from peerbayes.problem.problems import AnyProblem


def explore(
    problem: AnyProblem | str | Path | None = None,
    *,
    open_browser: bool = True,
    port: int = 0,
    seconds: float = 300,
    data: str | Path | None = None,
    frame: str | None = None,
) -> Explorer:
    """Show a problem on a page, where it can be seen, moved and designed.

    The page is served on the loopback address, from a thread, until ``.stop()`` or the end of the
    program; in a notebook the result is a link.

    Parameters
    ----------
    problem
        Of any kind, or the name or the file of one; a built-in one if left out.
    open_browser
        Open the page in a browser of this machine, if it has one with windows.
    port
        Any that is free if 0.
    seconds
        Time that one long computation may take, positive.
    data
        Folder of the image files, for built-ins that need them.
    frame
        The origin of a notebook, such as ``"http://localhost:8888"``, whose pages may show this
        one in a frame; the result is then a frame. Left out: nobody may.

    Returns
    -------
    Explorer
        With ``.address``, ``.wait()`` and ``.stop()``; a context manager.

    Raises
    ------
    ValueError
        If the problem cannot be read or shown, the port is in use, or a package is missing
        (``pip install -c constraints.txt '.[explore]'``).
    RuntimeError
        If the problem cannot be shown by a fault of this program.

    Examples
    --------
    >>> with explore("two-coins", open_browser=False) as page:
    ...     page.address.startswith("http://127.0.0.1:")
    True
    """
    from peerbayes.explorer.serving import serve
    from peerbayes.front.problems import as_problem
    from peerbayes.problem.writing import document_of

    first: dict[str, Any] = {}
    if isinstance(problem, str | Path):
        first = {"problem": str(problem)}
    elif problem is not None:
        first = {"document": document_of(as_problem(problem))}
    folder = None if data is None else Path(data)
    page = serve(first, port=port, seconds=seconds, data=folder, frame=frame)
    try:
        page.check()
        if open_browser:
            page.open()
    except BaseException:
        page.stop()
        raise
    return page
