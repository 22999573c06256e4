"""Batches in problem files, from Python, and by the option --batch."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import peerbayes as pb
from peerbayes.kinds.finite.proofs import fingerprint
from peerbayes.problem.reading import problem_from_document
from peerbayes.problem.writing import document_of, with_batch
from peerbayes.schemas import read_schema
from tests.peerbayes.documents import GAUSSIAN, TWO_COINS
from tests.peerbayes.regressions import LINE
from theory.rational import rational_rate

PROBLEM = Draft202012Validator(read_schema("problem"))


def document(learning: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    coins = tomllib.loads(TWO_COINS)
    return {
        "name": "coins",
        **coins,
        **({} if learning is None else {"learning": learning}),
        **more,
    }


def problem(learning: dict[str, Any] | None, **more: Any) -> Any:
    return problem_from_document(document(learning, **more))


def test_a_file_says_how_much_is_drawn() -> None:
    plain, four = problem(None), problem({"batch": 4})
    assert four.model == plain.model.batched(4)
    assert problem({"batch": [4, 1]}).model == plain.model.batched([4, 1])
    own = document(None)
    entry = own["model"]["agents"][0]
    own["model"]["agents"] = [{**entry, "count": 1, "batch": 3}, {**entry, "count": 1}]
    assert problem_from_document(own).model.batches.tolist() == [3, 1]
    assert problem_from_document(own | {"learning": {"batch": 5}}).model.batches.tolist() == [3, 5]
    for one in (document({"batch": 4}), document({"batch": [4, 1]}), own):
        PROBLEM.validate(one)
    # Exactly, too.
    assert four.is_exact
    rate, alone = (rational_rate(p.rational_network, p.rational_model).rate for p in (four, plain))
    assert rate == 4 * alone


def test_a_batch_of_one_changes_nothing() -> None:
    plain = problem(None)
    for same in (problem({"batch": 1}), problem({"batch": [1, 1]}), problem({})):
        assert same == plain
        assert pb.analyse(same).as_json() == pb.analyse(plain).as_json()
        run = pb.simulate(same, rounds=20, replicates=10, seed=3)
        assert run.as_json() == pb.simulate(plain, rounds=20, replicates=10, seed=3).as_json()
    assert "batch" not in pb.analyse(plain).as_json()["learning"]


def test_other_kinds_of_problems_draw_batches() -> None:
    normal = problem_from_document(GAUSSIAN | {"learning": {"batch": [2, 3, 1]}})
    assert normal.model.batches.tolist() == [2, 3, 1]
    losing = document({"batch": 3})
    losing["network"]["changes"] = {"kind": "links", "up": "1/2"}
    single = {key: value for key, value in losing.items() if key != "learning"}
    found, alone = (pb.analyse(problem_from_document(d)).as_json() for d in (losing, single))
    assert found["learning"]["rate"] == pytest.approx(3 * alone["learning"]["rate"])
    assert found["learning"]["batch"] == [3, 3]
    liar = {"agents": [1], "behaviour": "stuck-data", "outcome": 1}
    stuck = problem({"batch": 2}, faults={"rule": "average", "agents": [liar]})
    assert pb.analyse(stuck).as_json()["faults"]["batch"] == [2, 2]
    datum = stuck.faults.behaviours[1].datum(stuck.model, 1)
    np.testing.assert_allclose(datum, 2 * problem(None).model.kinds[0].log_likelihoods[:, 1])
    narrow = problem({"batch": 2}, messages={"step": "1/2"})
    assert pb.analyse(narrow).messages.levels.least is not None
    for one in (losing, document({"batch": 2}, messages={"step": "1/2"})):
        PROBLEM.validate(one)


def test_regressions_draw_batches() -> None:
    agents = [
        {**agent, "batch": b} for agent, b in zip(LINE["regression"]["agents"], (4, 2), strict=True)
    ]
    own = LINE | {"regression": LINE["regression"] | {"agents": agents}}
    listed = LINE | {"learning": {"batch": [4, 2]}}
    assert problem_from_document(own) == problem_from_document(listed)
    mixed = LINE | {
        "learning": {"batch": 4},
        "regression": LINE["regression"] | {"agents": [LINE["regression"]["agents"][0], agents[1]]},
    }
    assert problem_from_document(mixed) == problem_from_document(own)
    exact = [pb.analyse(problem_from_document(d), exact=True).as_json() for d in (own, listed)]
    assert exact[0]["regression"] == exact[1]["regression"]
    assert (
        with_batch(problem_from_document(LINE), [4, 2]).regression
        == problem_from_document(own).regression
    )
    PROBLEM.validate(listed)


def test_what_is_saved_loads_again(tmp_path: Path) -> None:
    for one in (
        problem({"batch": [4, 1]}),
        pb.problem_of(problem(None).network, problem(None).model, batch=[2, 5]),
        pb.problem_of(problem(None).network, problem_from_document(LINE).regression, batch=3),
        with_batch(pb.load("rotating-star"), 2),
    ):
        path = pb.save(one, tmp_path / "one.toml")
        assert pb.load(path) == one
    free = pb.problem_of(problem(None).network, problem(None).model, batch=[2, 5])
    written = document_of(free)["model"]["agents"]
    assert [agent["batch"] for agent in written] == [2, 5]
    assert written[0]["likelihood"] == written[1]["likelihood"]  # of single observations
    tables = problem(None).model.kinds[0].tables
    assert tables is not None
    assert written[0]["truth"] == tables.truth.tolist()


def test_batches_take_the_place_of_the_problems_own() -> None:
    own = document({"batch": 7})
    own["model"]["agents"][0]["batch"] = 5
    given = problem_from_document(own)
    new = with_batch(given, [2, 3])
    assert new.name == "two-coins batch=2,3"
    assert new.model == problem(None).model.batched([2, 3])
    assert new.specification is not None
    assert problem_from_document(new.specification.document()) == new
    assert with_batch(given, 2).specification.learning.batch == 2
    assert with_batch(pb.load("p2-star"), list(range(1, 10))).name.endswith("batch=1 to 9")


@pytest.mark.parametrize(
    ("learning", "wanted"),
    [
        ({"batch": 0}, "learning.batch: expected a number of at least 1, got 0"),
        ({"batch": "4"}, "learning.batch: expected a whole number"),
        ({"batch": 1.5}, "learning.batch: expected a whole number"),
        ({"batch": True}, "learning.batch: expected a whole number"),
        ({"batch": [4, 0]}, "learning.batch[1]: expected a number of at least 1"),
        ({"batch": [4]}, "learning.batch: expected a number, or a list of 2"),
        ({"batches": 4}, "did you mean 'batch'"),
        ({"batch": 10**6}, "model: batch: expected batches of at most 65536 types"),
    ],
)
def test_bad_tables_get_one_line(learning: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wanted)) as error:
        problem(learning)
    assert "\n" not in str(error.value)


def test_a_list_and_an_entry_exclude_each_other() -> None:
    own = document({"batch": [4, 1]})
    own["model"]["agents"][0]["batch"] = 5
    with pytest.raises(
        ValueError, match=r"one number for all beside a batch of model\.agents\[0\]"
    ):
        problem_from_document(own)


def test_verified_with_batches(tmp_path: Path) -> None:
    found = pb.verify("two-coins", batch=[3, 1], seed=2, out=tmp_path)
    assert not found.failed
    assert found.statements[0].problem == "two-coins batch=3,1"
    assert any("printed sample" in s.statement for s in found.statements)


def test_kept_proofs_are_of_one_batch() -> None:
    normal = problem_from_document(GAUSSIAN)
    free = [pb.problem_of(normal.network, normal.model, batch=b) for b in (1, 2)]
    marks = {fingerprint(p) for p in (*free, normal, with_batch(normal, 2))}
    assert len(marks) == 4
