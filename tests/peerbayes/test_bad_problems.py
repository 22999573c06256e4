"""Every kind of bad problem file gets one line: the place, what was expected, what to do."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from peerbayes.cli import main
from tests.peerbayes.commands import Capture, assert_says, complaint_of
from tests.peerbayes.documents import COINS, GAUSSIAN, REMOVE, TWO_COINS, changed
from tests.peerbayes.regressions import LINE, NORMAL

COIN = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}


def coins(network: dict[str, Any], agents: int) -> dict[str, Any]:
    """Agents with alike coins on a network."""
    model = {"hypotheses": ["fair", "loaded"], "agents": [{"count": agents, **COIN}]}
    return {"name": "coins", "network": network, "model": model}


PAIR = coins({"weights": [["1/2", "1/2"]] * 2}, 2)
RING = coins({"topology": "ring", "agents": 5, "rule": "metropolis"}, 5)
CROWD = coins({"topology": "ring", "agents": 5000, "rule": "metropolis"}, 5000)
TORUS = coins({"topology": "torus", "shape": [3, 3], "rule": "metropolis"}, 9)
TOSSES = tomllib.loads(TWO_COINS)

HALF = [["1/2", "1/2"], ["1/2", "1/2"]]
TURN = [["0", "1"], ["1", "0"]]
PUSH = {"behaviour": "push", "hypothesis": "loaded", "strength": "1"}

# Of a good problem, an entry that is changed and to what, and what is said of it.
Case = tuple[str, object, str]

NETWORKS: list[Case] = [
    ("network.weights.1", ["3/5", "1/5"],
     "network.weights[1]: expected exact numbers … sum of 4/5 = 0.8 … mend the row"),
    ("network.weights.1", ["3/5", "400000000000000001/1000000000000000000"],
     "network.weights[1] … exactly 1"),
    ("network.weights.0", [0.9, 0.2], "network.weights[0] … a sum of 1.1 … mend the row"),
    ("network.weights.0", ["11/10", "-1/10"],
     "network.weights[0][1] … at least 0, got -1/10 … make it non-negative"),
    ("network.weights.0.0", float("inf"),
     "network.weights[0][0] … a finite number, got inf … replace it"),
    ("network.weights.0.0", float("nan"),
     "network.weights[0][0] … a finite number, got nan … replace it"),
    ("network.weights.1", ["3/5", "1/5", "1/5"],
     "network.weights[1] … 2 numbers … got 3 … make the matrix square"),
    ("network.weights", [["1/2", "1/2"]],
     "network.weights[0] … 1 numbers … got 2 … make the matrix square"),
    ("network.weights.0", "1/2",
     "network.weights[0]: expected a list, got '1/2' … square brackets"),
    ("network.weights", [], "network.weights … at least one entry … fill"),
    ("network.weights", [["1", "0"], ["1/2", "1/2"]], "network.weights: expected … irreducible"),
    ("network.weights", [["0", "1"], ["1", "0"]], "network.weights: expected … period"),
    ("network.weights.0.0", "nine tenths",
     "network.weights[0][0]: expected a number … 'nine tenths' … write a decimal"),
    ("network.weights.0.0", True, "network.weights[0][0] … true … give a number"),
    ("network.weights.0.0", "1/0", "network.weights[0][0] … '1/0' … mend the denominator"),
    ("network.weights.0.0", "1e999999999",
     "network.weights[0][0] … '1e999999999' … write a decimal"),
    ("network.weights.0", ["1e-310", "1"], "network.weights[0][0] … 1e-300 … rescale"),
    ("network.weights.0", [1.0, 1e-320],
     "network.weights[0][1] … 1e-300 … got 9.99989e-321 … rescale"),
    ("network.topology", "ring", "weights and topology … keep one"),
    ("network", {}, "network: expected exactly one of … add one"),
    ("network", {"weigths": [[1]]}, "network … weigths … did you mean 'weights'?"),
    ("network.agents", 2, "network.agents … weights, normalise, got 'agents'; remove it or"),
    ("network", {"sequence": []}, "network.sequence … at least one entry … fill it in"),
    ("network", 3, "network: expected a table, got 3 … [network]"),
    ("network", REMOVE, "network: expected the key 'network' … add it"),
    ("network", {"topology": "rign", "agents": 2},
     "network.topology … got 'rign' … did you mean 'ring'?"),
    ("network", {"topology": "ring"}, "network … agents"),
    ("network", {"topology": "path", "agents": 2, "edge_confidence": "1/2"},
     "network.edge_confidence"),
    ("network", {"edges": [[0, 1]], "agents": 2, "rule": "metropolitan"},
     "network.rule … 'metropolitan' … did you mean 'metropolis'?"),
    ("network", {"edges": [[0, 1], [1, 2]], "agents": 2},
     "network.edges[1][1] … an agent from 0 to 1, got 2 … raise network.agents"),
    ("network", {"edges": [[0, 1, 1]], "agents": 2}, "network.edges[0] … at most 2 … remove"),
    ("network", {"edges": [[0, 1.5]], "agents": 2},
     "network.edges[0][1] … a whole number, got 1.5 … give a whole number"),
    ("network", {"edges": [[0, 0]], "agents": 2}, "network"),
    ("network", {"topology": "ring", "agents": 10**30},
     "network.agents: expected … at most 10000000, got 1000 … use 10000000 or fewer"),
    ("network", {"edges": [[0, 1]], "agents": 10**30},
     "network.agents: expected … at most 10000000, got 1000 … use 10000000 or fewer"),
    ("network", {"topology": "torus", "shape": [3] * 60},
     "network.shape: expected at most 24 sides, got 60"),
    ("network", {"topology": "grid", "shape": [10**9, 10**9]},
     "network.shape: expected … at most 10000000, got 1000"),
    ("network", {"topology": "tree", "agents": 2, "branching": 10**30},
     "network.branching: expected … at most 10000000, got 1000"),
    ("network", {"topology": "geometric", "agents": 10**6, "radius": 0.5},
     "network.radius: expected at most 2e+08 links … use at most 0.008"),
    ("network.topology", "\udfff", "weights and topology"),
    ("network", {"edges": [[0, 1]], "agents": 2, "directd": True},
     "network.directd … did you mean 'directed'?"),
]  # fmt: skip

MODELS: list[Case] = [
    ("model.agents.0.count", 2, "model.agents: expected 2 agents … got 3 … change a count"),
    ("model.agents.0.count", 0, "model.agents[0].count … at least 1, got 0 … make it larger"),
    ("model.agents.0.count", "2",
     "model.agents[0].count … a whole number, got '2' … without quotation marks"),
    ("model.agents.1.likelihood.1", [["1", "0"]],
     "model.agents[1].likelihood[1][0][1] … the truth there is 0.5 … positive likelihood"),
    ("model.agents.1.truth", [["1/2", "1/3"]],
     "model.agents[1].truth[0] … a sum of 5/6 … mend the row"),
    ("model.agents.0.truth", [["3/2", "-1/2"]],
     "model.agents[0].truth[0][1] … at least 0, got -1/2 … make it non-negative"),
    ("model.agents.0.truth", "fare", "model.agents[0].truth … 'fare' … did you mean 'fair'?"),
    ("model.agents.1.likelihood.0", [["1/2", "1/4"]],
     "model.agents[1].likelihood[0][0] … a sum of 3/4 … mend the row"),
    ("model.agents.0.likelihood", [["1/2", "1/2"], ["3/4", "1/4"]],
     "model.agents[0].likelihood[0][0]: expected a list, got '1/2' … square brackets"),
    ("model.agents.0.likelihood", [[["1/2", "1/2"]]],
     "model.agents[0].likelihood … a list of 2 … got 1 … make it 2 long"),
    ("model.agents.0.inputs", ["1/2", "1/2"],
     "model.agents[0].truth … a list of 2 (one row for each input), got 1"),
    ("model.agents.0.likelihood.1", [["1/2", "1/4", "1/4"]],
     "model.agents[0].likelihood[1][0] … a list of 2 … got 3"),
    ("model.agents.0.inputs", ["1/2"], "model.agents[0].inputs … a sum of 1/2 … mend the row"),
    ("model.agents.0.prior", ["1/3", "1/3", "1/3"],
     "model.agents[0].prior … a list of 2 (one for each hypothesis), got 3"),
    ("model.agents.0.prior", ["1", "0"],
     "model.agents[0].prior[1] … above 0, got 0 … give 'loaded' some prior"),
    ("model.agents.0.prior", ["1/2", "1/3"], "model.agents[0].prior … a sum of 5/6 … mend the row"),
    ("model.hypotheses", ["fair", "fair"],
     "model.hypotheses[1] … names that differ, got 'fair' … rename"),
    ("model.hypotheses", ["fair"], "model.hypotheses … at least 2 … add"),
    ("model.hypotheses.0", 1, "model.hypotheses[0]: expected text, got 1 … quotation marks"),
    ("name", "a\ud800b",
     "name: expected text of whole Unicode characters, got 'a\\ud800b' … retype it"),
    ("model.agents.0.count", 10**30, "model.agents: expected 2 agents … change a count"),
    ("name", "", "name: expected a name … give it a name"),
    ("model.agents.0.likelyhood", [], "model.agents[0].likelyhood … did you mean 'likelihood'?"),
    ("titel", "x", "titel: expected one of the keys … did you mean 'title'?"),
    ("model.zzz", 1, "model.zzz … hypotheses, agents … remove it"),
    ("model.agents.0.likelihood", REMOVE,
     "model.agents[0].likelihood: expected the key 'likelihood', got none … add it"),
    ("model", REMOVE, "model: expected a table [model], or [regression] … add what agents see"),
    ("regression", {}, "exactly one of the tables … both … keep one"),
    ("model.agents", {}, "model.agents: expected a list, got a table"),
    ("model.agents.0", 7, "model.agents[0]: expected a table, got 7"),
]  # fmt: skip

GAUSSIANS: list[Case] = [
    ("model.agents.0.truth", REMOVE,
     "model.agents[0] … exactly one of truth … got neither … add one"),
    ("model.agents.0.truth_mean", ["0", "1"],
     "model.agents[0] … exactly one of truth … got both … keep one"),
    ("model.agents.0.truth_std", "1",
     "model.agents[0] … truth_std only beside truth_mean … leave truth_std out"),
    ("model.agents.0.likelihood_std", "1e-300",
     "model.agents[0]: std: expected a size of 1e-100 to 1e100 … rescale"),
    ("model.agents.0.likelihood_mean.1", ["1e300", "0"],
     "model.agents[0]: means: expected log-likelihood ratios below 1e100 nats … rescale"),
    ("model.agents.0.likelihood_std", "0",
     "model.agents[0].likelihood_std … above 0, got 0 … make it positive"),
    ("model.agents.1.likelihood_mean.1", ["1", "2"],
     "model.agents[1].likelihood_mean[1] … a list of 1 … got 2"),
    ("model.agents.1.truth_mean", ["1", "2"], "model.agents[1].truth_mean … a list of 1 … got 2"),
    ("model.agents.1.likelihood_mean", [["1"]],
     "model.agents[1].likelihood_mean … a list of 2 … got 1"),
    ("model.agents.1.truth_sdt", "1", "model.agents[1].truth_sdt … did you mean 'truth_std'?"),
]  # fmt: skip

PHASES: list[Case] = [
    ("network", {"sequence": [{"weights": [["1", "0"], ["0", "1"]]}]}, "{0} … {1}"),
    ("network", {"sequence": [{"weights": HALF, "active": [0]}]}, "agent … 1 … likelihood"),
    ("network", {"sequence": [{"weights": TURN}] * 2}, "network"),
    ("network", {"sequence": [{"weights": HALF}, {"weights": [["1"]]}]},
     "network.sequence[1].weights … 2 rows"),
    ("network", {"sequence": [{"weights": HALF, "active": [2]}]},
     "network.sequence[0].active[0] … from 0 to 1"),
    ("network",
     {"sequence": [{"weights": HALF}], "probabilities": ["1"], "transition": [["1"]]},
     "at most one law"),
    ("network", {"sequence": [{"weights": HALF}], "probabilities": ["1/2", "1/2"]},
     "network.probabilities … 1 phases"),
    ("network", {"sequence": [{"weights": HALF}], "transition": [["1/2", "1/2"]]},
     "network.transition[0]"),
]  # fmt: skip

CHANGES: list[Case] = [
    ("network.changes", {"kind": "link", "up": "1/2"}, "changes.kind … 'links'"),
    ("network.changes", {"up": "1/2"}, "changes.kind … none"),
    ("network.changes", {"kind": "links", "up": "3/2"}, "up … 1.5"),
    ("network.changes", {"kind": "links", "up": -0.5}, "up … -0.5"),
    ("network.changes", {"kind": "presence", "present": 2}, "present"),
    ("network.changes", {"kind": "delays", "delay": 1, "delays": [[0]]}, "exactly one"),
    ("network.changes", {"kind": "delays"}, "exactly one"),
    ("network.changes", {"kind": "delays", "delays": [[0, 1], [0]]},
     "network.changes.delays[1] … 2 numbers … square"),
    ("network.changes", {"kind": "delays", "delays": [[0, 1], [1, 0]]},
     "network.changes.delays … (5, 5)"),
    ("network.changes", {"kind": "delays", "delay": 9 * 10**21},
     "network.changes.delay … at most 10000"),
    ("network.changes", {"kind": "delays", "delay": -1}, "delay … at least 0"),
    ("network.changes", {"kind": "gossip", "up": 1}, "changes.up … one of the keys kind"),
    ("network.changes", {"kind": "clocks", "rates": ["1"]}, "rates"),
    ("network.changes", {"kind": "rotation", "group_size": 2}, "network.changes.kind … star"),
    ("network", {"sequence": [{"weights": HALF}]}, "counts"),
    ("network", {"topology": "star", "agents": 6, "edge_confidence": "1/2",
                 "changes": {"kind": "rotation", "group_size": 2}},
     "group_size … divisor of the 5 edges"),
]  # fmt: skip

FAULTS: list[Case] = [
    ("faults", {"rule": "trimmed-mean", "tolerate": 1, "agents": [{"agents": [1, 3], **PUSH}]},
     "faults … at most 1 faulty … agents 1, 3"),
    ("faults", {"rule": "trimed-mean"}, "faults.rule … 'trimmed-mean'"),
    ("faults", {"rule": "trimmed-mean"}, "faults.tolerate … add it"),
    ("faults", {"rule": "median", "radius": 1}, "faults.radius … clip"),
    ("faults", {"agents": [{"agents": [1], "behaviour": "lie"}]}, "behaviour"),
    ("faults", {"agents": [{"agents": [1]}]}, "faults.agents[0].behaviour"),
    ("faults", {"agents": [{"agents": [9], **PUSH}]}, "faults.agents[0].agents[0] … 0 to 8"),
    ("faults", {"agents": [{"agents": [1, 1], **PUSH}]}, "agents[1] … once"),
    ("faults", {"agents": [{"agents": [1], **PUSH, "hypothesis": "x"}]},
     "faults.agents[0].hypothesis … 'x'"),
    ("faults", {"agents": [{"agents": list(range(9)), **PUSH}]}, "honest"),
    ("faults", {"agents": [{"agents": [1], "behaviour": "stuck-data", "outcome": 2}]},
     "faults.agents[0].outcome"),
    ("faults", {"rule": "clip", "radius": 0}, "faults.radius … above 0"),
]  # fmt: skip

MESSAGES: list[Case] = [
    ("messages", {}, "messages.step … add it"),
    ("messages", {"step": 0}, "messages.step: expected a number above 0, got 0"),
    ("messages", {"step": "-1/2"}, "messages.step … above 0, got -1/2"),
    ("messages", {"step": 1, "levels": 1}, "messages.levels … 2"),
    ("messages", {"step": "1/2", "levels": 9},
     "messages.levels: expected at least 10, which never overload, got 9 … use more levels"),
    ("messages", {"step": 1, "mixing": 0}, "messages.mixing … above 0, got 0"),
    ("messages", {"step": 1, "mixing": "3/2"}, "messages.mixing … (0, 1], got 3/2"),
    ("messages", {"step": 1, "quantiser": "unifrom"}, "messages.quantiser … 'uniform'"),
    ("messages", {"step": 1, "quantiser": "deadband"}, "messages.threshold … add it"),
    ("messages", {"step": 2, "quantiser": "deadband", "threshold": 1},
     "messages.threshold: expected more than half a step, 1, got 1"),
    ("messages", {"step": 1, "threshold": 3}, "messages.threshold … deadband"),
    ("messages", {"step": 1, "choice": "largest"}, "messages.choice … single"),
    ("messages", {"step": 1, "quantiser": "single", "choice": "rotate"},
     "messages.choice … 'rotation'"),
    ("messages", {"step": 1, "loss": 0.1}, "messages.loss … acknowledged"),
    ("messages", {"step": 1, "quantiser": "acknowledged"},
     "messages.loss: expected the key 'loss' … add it"),
    ("messages", {"step": 1, "quantiser": "unacknowledged", "loss": "1"},
     "messages.loss: expected a number in [0, 1), got 1"),
    ("messages", {"step": 1, "quantiser": "unacknowledged", "loss": 0.1, "burst": 2},
     'messages.burst … "acknowledged" only'),
    ("messages", {"quantiser": "samples"}, "messages.draws … add it"),
    ("messages", {"quantiser": "samples", "draws": 5, "step": 1}, "messages.step … leave it out"),
    ("messages", {"step": 1, "draws": 5}, 'messages.draws … "samples" only'),
    ("messages", {"quantiser": "samples", "draws": 5, "levels": 9},
     "messages.levels: expected none with samples"),
    ("messages", {"step": 1, "level": 9}, "messages.level … 'levels'"),
    ("messages", 3, "messages"),
]  # fmt: skip

BESIDE_MESSAGES: list[Case] = [
    ("network", {"sequence": [{"weights": HALF}]},
     "messages: expected a network that stays the same … leave out [messages]"),
    ("faults", {"rule": "median"}, "messages: expected none with [faults]"),
]  # fmt: skip

REGRESSIONS: list[Case] = [
    ("model", {}, "tables model, regression … got both … keep one"),
    ("faults", {"rule": "median"}, "faults: expected none with [regression] … leave it out"),
    ("messages", {"quantiser": "uniform"}, "messages: expected none with [regression] … leave it"),
    (
        "regression",
        REMOVE,
        "model: expected a table [model], or [regression], got [network] alone; "
        'add what agents see: [model], hypotheses = ["fair", "loaded"] and [[model.agents]]; '
        "of a network alone 'analyse' takes a graph file, such as net.edges",
    ),
    ("regresion", {}, "regression'"),
    ("regression.theta", [], "regression.theta … at least one entry"),
    ("regression.theta", REMOVE, "regression.theta: expected the key 'theta' … add it"),
    ("regression.agents", [], "regression.agents: expected at least one entry"),
    ("regression.noise", "1", "regression.noise … did you mean 'noise_std'?"),
    ("regression.agents.0.range", [], "regression.agents[0].range … did you mean 'ranges'?"),
    ("regression.noise_std", "0", "regression.noise_std: expected a number above 0"),
    ("regression.agents.1.noise_std", 0,
     "regression.agents[1].noise_std: expected a number above 0 … make it positive"),
    ("regression.agents.1.claimed_noise_std", "-1",
     "regression.agents[1].claimed_noise_std … above 0, got -1"),
    ("regression.theta.1", float("nan"), "regression.theta[1] … a finite number, got nan"),
    ("regression.theta.1", "half", "regression.theta[1]: expected a number … 'half'"),
    ("regression.agents.1.ranges", [["1", "1"]],
     "regression.agents[1].ranges: expected a list of 3 … got 1 … make it 3 long"),
    ("regression.agents.0.ranges.1", ["1", "-1"],
     "regression.agents[0].ranges[1]: expected a range [low, high], got [1, -1] … swap"),
    ("regression.agents.0.ranges.1", ["1"],
     "regression.agents[0].ranges[1] … a range [low, high] … give both ends"),
    ("regression.agents.0.ranges.1", ["-1", "one"], "regression.agents[0].ranges[1][1] … 'one'"),
    ("regression.agents.1.ranges", ["0", "0", "0"],
     "regression.agents[1].ranges: expected an agent that sees something, got only zeros"),
    ("regression.agents.1.second_moment", [["1"]],
     "regression.agents[1]: expected exactly one of ranges and second_moment, got both"),
    ("regression.agents.1", {},
     "regression.agents[1]: expected exactly one of ranges and second_moment, got neither"),
    ("regression.prior_variance", REMOVE, "regression.agents[0] … prior_std … got none"),
    ("regression.prior_std", "1",
     "regression: expected one of prior_std, prior_variance … prior_std and prior_variance"),
    ("regression.prior_variance", "0", "regression.prior_variance … above 0"),
    ("regression.prior_mean", ["0"], "regression.prior_mean … list of 3"),
    ("regression.test_ranges", REMOVE,
     "regression: expected exactly one of test_ranges and test_second_moment, got neither"),
    ("regression.test_ranges", ["0", "0", "0"],
     "regression.test_ranges: expected a test that sees something"),
    ("regression.test_ranges", ["1", "1"], "regression.test_ranges: expected a list of 3"),
    ("regression.agents.0.batch", 0, "regression.agents[0].batch … at least 1"),
    ("regression.agents.1", REMOVE,
     "regression.agents: expected 2 agents … got 1 (the sum of the counts)"),
    ("network", {"sequence": [{"weights": HALF}]},
     "network.sequence: expected a network that stays as it is"),
    ("network.weights", [["1", "0"], ["1/2", "1/2"]], "network.weights: … irreducible"),
    ("messages", {"step": "1/2"}, "messages: expected none with [regression]"),
]  # fmt: skip

MOMENTS: list[Case] = [
    ("regression.agents.0.second_moment", [[1.0, 2.0], [2.0, 1.0]],
     "regression.agents[0].second_moment: expected a positive semidefinite matrix … -1"),
    ("regression.agents.0.second_moment", [[1e14, 0.0], [0.0, -1.0]],
     "regression.agents[0].second_moment: expected a positive semidefinite matrix … -1"),
    ("regression.agents.0.second_moment", [["0", "1"], ["1", "1"]],
     "regression.agents[0].second_moment: expected a positive semidefinite matrix"),
    ("regression.agents.0.second_moment", [[1.0, 0.5], [0.4, 1.0]],
     "regression.agents[0].second_moment[1][0] … symmetric … 0.4 here and 0.5 at [0][1]"),
    ("regression.agents.0.second_moment", [[1.0], [0.4, 1.0]],
     "regression.agents[0].second_moment[0] … a list of 2"),
    ("regression.prior_covariance", [["1", "1"], ["1", "1"]],
     "regression.prior_covariance: expected a positive definite matrix … mend its entries"),
]  # fmt: skip

TABLES: dict[str, tuple[dict[str, Any], list[Case]]] = {
    "network": (COINS, NETWORKS),
    "model": (COINS, MODELS),
    "normal data": (GAUSSIAN, GAUSSIANS),
    "phases": (PAIR, PHASES),
    "changes": (RING, CHANGES),
    "gossip": (CROWD, [("network.changes", {"kind": "gossip"}, "pairs of agents … 5000")]),
    "faults": (TORUS, FAULTS),
    "faults and changes": (
        changed("network.changes", {"kind": "gossip"}, base=TORUS),
        [("faults", {"rule": "median"}, "a network that stays the same")],
    ),
    "messages": (TOSSES, MESSAGES),
    "messages and": (changed("messages", {"step": "1/2"}, base=TOSSES), BESIDE_MESSAGES),
    "regression": (LINE, REGRESSIONS),
    "moments": (NORMAL, MOMENTS),
}
CASES = [
    pytest.param(changed(path, value, base=base), words, id=f"{name}: {path}")
    for name, (base, table) in TABLES.items()
    for path, value, words in table
]


@pytest.mark.parametrize(("document", "words"), CASES)
def test_bad_problems(
    document: dict[str, Any], words: str, tmp_path: Path, capsys: Capture
) -> None:
    line = complaint_of(capsys, tmp_path, document)
    assert_says(line, words)
    for part in ("expected", "got", ";"):
        assert part in line


def test_the_good_problems_are_good(tmp_path: Path, capsys: Capture) -> None:
    # Or else the cases above would prove nothing.
    for document, _ in TABLES.values():
        if document["network"].get("agents") != 5000:
            path = tmp_path / "good.json"
            path.write_text(json.dumps(document))
            assert main(["analyse", str(path), "--json"]) == 0
            assert capsys.readouterr().err == ""


def test_a_mistyped_key_is_called_mistyped_rather_than_missing(
    tmp_path: Path, capsys: Capture
) -> None:
    document = changed("model.agents.0.likelyhood", [])
    del document["model"]["agents"][0]["likelihood"]
    line = complaint_of(capsys, tmp_path, document)
    assert_says(line, "model.agents[0].likelyhood … did you mean 'likelihood'?")


LONG = "n" * 3000


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model.hypotheses.1", LONG),
        ("model.hypotheses", [LONG, LONG]),
        ("model.hypotheses", [f"{k} {LONG}" for k in range(50)]),
        ("model.agents.0.truth", LONG),
        (f"model.{LONG}", 1),
        ("network", {LONG: 1}),
        ("network", {"topology": LONG}),
        ("network.weights.0.0", "1/" + "7" * 3000),
    ],
    ids=range(8),
)
def test_messages_stay_short(path: str, value: object, tmp_path: Path, capsys: Capture) -> None:
    # What is wrong with the hypotheses, if not their names, is a prior of zero.
    document = changed(path, value, base=changed("model.agents.0.prior", ["1", "0"]))
    if len(document["model"]["hypotheses"]) == 50:
        document["model"]["agents"] = [{"truth": "x", "likelihood": [[["1/2", "1/2"]]] * 50}]
    # Twice a name of 60 characters, and the words around it.
    assert len(complaint_of(capsys, tmp_path, document)) < 450
