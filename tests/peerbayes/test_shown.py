"""Problems and results print in at most 12 lines of 80 columns, and as small tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import peerbayes as pb
from peerbayes.designs.outcome import DesignOutcome
from peerbayes.documents import Documented
from peerbayes.front.run import redraw
from peerbayes.kinds.registry import KINDS
from peerbayes.kinds.shared.verify import Verified
from peerbayes.problem.problems import NetworkAlone
from peerbayes.quantities.showing import Result
from peerbayes.sources.catalogue import FIGURES
from tests.house.test_showing import check_html, check_text
from theory.robustness import Faults, Median, StuckData

COIN = pb.FiniteAgent.from_tables(truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]])
COINS = pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[5])
RING = pb.Network.from_topology("complete", agents=5)
PROBLEMS = {
    "finite": pb.problem_of(RING, COINS, name="five", title="five coins"),
    "changing": pb.problem_of(pb.RandomLinks(RING, 0.8), COINS, name="lossy"),
    "faulty": pb.problem_of(RING, COINS, faults=Faults({2: StuckData(1)}, Median()), name="stuck"),
    "regression": pb.load("p1-regression"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Of every function one for each kind of problem that it takes."""
    held: list[object] = [*PROBLEMS.values()]
    for kind, problem in PROBLEMS.items():
        held.append(pb.analyse(problem))
        held.append(pb.simulate(problem, rounds=5, replicates=3))
        held.append(pb.design(problem, replicates=0))
        if kind != "changing":
            held.append(pb.place(problem, replicates=0))
    alone = NetworkAlone("five agents", RING)
    held += [alone, pb.analyse(alone)]
    two = pb.load("two-coins")
    held += [pb.analyse(two, exact=True), pb.analyse(two, certify=True, rounds=5)]
    held += [pb.analyse("p1-regression", exact=True)]
    held.append(pb.design(pb.load("p2-grid"), objective="next-edge"))
    held += [pb.formula("star"), pb.formula("star", agents=9, edge_confidence="1/2")]
    held += [pb.formula("star", samples=True), pb.formula("risk", span=2)]
    held.append(pb.learn(PROBLEMS["finite"], [[0, 1, 0, 1, 1], [1, 1, 0, 0, 0]]))
    nowhere = tmp_path_factory.mktemp("figures")  # so that nothing but the list is made
    unseen = [name for name in FIGURES if not name.endswith(("1a", "1b", "1c"))]
    held.append(redraw(unseen, records=nowhere, out=nowhere))
    verified = pb.verify("two-coins")
    return [*held, verified, *verified.verifications]


def test_what_users_hold_is_short(results: list[object]) -> None:
    for value in results:
        text = check_text(value)
        check_html(value)
        assert text.startswith(type(value).__name__)
        assert len(text) > 60, "a few numbers, not a name alone"


def test_every_kind_of_result_is_among_them(results: list[object]) -> None:
    assert {kind.problem for kind in KINDS} <= set(map(type, results))
    # A fact of another, what the command alone prints, and long runs; a training is shown where one
    # is at hand, in nets.
    apart = {
        *("AtRounds", "CampaignResult", "Check", "LaunchOutcome", "Routed", "RunOutcome"),
        *("TrainOutcome", "WatchOutcome"),
    }

    def concrete(kind: type) -> Iterator[type]:
        below = kind.__subclasses__()
        yield from (c for sub in below for c in concrete(sub)) if below else [kind]

    made = {kind.__name__ for kind in map(type, results)}
    # Pages of the documentation, run in the same process, define kinds of their own.
    ours = [
        k
        for k in (*concrete(Documented), *concrete(Result))
        if k.__module__.startswith("peerbayes.")
    ]
    for kind in (*ours, *concrete(DesignOutcome)):
        assert kind.__name__ in made | apart
    for kind in concrete(Verified):
        assert kind._facts is Verified._facts, "as the one that is made above"


def test_thousands_of_agents_are_as_short() -> None:
    ring = pb.Network.from_topology("ring", agents=3000)
    model = pb.FiniteModel.from_agents([f"h{m}" for m in range(2)], [COIN], counts=[3000])
    problem = pb.problem_of(ring, model, name="x" * 200, title="many " * 50)
    check_text(problem)
    check_html(problem)
    check_text(pb.simulate(problem, rounds=2, replicates=1))


def test_an_analysis_says_what_counts() -> None:
    found = pb.analyse("two-coins")
    document = found.as_json()
    lines = dict(line.strip().split("  ", 1) for line in repr(found).split("\n")[1:])
    assert float(lines["rate K"]) == pytest.approx(document["learning"]["rate"], rel=1e-5)
    assert float(lines["exponent E"]) == pytest.approx(
        document["learning"]["error_exponent"], rel=1e-5
    )
    assert int(lines["samples, chernoff"]) == document["samples"]["chernoff"]
    assert lines["settles on"].strip() == "('fair',)"
    assert np.isfinite(document["learning"]["rate"])


def axes() -> Axes:
    return Figure().add_subplot()


def test_plots_are_drawn_on_the_axes_given_or_on_new_ones() -> None:
    for problem in PROBLEMS.values():
        given = axes()
        assert problem.plot(given) is given
        assert given.collections
        assert isinstance(problem.plot(), Axes)
    plt.close("all")
    with pytest.raises(ValueError, match="ax: expected Axes of matplotlib, got Figure"):
        PROBLEMS["finite"].plot(Figure())  # type: ignore[arg-type]
    star = pb.load("p2-star").plot(axes())
    width, height = np.ptp([star.get_xlim(), star.get_ylim()], axis=1)
    assert abs(width - height) < 1e-9, "a star is as wide as high, and narrow axes have no margin"
    faulty = PROBLEMS["faulty"].plot(axes())
    assert len({tuple(colour) for colour in faulty.collections[-1].get_facecolor()}) == 2


def test_a_network_too_large_to_draw_says_so() -> None:
    ring = pb.Network.from_topology("ring", agents=200)
    model = pb.FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[200])
    with pytest.raises(ValueError, match="plot: expected something small enough to draw"):
        pb.problem_of(ring, model).plot(axes())


def test_a_simulation_plots_its_means_with_their_errors() -> None:
    found = pb.simulate(PROBLEMS["finite"], rounds=5, replicates=30, seed=2)
    drawn = found.plot(axes())
    run = found.simulation
    line = next(line for line in drawn.lines if len(line.get_xdata()) == len(run.rounds))
    assert np.array_equal(line.get_xdata(), run.rounds)
    assert np.array_equal(line.get_ydata(), run.network_mean[:, 1])
    bars = drawn.collections[0].get_segments()
    half = [(bar[1][1] - bar[0][1]) / 2 for bar in bars]
    assert np.allclose(half, 2 * run.network_standard_error[:, 1], rtol=1e-12)
    legend = drawn.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["loaded"]


def test_an_analysis_plots_its_sample_sizes() -> None:
    found = pb.analyse("two-coins")
    texts = [text.get_text() for text in found.plot(axes()).texts]
    for size in (found.samples.chernoff, found.samples.repaired):
        assert any(f": {size.rounds} rounds" in text for text in texts)
    lower, upper = found.as_json()["samples"]["certified"]
    assert f"certified, both ends: {lower} to {upper} rounds" in texts


def test_other_results_plot_what_they_measured() -> None:
    errors = pb.simulate("p1-regression", rounds=8, replicates=5)
    drawn = errors.plot(axes())
    assert np.array_equal(drawn.lines[0].get_ydata(), errors.simulation.network_error)
    verified = pb.verify("two-coins", seed=1)
    (one,) = verified.verifications
    rates = verified.plot(axes())
    measured = [float(line.get_xdata()[0]) for line in rates.lines if line.get_marker() == "o"]
    assert measured == [rate.measured for rate in one.as_record().rates]
    design = pb.design("two-coins", replicates=200)
    labels = [text.get_text() for text in design.plot(axes()).get_legend().get_texts()]
    assert labels[0].startswith("designed, against")
    assert any(label.startswith("as given") for label in labels) or len(labels) == 1
    bare = pb.design("p1-regression", replicates=0)
    assert bare.plot(axes()).collections
    with pytest.raises(ValueError, match="plot: expected a design of one network"):
        pb.design("p2-grid", objective="next-edge").plot(axes())


def facts_of(value: object) -> dict[str, str]:
    rows = [line[2:].split("  ", 1) for line in repr(value).splitlines()[1:]]
    return {name: text.strip() for name, text in rows}


def test_a_design_says_what_to_use_and_what_it_costs() -> None:
    design = pb.design("two-coins", objective="mixing", replicates=0)
    found, told = design.document(), facts_of(design)
    advice, given = found.recommended, found.baselines["as given"].samples.certified
    assert told["use"] == f"the weights {advice.network!r}"
    assert told["certified rounds"] == (
        f"{given[0]} to {given[1]} as given, {advice.designed:g} designed, {advice.value:g} uniform"
    )
    assert told["cost"] == "the objective mixing costs 20 rounds"
    assert told["cost"] in advice.sentence  # which the command prints
    assert told["certificate"].endswith("any design: at least 0")
    assert told["cost"] in design._repr_html_()


def test_a_design_may_leave_all_as_it_is() -> None:
    kept = facts_of(pb.design("p2-grid", objective="next-edge", replicates=0))
    assert kept["use"] == "no new edge: leave the network as it is"
    assert kept["certified rounds"] == "54 to 61 as it is, 53 to 62 with the best edge"
    path = pb.Network(pb.Network.from_topology("path", agents=5).weights, names=[*"abcde"])
    line = pb.problem_of(path, COINS, name="line")
    added = pb.design(line, objective="next-edge", replicates=0)
    first, second = added.document().added[0].edge
    assert facts_of(added)["use"] == f"add {'abcde'[first]} - {'abcde'[second]}"
