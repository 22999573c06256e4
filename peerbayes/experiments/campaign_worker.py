"""One part of a campaign in a process of its own: ``python -m … ORDER``, an order in JSON.

What there is to say goes to standard output, a line of JSON each: ``{"done", "total"}``,
``{"words"}``, and at the end ``{"kept"}`` or ``{"failed"}``. The process ends when its standard
input does: nobody is left at work when the campaign is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from peerbayes.experiments.campaign_plan import selected
from peerbayes.experiments.campaign_state import Campaign
from peerbayes.experiments.record_lines import is_held
from peerbayes.experiments.run import keep_part, kept_part
from peerbayes.experiments.setting import lock_of
from peerbayes.experiments.short_records import write_short
from peerbayes.terminal import say

FAILED, ORPHANED = 2, 3
PATIENCE = 10.0  # seconds


class _Reports:
    """Progress, as lines of JSON."""

    def __call__(self, done: int, total: int) -> None:
        _tell({"done": done, "total": total})

    def say(self, words: str) -> None:
        """The accuracy so far, in words."""
        _tell({"words": words})


def run_order(order: dict[str, Any]) -> Path:
    """Run the part that is ordered, or read it back, and keep its short record.

    Raises
    ------
    ValueError
        If it fails; in one line.
    """
    data = order["data"]
    campaign = Campaign(
        Path(order["out"]),
        Path(order["records"]),
        order["device"],
        None if data is None else Path(data),
    )
    (task,) = (task for task in selected(order["task"]) if task.name == order["task"])
    experiment = campaign.experiment(task)
    notice = replace(experiment.setting, notice=say)
    experiment = experiment.with_setting(notice)
    name, out = task.part.name, campaign.out
    content = kept_part(experiment, name, seed=0, replicates=1, out=out).content
    if content is None:
        experiment.check()
        _wait_for(lock_of(task.part, experiment.setting.folder or out))
        content = keep_part(experiment, name, seed=0, replicates=1, out=out, progress=_Reports())
    return write_short(campaign.records, experiment, name, content)


def _wait_for(lock: Path) -> None:
    """Give the worker of a killed campaign time to end."""
    deadline = time.monotonic() + PATIENCE
    while is_held(lock) and time.monotonic() < deadline:
        time.sleep(0.1)


def main() -> int:
    """Run the order on the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign is interrupted, and ends this
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        path = run_order(json.loads(sys.argv[1]))
    except (ValueError, OSError, MemoryError) as error:
        _tell({"failed": " ".join(str(error).split()) or type(error).__name__})
        return FAILED
    _tell({"kept": str(path)})
    return 0


def _tell(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(ORPHANED)


if __name__ == "__main__":
    sys.exit(main())
