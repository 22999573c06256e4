import json
from pathlib import Path

import pytest

from peerbayes.kinds.finite import proofs
from peerbayes.kinds.finite.proofs import PartStore, fingerprint
from peerbayes.problem.builtins.loading import load_problem
from tests.peerbayes.commands import Patch


@pytest.fixture
def keep_all(monkeypatch: Patch) -> None:
    monkeypatch.setattr(proofs, "_KEEP_SECONDS", 0.0)


@pytest.mark.usefixtures("keep_all")
def test_a_finished_part_outlives_an_interruption(tmp_path: Path) -> None:
    problem = load_problem("two-coins")
    store = PartStore.open(tmp_path, problem, delta=0.05)
    assert store.part("network", lambda: {"slem": 0.3}) == {"slem": 0.3}

    def interrupted() -> dict[str, float]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.part("learning", interrupted)
    again = PartStore.open(tmp_path, problem, delta=0.05)
    assert again.part("network", interrupted) == {"slem": 0.3}
    assert again.part("learning", lambda: {"rate": 1.0}) == {"rate": 1.0}
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.usefixtures("keep_all")
def test_another_request_or_problem_has_parts_of_its_own(tmp_path: Path) -> None:
    coins, star = load_problem("two-coins"), load_problem("p2-star")
    PartStore.open(tmp_path, coins, delta=0.05).part("network", lambda: {"slem": 0.3})
    for problem, delta in ((coins, 0.01), (star, 0.05)):
        store = PartStore.open(tmp_path, problem, delta=delta)
        assert store.part("network", lambda: {"slem": 0.5}) == {"slem": 0.5}


@pytest.mark.usefixtures("keep_all")
def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    store = PartStore.open(tmp_path, load_problem("two-coins"), delta=0.05)
    store.part("network", lambda: {"slem": 0.3})
    content = json.loads(store.path.read_text())
    content["body"]["parts"]["network"]["slem"] = 0.2
    store.path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="checksum"):
        store.part("network", lambda: {"slem": 0.3})


def test_quick_parts_leave_nothing(tmp_path: Path) -> None:
    store = PartStore.open(tmp_path / "out", load_problem("two-coins"), delta=0.05)
    store.part("network", lambda: {"slem": 0.3})
    assert not (tmp_path / "out").exists()


def test_fingerprints_tell_problems_apart() -> None:
    names = ["two-coins", "p2-star", "p2-star a=0.1"]
    assert len({fingerprint(load_problem(name)) for name in names}) == len(names)
    assert fingerprint(load_problem("p2-star")) == fingerprint(load_problem("p2-star"))
