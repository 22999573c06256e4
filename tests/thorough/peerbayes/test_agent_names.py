"""Names of agents in every table and figure."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import peerbayes as pb
from tests.peerbayes.test_agent_names import FORMS, NAMES, shown, written


def test_tables_and_figures_use_the_names(tmp_path: Path) -> None:
    problem = pb.load(written(tmp_path, {**FORMS["weights"], "names": NAMES}))
    axes = problem.plot(Figure(figsize=(8, 6)).add_subplot())
    assert {"mast", "roof", "well"} & {text.get_text() for text in axes.texts}
    design = pb.design(problem, replicates=0, write=tmp_path / "designed.toml")
    text = shown(design)
    for name in NAMES:
        assert f" {name} " in text
    assert "agents that suffice" in text
    assert "agent 0" not in text
    assert pb.load(tmp_path / "designed.toml").network.names == tuple(NAMES)
    assert design.as_json()["names"] == NAMES
    placed = pb.place(problem)
    for agent in placed.document().moved:
        assert f"{NAMES[agent]} gets what" in shown(placed)
    edges = shown(pb.design(problem, objective="next-edge"))
    assert "mast - well" in edges
    assert pb.analyse(problem).as_json()["network"]["names"] == NAMES
