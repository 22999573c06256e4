"""What the page says of a network that changes: the same pictures, with influence in place of v."""

from __future__ import annotations

from peerbayes.figures.views import Fact, Section
from peerbayes.figures.wording import agents_with, number
from peerbayes.kinds.changing.analyse import CHANGING_NETWORK
from peerbayes.kinds.changing.verify import ChangingVerification
from peerbayes.kinds.shared.view import learning_plots, settles, verified_section
from peerbayes.quantities.learning import CHANGING_LEARNING
from peerbayes.quantities.showing import page_facts
from peerbayes.quantities.sizes import SAMPLES


def changing_view(entry: object, *, key: str) -> Section:
    """Everything the page says of one verified problem: `entry` is that of its record.

    Its facts are rates, what suffices, and whose data count most and least.
    """
    problem = ChangingVerification.record.read(entry)
    analysis = problem.analysis
    network = page_facts(CHANGING_NETWORK, analysis.network)
    influence = analysis.network.influence
    least = agents_with(influence, min(influence), analysis.network.names)
    settled = settles(analysis.learning, problem.settled)
    return verified_section(
        problem,
        learning_plots(problem),
        key=key,
        finding=f"{settled} What changes: {analysis.network.changes}.",
        facts=(
            *page_facts(CHANGING_LEARNING, analysis.learning).values(),
            *page_facts(SAMPLES, analysis.samples).values(),
            *(network[key] for key in ("agents", "total_influence", "influence")),
            Fact("Smallest influence", number(min(influence)), least),
        ),
    )
