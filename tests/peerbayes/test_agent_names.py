"""Names of agents: from a problem's file through the network, into tables, figures and back."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import peerbayes as pb
from peerbayes.problem.specification import problem_schema

NAMES = ["mast", "roof", "well"]
COIN = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
BLIND = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["1/2", "1/2"]]]}
MODEL = {"hypotheses": ["fair", "loaded"], "agents": [{**COIN, "count": 2}, BLIND]}
WEIGHTS = [["1/2", "1/2", "0"], ["1/4", "1/2", "1/4"], ["0", "1/2", "1/2"]]
FORMS: dict[str, dict[str, Any]] = {
    "weights": {"weights": WEIGHTS},
    "links": {
        "links": [[0, 0, "1/2"], [0, 1, "1/2"], [1, 0, "1/4"], [1, 1, "1/2"], [1, 2, "1/4"],
                  [2, 1, "1/2"], [2, 2, "1/2"]],
        "agents": 3,
    },
    "edges": {"edges": [[0, 1], [1, 2]], "agents": 3},
    "topology": {"topology": "path", "agents": 3},
    "sequence": {"sequence": [{"weights": WEIGHTS}, {"weights": WEIGHTS}]},
    "drawn": {"sequence": [{"weights": WEIGHTS}] * 2, "probabilities": ["1/2", "1/2"]},
    "chain": {"sequence": [{"weights": WEIGHTS}] * 2,
              "transition": [["1/2", "1/2"], ["1/3", "2/3"]]},
    "lossy": {"weights": WEIGHTS, "changes": {"kind": "links", "up": "1/2"}},
    "gossip": {"weights": WEIGHTS, "changes": {"kind": "gossip"}},
    "rotation": {"topology": "star", "agents": 3, "edge_confidence": "1/2",
                 "changes": {"kind": "rotation", "group_size": 1}},
}  # fmt: skip


def written(folder: Path, network: dict[str, Any], **more: Any) -> Path:
    path = folder / "p.json"
    path.write_text(json.dumps({"name": "p", "network": network, "model": MODEL, **more}))
    return path


def shown(result: Any) -> str:
    console = Console(file=io.StringIO(), width=200)
    for part in result.tables():
        console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("form", ["weights", "sequence", "chain", "lossy"])
def test_names_of_problems_built_in_python_are_saved(form: str, tmp_path: Path) -> None:
    loaded = pb.load(written(tmp_path, {**FORMS[form], "names": NAMES}))
    assert not isinstance(loaded, pb.FaultyProblem | pb.RegressionProblem)
    built = pb.problem_of(loaded.network, loaded.model)
    assert built.specification is None
    assert pb.load(pb.save(built, tmp_path / "b.json")).network.names == tuple(NAMES)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["mast", "roof"], r"p\.json: network\.names: expected one for each of 3 agents, got 2"),
        (["mast", "roof", "roof"], r"network\.names: expected distinct names, got 'roof' twice"),
        (["roof", "m" * 5000, "m" * 5000], r"distinct names, got 'm{78}… twice; give each"),
        (["mast", "roof", ""], r"network\.names\[2\]"),
        ("mast", r"network\.names: expected a list"),
        ([1, 2, 3], r"network\.names\[0\]: expected"),
    ],
)
@pytest.mark.parametrize("form", ["weights", "sequence"])
def test_names_that_do_not_fit_are_refused_in_one_line(
    form: str, names: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        pb.load(written(tmp_path, {**FORMS[form], "names": names}))
    assert "\n" not in str(refused.value)


def test_the_schema_knows_names() -> None:
    forms = problem_schema()["$defs"]
    for name in ("WeightsNetwork", "LinksNetwork", "EdgesNetwork", "TopologyNetwork"):
        assert "names" in forms[name]["properties"]
    assert "names" in forms["SequenceNetwork"]["properties"]


def test_faulty_agents_are_named(tmp_path: Path) -> None:
    network = {"topology": "complete", "agents": 3, "names": NAMES}
    faults = {"rule": "average", "agents": [{"agents": [1], "behaviour": "push",
                                             "hypothesis": "loaded", "strength": 1.0}]}  # fmt: skip
    problem = pb.load(written(tmp_path, network, faults=faults))
    assert "agent roof: Push" in shown(pb.analyse(problem))
