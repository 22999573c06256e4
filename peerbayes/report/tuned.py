"""What the page says of `tuned`: its lines, and how each method was searched."""

from __future__ import annotations

from peerbayes.experiments.tuned_documents import TunedRun
from peerbayes.figures.views import Fact
from peerbayes.figures.wording import count
from peerbayes.report.run_view import RunView


def tuned_view(run: TunedRun, *, key: str) -> RunView:
    """Everything the page says of one record of `tuned`."""
    trials = [one for one in run.content.values() if one.purpose == "search"]
    broken = sum(bool(one.failed) for one in trials)
    facts = (
        Fact("Seeds", count(run.replicates), f"of each test, seed {run.seed}"),
        Fact("Trials", count(len(trials)), f"on validation data; {broken} broke down"),
        Fact("Net", "–".join(map(str, run.settings.hidden)), "units of the hidden layers"),
    )
    return RunView.of(run, facts, (), key=key)
