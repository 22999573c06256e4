"""Edits of documents: what they lead to is read, saved and weighed against weights by hand."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peerbayes.explorer.documents import problem_of
from peerbayes.explorer.edits import EDITS, edited
from peerbayes.explorer.tables import agents_of, form_of
from peerbayes.front.problems import load, save
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.explore.starts import BLIND, COIN, Randomly, finite, starts

Table = dict[str, Any]
STARTS = starts()
RING: Table = {"topology": "ring", "agents": 5, "rule": "metropolis"}
EXACT = finite(
    {"weights": [["1/2", "1/4", "1/4"], ["1/3", "2/3", "0"], ["0", "1/5", "4/5"]]},
    [COIN, BLIND, COIN],
)


def weights_of(document: Table) -> np.ndarray:
    """W, read by the problem file's reader."""
    weights = problem_from_document(document).network.weights
    return np.array(weights.toarray() if hasattr(weights, "toarray") else weights)


def one(document: Table, kind: str, **keys: Any) -> Table:
    """The document after one edit; `from_` stands for from."""
    return edited(document, [{"kind": kind, **{key.rstrip("_"): v for key, v in keys.items()}}])


@pytest.fixture(scope="module")
def walk() -> dict[str, Any]:
    """Eight hundred random edits from all starts: those accepted, with what came before."""
    steps, accepted, refused = [], Counter[str](), []
    for number, (name, start) in enumerate(STARTS.items()):
        draw, document = Randomly(number), edited(start, [])
        for step in range(50):
            edit, before = draw.edit(document), json.dumps(document)
            try:
                new = edited(document, [edit])
            except ValueError as error:
                refused.append(str(error))
                new = document
            else:
                accepted[edit["kind"]] += 1
                steps.append((name, document, edit, new))
            assert json.dumps(document) == before  # what was there is there to be undone
            document = new if step % 25 else edited(start, [])
    return {"steps": steps, "accepted": accepted, "refused": refused}


def test_what_is_accepted_is_a_problem_file_as_it_is_written(walk: dict[str, Any]) -> None:
    for _, _, _, new in walk["steps"][::3]:
        specification = problem_from_document(new).specification
        assert specification is not None
        assert specification.document() == new


def test_every_kind_of_edit_is_accepted_somewhere_and_most_are(walk: dict[str, Any]) -> None:
    assert set(walk["accepted"]) == set(EDITS)
    assert len(walk["steps"]) > len(walk["refused"])


def test_refusals_are_one_line(walk: dict[str, Any]) -> None:
    assert walk["refused"]
    for line in walk["refused"]:
        assert "\n" not in line
        assert "expected" in line
        assert ", got" in line


def test_what_is_accepted_is_saved_and_loads_to_an_equal_problem(
    walk: dict[str, Any], tmp_path: Path
) -> None:
    for number, (_, _, _, new) in enumerate(walk["steps"][::12]):
        problem = problem_of(new)
        path = save(problem, tmp_path / f"p{number}{('.toml', '.json')[number % 2]}")
        assert load(path) == problem


def test_weights_after_edits_are_those_computed_by_hand(walk: dict[str, Any]) -> None:
    seen = Counter[str]()
    for _, old, edit, new in walk["steps"]:
        kind = edit["kind"]
        if form_of(old["network"]) == "sequence" or "changes" in old["network"]:
            continue
        if kind not in ("set-weight", "set-self-weight", "free-weights"):
            continue
        before, after = weights_of(old), weights_of(new)
        if kind != "free-weights":
            i = edit.get("from", edit.get("agent"))
            j, value = edit.get("to", i), float(Fraction(str(edit["value"])))
            others = before[i].copy()
            others[j] = 0
            others = others if others.any() else np.eye(len(before))[i]
            expected = others / others.sum() * (1 - value)
            expected[j] += value
            before[i] = expected
        seen[kind] += 1
        # A few roundings of numbers below one.
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-15)
    assert min(seen[kind] for kind in ("set-weight", "set-self-weight", "free-weights")) > 5


def test_exact_rows_stay_exact_and_sum_to_one() -> None:
    document = EXACT
    for value in ("1/3", 0.37, "0.5", 0, 1, 0.125):
        for agent in range(3):
            try:
                document = one(document, "set-weight", from_=agent, to=(agent + 1) % 3, value=value)
            except ValueError:
                continue  # a network that falls apart
            rows = document["network"]["weights"]
            assert all(isinstance(weight, str) for row in rows for weight in row)
            assert all(sum(map(Fraction, row)) == 1 for row in rows)
    assert document != EXACT


def test_a_number_of_many_digits_makes_a_row_of_doubles() -> None:
    new = one(EXACT, "set-weight", from_=0, to=1, value=1 / 7)["network"]["weights"]
    assert all(isinstance(weight, float) for weight in new[0])
    assert new[0][1] == 1 / 7
    assert new[1] == EXACT["network"]["weights"][1]


def test_links_are_drawn_and_cut_by_hand() -> None:
    """One part beside those heard already; what is cut goes to the others in proportion."""
    new = one(EXACT, "add-link", from_=1, to=2, both=False)["network"]["weights"]
    assert new == [["1/2", "1/4", "1/4"], ["2/9", "4/9", "1/3"], ["0", "1/5", "4/5"]]
    cut = one(EXACT, "remove-link", from_=0, to=1, both=False)["network"]["weights"]
    assert cut[0] == ["2/3", "0", "1/3"]
    assert cut[1:] == EXACT["network"]["weights"][1:]


def test_an_agent_that_leaves_leaves_its_weight_to_its_listeners() -> None:
    named = one(EXACT, "rename-agent", agent=2, name="last")
    joined = one(named, "add-link", from_=2, to=0, both=False)
    gone = one(joined, "remove-agent", agent=1)
    assert gone["network"]["weights"] == [["3/4", "1/4"], ["1/3", "2/3"]]
    assert gone["network"]["names"] == ["0", "last"]
    assert gone["model"]["agents"] == [{"count": 2, **COIN}]


def test_an_agent_that_comes_is_heard_like_one_more() -> None:
    new = one(EXACT, "add-agent", listens_to=[0, 1], heard_by=[1], evidence_of=0, name="new")
    assert new["network"]["weights"][3] == ["1/3", "1/3", "0", "1/3"]
    assert new["network"]["weights"][1] == ["2/9", "4/9", "0", "1/3"]
    assert new["network"]["names"] == ["0", "1", "2", "new"]
    assert new["model"]["agents"][-1] == {"count": 2, **COIN}


def rule_weights(links: set[tuple[int, int]], agents: int, rule: str) -> np.ndarray:
    """W of a rule, straight from its formula; (i, j): i hears j."""
    degree = [sum(1 for i, _ in links if i == agent) for agent in range(agents)]
    weights = np.zeros((agents, agents))
    for i, j in links:
        weights[i, j] = {
            "uniform": 1 / (degree[i] + 1),
            "metropolis": 1 / (1 + max(degree[i], degree[j])),
            "lazy-metropolis": 1 / (2 * max(degree[i], degree[j])),
            "max-degree": 1 / (1 + max(degree)),
        }[rule]
    return weights + np.diag(1 - weights.sum(axis=1))


@pytest.mark.parametrize("rule", ["uniform", "metropolis", "lazy-metropolis", "max-degree"])
def test_weights_by_a_rule_follow_the_graph(rule: str) -> None:
    document = finite({**RING, "rule": rule}, [{"count": 5, **COIN}])
    links = {(i, (i + 1) % 5) for i in range(5)} | {((i + 1) % 5, i) for i in range(5)}
    for edit, more in (("add-link", (0, 2)), ("add-link", (1, 3)), ("remove-link", (3, 4))):
        document = one(document, edit, from_=more[0], to=more[1], both=True)
        links = links | {more, more[::-1]} if edit == "add-link" else links - {more, more[::-1]}
        assert document["network"].get("rule", "uniform") == rule
        np.testing.assert_allclose(
            weights_of(document), rule_weights(links, 5, rule), rtol=0, atol=1e-15
        )
    written = one(document, "free-weights")
    assert form_of(written["network"]) == "weights"
    assert all(isinstance(w, str) for row in written["network"]["weights"] for w in row)
    again = one(written, "set-rule", rule=rule)
    np.testing.assert_array_equal(weights_of(again), weights_of(document))


def test_an_agent_that_leaves_a_graph_takes_its_links_along() -> None:
    document = finite({**RING, "rule": "metropolis"}, [{"count": 4, **COIN}, BLIND])
    chord = one(document, "add-link", from_=1, to=3)
    new = one(chord, "remove-agent", agent=2)
    assert new["network"]["rule"] == "metropolis"
    pairs = {(0, 1), (1, 2), (2, 3), (3, 0)}
    links = pairs | {(b, a) for a, b in pairs}
    np.testing.assert_allclose(
        weights_of(new), rule_weights(links, 4, "metropolis"), rtol=0, atol=1e-15
    )
    assert new["model"]["agents"] == [{"count": 3, **COIN}, BLIND]


def test_one_way_of_a_link_makes_uniform_weights_directed() -> None:
    document = finite({**RING, "rule": "uniform"}, [{"count": 5, **COIN}])
    new = one(document, "add-link", from_=0, to=2, both=False)
    links = {(i, (i + 1) % 5) for i in range(5)} | {((i + 1) % 5, i) for i in range(5)} | {(0, 2)}
    assert new["network"]["directed"]
    np.testing.assert_allclose(
        weights_of(new), rule_weights(links, 5, "uniform"), rtol=0, atol=1e-15
    )
    free = one(STARTS["ring"], "add-link", from_=0, to=2, both=False)
    assert form_of(free["network"]) == "weights"


def test_parameters_stay_while_an_edit_allows_it() -> None:
    star = STARTS["star"]
    bigger = one(star, "add-agent", evidence_of=3)
    assert bigger["network"] == {**star["network"], "agents": 5}
    assert one(bigger, "remove-agent", agent=4)["network"] == star["network"]
    assert form_of(one(bigger, "add-agent", listens_to=[1], heard_by=[1])["network"]) == "weights"
    ring = one(STARTS["ring"], "add-agent", listens_to=[0, 3], heard_by=[0, 3])["network"]
    assert form_of(ring) == "edges"
    assert ring["rule"] == "metropolis"


def test_a_slider_keeps_a_fraction_a_fraction() -> None:
    moved = one(STARTS["star"], "set-parameter", key="network.edge_confidence", value=0.37)
    assert moved["network"]["edge_confidence"] == "37/100"
    resized = one(moved, "set-parameter", key="network.agents", value=6)
    assert agents_of(resized["network"]) == 6
    assert [entry.get("count", 1) for entry in resized["model"]["agents"]] == [3, 3]
    assert one(resized, "set-parameter", key="agents", value=4) == moved


def test_what_is_said_of_agents_by_number_moves_with_them() -> None:
    network = {"topology": "complete", "agents": 5, "names": list("abcde")}
    liar = {"agents": [1, 4], "behaviour": "silent"}
    document = finite(
        network,
        [{"count": 5, **COIN}],
        learning={"batch": [1, 2, 3, 4, 5]},
        faults={"rule": "trimmed-mean", "tolerate": 1, "agents": [liar], "beyond_tolerance": True},
        design={"fixed_agents": [0, 1, 4], "link_costs": [{"link": [1, 2], "cost": "2"}]},
    )
    new = one(document, "remove-agent", agent=1)
    assert new["network"]["names"] == list("acde")
    assert new["learning"] == {"batch": [1, 3, 4, 5]}
    assert new["faults"]["agents"] == [{"agents": [3], "behaviour": "silent"}]
    assert new["design"] == {"fixed_agents": [0, 3]}


def test_late_messages_and_phases_grow_and_shrink_with_the_agents() -> None:
    late = {"weights": [["1/2", "1/2"], ["1/2", "1/2"]]}
    changes = {"kind": "delays", "delays": [[0, 3], [1, 0]]}
    document = finite({**late, "changes": changes}, [{"count": 2, **COIN}])
    both = [0, 1]
    more = one(document, "add-agent", listens_to=both, heard_by=both, evidence_of=0)
    assert more["network"]["changes"]["delays"] == [[0, 3, 0], [1, 0, 0], [0, 0, 0]]
    fewer = one(more, "remove-agent", agent=0)
    assert fewer["network"]["changes"]["delays"] == [[0, 0], [0, 0]]
    phases = one(STARTS["sequence"], "add-agent", listens_to=[0], heard_by=[0], evidence_of=0)
    assert [len(p["weights"]) for p in phases["network"]["sequence"]] == [4, 4]
    assert phases["network"]["sequence"][1]["active"] == [1, 3]
    touched = one(STARTS["sequence"], "set-weight", from_=0, to=1, value="1/4", phase=0)
    assert touched["network"]["sequence"][0]["weights"][0] == ["3/4", "1/4", "0"]
    assert touched["network"]["sequence"][1] == STARTS["sequence"]["network"]["sequence"][1]


def test_evidence_moves_and_priors_stay() -> None:
    prior = {"prior": ["1/4", "3/4"]}
    document = finite({"topology": "ring", "agents": 3}, [{**COIN, **prior}, BLIND, BLIND])
    swapped = one(document, "swap-evidence", a=0, b=2)["model"]["agents"]
    assert swapped == [{**prior, **BLIND}, BLIND, COIN]
    copied = one(document, "set-evidence", agent=1, of=0)["model"]["agents"]
    assert copied == [{**prior, **COIN}, COIN, BLIND]
    cleared = one(document, "clear-evidence", agent=0)
    likelihood = cleared["model"]["agents"][0]["likelihood"]
    assert likelihood == [COIN["likelihood"][0]] * 2
    assert not problem_of(cleared).model.kind_divergences.any()


def test_a_mixture_is_the_mean_of_the_likelihoods() -> None:
    mixture = {"fair": "1/4", "loaded": "3/4"}
    new = one(EXACT, "set-truth", mixture=mixture)["model"]["agents"]
    assert new[0]["truth"] == [[str(Fraction(11, 16)), str(Fraction(5, 16))]]
    assert new[1]["truth"] == [["1/2", "1/2"]]
    rough = one(EXACT, "set-truth", agent=0, mixture={"fair": 0.3, "loaded": 0.7})
    assert rough["model"]["agents"][0]["truth"][0] == pytest.approx([0.675, 0.325], abs=1e-15)
    assert rough["model"]["agents"][1] == EXACT["model"]["agents"][1]


def test_a_hypothesis_is_renamed_wherever_it_is_named() -> None:
    new = one(STARTS["faulty"], "rename-hypothesis", of="loaded", name="bent")
    assert new["model"]["hypotheses"] == ["fair", "bent"]
    assert new["faults"]["agents"][0]["hypothesis"] == "bent"
    other = one(STARTS["faulty"], "rename-hypothesis", of=0, name="even")
    assert {entry["truth"] for entry in other["model"]["agents"]} == {"even"}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"kind": "add-lnk"}, "edit.kind: expected one of"),
        ({"kind": "add-link", "from": 0}, "edit: to: expected the key 'to', got none"),
        ({"kind": "add-link", "from": 0, "to": 9}, "to: expected an agent from 0 to 2, got 9"),
        ({"kind": "add-link", "from": "0", "to": 1}, "expected a whole number, got '0'"),
        ({"kind": "set-weight", "from": 0, "to": 1, "value": 2}, "expected a number in [0, 1]"),
        ({"kind": "set-weight", "from": 0, "to": 1, "valu": 1}, "did you mean 'value'?"),
        ({"kind": "remove-link", "from": 1, "to": 2, "both": False}, "an agent that 1 hears"),
        ({"kind": "set-weight", "from": 0, "to": 0, "value": 1}, "network.weights: expected an ir"),
        ({"kind": "set-parameter", "key": "agents", "value": 4}, "choose a topology first"),
        ({"kind": "set-truth", "of": "fare"}, "did you mean 'fair'?"),
        ({"kind": "set-truth", "mixture": {"fair": 0.5}}, "shares that sum to 1"),
        ({"kind": "set-changes", "change": "random-lnks"}, "did you mean 'random-links'?"),
        ({"kind": "set-faults", "faulty": [5]}, "an agent from 0 to 2, got 5"),
        (
            {"kind": "set-messages", "quantiser": "uniform"},
            "messages.step: expected the key 'step'",
        ),
        ({"kind": "rename-agent", "agent": 0, "name": "1"}, "names"),
        ("add-link", "edit: expected a table with a kind, got 'add-link'"),
    ],
)
def test_bad_edits_are_refused_in_one_line(edit: Any, words: str) -> None:
    with pytest.raises(ValueError, match="expected") as refusal:
        edited(EXACT, [edit])
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_of_several_edits_the_one_refused_is_named() -> None:
    good = {"kind": "set-self-weight", "agent": 0, "value": "1/2"}
    bad = {"kind": "set-self-weight", "agent": 7, "value": "1/2"}
    with pytest.raises(ValueError, match="expected an agent from 0 to 2"):
        edited(EXACT, [good, bad])
    with pytest.raises(ValueError, match=r"edits\[1\].kind"):
        edited(EXACT, [good, {"kind": "no"}])


def test_networks_too_large_for_a_page_are_refused_before_they_are_built() -> None:
    for network in (
        {"topology": "ring", "agents": 10_000_000},
        {"topology": "grid", "shape": [1000, 1000]},
        {"topology": "hypercube", "dimension": 20},
        {"topology": "star", "agents": 1001, "edge_confidence": "1/2"},
    ):
        with pytest.raises(ValueError, match="on a page"):
            edited(finite(network, [{"count": 2, **COIN}]), [])


def test_many_agents_are_written_link_by_link() -> None:
    document = finite({"topology": "ring", "agents": 40}, [{"count": 40, **COIN}])
    new = one(document, "set-self-weight", agent=3, value="1/2")
    assert form_of(new["network"]) == "links"
    expected = weights_of(document)
    expected[3, [2, 3, 4]] = [0.25, 0.5, 0.25]
    np.testing.assert_allclose(weights_of(new), expected, rtol=0, atol=1e-15)


def test_batches_are_those_of_one_agent_or_of_all() -> None:
    sizes = [
        problem_of(one(document, "set-batch", **keys)).model.batches.tolist()
        for document, keys in (
            (EXACT, {"value": 3}),
            (EXACT, {"agent": 1, "value": 2}),
            (STARTS["ring"], {"agent": 1, "value": 5}),
            (STARTS["ring"], {"value": 1}),
        )
    ]
    assert sizes == [[3, 3, 3], [1, 2, 1], [1, 5, 1, 1], [1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("there", "back"),
    [
        ({"kind": "rename-agent", "agent": 0, "name": "zero"}, {"name": "0"}),
        ({"kind": "set-faults", "faulty": [1], "behaviour": "silent"}, {"faulty": []}),
        ({"kind": "set-changes", "change": "delayed", "delay": 2}, {"change": "none"}),
    ],
)
def test_opposite_edits_lead_back(there: Table, back: Table) -> None:
    assert edited(EXACT, [there]) != edited(EXACT, [])
    keys = ("kind", "agent") if "agent" in there else ("kind",)
    assert edited(EXACT, [there, {key: there[key] for key in keys} | back]) == edited(EXACT, [])
