"""What the page says of honest agents among faulty ones."""

from __future__ import annotations

from typing import Any

from peerbayes.figures.views import Fact, Section
from peerbayes.figures.wording import count, listed, number, percentage
from peerbayes.kinds.faulty.verify import FaultyVerification, honest_plot
from peerbayes.kinds.shared.view import verified_section


def faulty_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one verified problem with faulty agents."""
    record = FaultyVerification.record.read(entry)
    return verified_section(
        record, [honest_plot(record)], key=key, finding=_finding(record), facts=_facts(record)
    )


def _finding(record: Any) -> str:
    names = listed(record.analysis.faults.optimal_hypotheses, joint="or")
    faulty = len(record.analysis.faults.faulty)
    who = {0: "Nobody is faulty.", 1: "One agent is faulty."}.get(
        faulty, f"{faulty} agents are faulty."
    )
    return (
        f"{who} The others pool by {record.rule}; at the last round "
        f"{percentage(record.settled)} of them in all runs hold {names}, which is true."
    )


def _facts(record: Any) -> tuple[Fact, ...]:
    faults = record.analysis.faults
    facts = [
        Fact("Agents", count(record.analysis.network.agents)),
        Fact("Faulty", count(len(faults.faulty)), ", ".join(faults.faulty) or "nobody"),
        Fact("Rule", record.rule),
        Fact("Honest and right", percentage(record.settled), "at the last round"),
    ]
    if record.rates:
        rate = min(record.rates, key=lambda rate: rate.mean)  # as in the figure
        facts += [
            Fact("Rejected most slowly", rate.hypothesis, "the rates are of this hypothesis"),
            Fact("Rate, nobody faulty", number(rate.faultless), "averaging, predicted"),
            Fact("Rate, averaging", number(rate.averaging), "lowest of the honest, predicted"),
            Fact("Rate, guaranteed", number(rate.guaranteed), "by the rule"),
            Fact("Rate, measured", number(rate.lowest), "lowest of the honest"),
        ]
    if faults.robustness is not None:
        check = faults.robustness
        facts.append(Fact(f"{check.r}-robust graph", check.status))
    return tuple(facts)
