"""A solver that did not reach the accuracy it was asked for, and the best it found."""

from __future__ import annotations

from typing import Any


class DesignFailed(RuntimeError):  # noqa: N818 - reads as what happened
    """No design of the accuracy asked for was found.

    Attributes
    ----------
    status
        What went wrong, in a word or two, such as ``"stalled"``.
    tried
        The methods that were tried, in order.
    best
        The best feasible design found, with its certificate; None if there is none.

    Examples
    --------
    >>> failure = DesignFailed("stalled", tried=("barrier",), best=None, remedy="ask for less")
    >>> str(failure)
    'stalled: tried barrier; found no feasible design; ask for less'
    """

    def __init__(self, status: str, *, tried: tuple[str, ...], best: Any, remedy: str) -> None:
        certificate = getattr(best, "certificate", None)
        if certificate is not None:
            kept = f"kept a design of {certificate.value:.9g} in `best`, at most "
            kept += f"{certificate.gap:.1e} from optimal"
        else:
            kept = "found no feasible design" if best is None else "kept a design in `best`"
        super().__init__(f"{status}: tried {', '.join(tried)}; {kept}; {remedy}")
        self.status = status
        self.tried = tried
        self.best = best
