"""What one agent's process says: notices on standard error, reports on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from peerbayes.live.share import Share
from peerbayes.terminal import say, visible, write_out


class Teller:
    """Says what an agent has to say.

    Parameters
    ----------
    share
        Whose process it is.
    quiet
        No notices.
    json
        Each report as a line of JSON.
    """

    def __init__(self, share: Share, *, quiet: bool, json: bool) -> None:
        self._share, self._quiet, self._json = share, quiet, json

    def log(self, text: str) -> None:
        """One line of notice."""
        if not self._quiet:
            say(f"{self._share.agent}: {text}")

    def report(self, report: Mapping[str, Any]) -> None:
        """A report; nobody need be listening."""
        if self._json:
            with suppress(OSError):
                sys.stdout.write(json.dumps(report, separators=(",", ":")) + "\n")
                sys.stdout.flush()

    def last(self, report: Mapping[str, Any]) -> None:
        """The last report, for people."""
        if self._json:
            return
        belief = report["belief"]
        lines = [f"{self._share.problem}, agent {self._share.agent}: {report['round']} rounds"]
        if "probabilities" in belief:
            pairs = zip(self._share.content["hypotheses"], belief["probabilities"], strict=True)
            best = sorted(pairs, key=lambda pair: -pair[1])[:3]
            lines.append("believes  " + ", ".join(f"{name} {p:.4g}" for name, p in best))
        else:
            lines.append("measures  " + ", ".join(f"{k} {v}" for k, v in belief.items()))
        lines.append(f"poolings  {report['poolings']}, frames refused {_refused(report)}")
        write_out(visible("\n".join(lines) + "\n"))


def _refused(report: Mapping[str, Any]) -> str:
    """How many frames were refused, and why; what else was not taken, where there is any."""
    reasons = {reason: count for reason, count in report["refused"].items() if count}
    said = str(sum(reasons.values()))
    if reasons:
        said += f" ({', '.join(f'{reason} {count}' for reason, count in reasons.items())})"
    for what, count in (
        ("conflicts", report["receipts"]["conflict"]),
        ("lines of evidence refused", report["evidence"]["refused"]),
    ):
        said += f", {what} {count}" if count else ""
    if report["doubled"]:
        said += f", two processes spoke as {', '.join(report['doubled'])}"
    return said
