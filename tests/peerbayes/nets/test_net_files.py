"""Net files say what is trained on which data; what they cannot mean is one line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from empirical import DEALINGS
from empirical.train.data.source_files import BUILTINS, check_unchanged
from peerbayes.front.train import train_file
from peerbayes.nets.reading import read_net_file, specification_of
from peerbayes.nets.sections import DATASETS
from tests.peerbayes.nets.net_files import HOSPITALS, hospital, net_document, write_csv, write_net
from theory import Network
from theory.changing import RandomLinks


def test_one_file_an_agent(tmp_path: Path) -> None:
    problem = read_net_file(write_net(tmp_path))
    data = problem.data
    assert problem.name == "three hospitals"
    assert data.names == HOSPITALS  # 10 after 2
    assert data.features == ("age", "score")
    assert data.notes == ("columns left out, as they are not of numbers: ward",)
    assert [len(part) for part in data.train] == [18, 18, 18]
    assert [len(part) for part in data.validation] == [2, 2, 2]
    assert data.test is not None
    assert data.target_scaling is not None
    stays = [line[3] for line in hospital(99)[1:]]
    assert np.allclose(data.target_scaling.undo(data.test.labels), stays, rtol=1e-13)
    for k, name in enumerate(HOSPITALS):
        ages = sorted(line[0] for line in hospital(k)[1:])
        own = np.concatenate([data.train[k].inputs[:, 0], data.validation[k].inputs[:, 0]])
        assert data.scaling is not None
        back = np.sort(own) * data.scaling.std[0] + data.scaling.mean[0]
        assert np.allclose(back, ages, atol=1e-4), name  # float32 of numbers below 100
    assert problem.likelihood == {"kind": "gaussian", "std": "learned", "count": 1}
    assert (problem.training.learner, problem.training.batch) == ("natural-gradient", 50)


def test_sources_are_fingerprinted_by_paths_from_the_net_file(tmp_path: Path) -> None:
    path = write_net(tmp_path / "deep" / "er")
    kept = read_net_file(path).data.sources
    assert dict(kept).keys() == {f"{name}.csv" for name in (*HOSPITALS, "test")}
    content = (path.parent / "hospital-2.csv").read_bytes()
    assert dict(kept)["hospital-2.csv"] == hashlib.sha256(content).hexdigest()
    (path.parent / "hospital-2.csv").write_bytes(content.replace(b"A", b"B", 1))
    with pytest.raises(ValueError, match=r"hospital-2.csv: expected the data that the run began"):
        check_unchanged(read_net_file(path).data.sources, kept)
    moved = write_net(tmp_path / "elsewhere")
    assert read_net_file(moved).data.sources == kept


def order_of(problem: Any) -> list[tuple[str, int]]:
    """Whose data are where: agents, and the number of the hospital whose ages they have."""
    ages = [{line[0] for line in hospital(k)[1:]} for k in range(3)]
    found = []
    for name, part in zip(problem.data.names, problem.data.train, strict=True):
        own = set(part.inputs[:, 0].astype(int).tolist())
        found.append((name, next(k for k in range(3) if own <= ages[k])))
    return found


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ("hospital-*.csv", ["hospital-10", "hospital-1", "hospital-2"]),
        ("hospital-*.csv", ["10", "1", "2"]),
        (
            ["hospital-2.csv", "hospital-10.csv", "hospital-1.csv"],
            ["hospital-10", "hospital-1", "hospital-2"],
        ),
        ({"c": "hospital-1.csv", "b": "hospital-10.csv", "d": "hospital-2.csv"}, ["b", "c", "d"]),
    ],
)
def test_files_are_matched_with_the_networks_names(
    tmp_path: Path, files: Any, names: list[str]
) -> None:
    path = write_net(
        tmp_path, data={"files": files, "standardise": False}, network={"names": names}
    )
    assert order_of(read_net_file(path)) == list(zip(names, (2, 0, 1), strict=True))


def test_lists_keep_their_order_without_names(tmp_path: Path) -> None:
    files = ["hospital-2.csv", "hospital-10.csv", "hospital-1.csv"]
    path = write_net(tmp_path, data={"files": files, "standardise": False})
    found = order_of(read_net_file(path))
    assert found == [("hospital-2", 1), ("hospital-10", 2), ("hospital-1", 0)]


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for k, town in enumerate(("ulm", "jena", "bonn")):
        write_csv(tmp_path / town / "data.csv", hospital(k))
    path = write_net(
        tmp_path, data={"files": "*/data.csv"}, network={"names": ["ulm", "jena", "bonn"]}
    )
    assert read_net_file(path).data.names == ("ulm", "jena", "bonn")
    write_csv(tmp_path / "ulm" / "other.csv", hospital(5))
    files = ["ulm/data.csv", "jena/data.csv", "ulm/other.csv"]
    again = write_net(tmp_path, data={"files": files})
    with pytest.raises(ValueError, match=r"data.files: expected files of distinct names.* and "):
        read_net_file(again)


def test_a_column_names_the_agents(tmp_path: Path) -> None:
    lines = [line for k in range(3) for line in hospital(k)[1:]]
    head, agents = hospital(0)[0], [k for k in (7, 10, 9) for _ in range(20)]
    everything = [[*head, "site"], *([*x, k] for x, k in zip(lines, agents, strict=True))]
    data = {"files": None, "file": "all.csv", "agent": "site", "standardise": False}
    path = write_net(tmp_path, data=data)
    write_csv(tmp_path / "all.csv", everything)
    problem = read_net_file(path)
    assert order_of(problem) == [("7", 0), ("9", 2), ("10", 1)]
    assert problem.data.features == ("age", "score")


def test_a_share_is_held_out_for_the_test_before_anything_is_dealt(tmp_path: Path) -> None:
    data = {
        "files": None,
        "file": "hospital-1.csv",
        "test": 0.25,
        "validation": 0.2,
        "standardise": False,
        "deal": {"by": "sizes", "sizes": [2, 1, 1]},
    }
    parts = read_net_file(write_net(tmp_path, data=data)).data
    assert parts.test is not None
    assert len(parts.test) == 5
    pairs = zip(parts.train, parts.validation, strict=True)
    # 15 rows, cut at 15 · 2/4 = 7.5 and 15 · 3/4 = 11.25, rounded.
    assert [len(a) + len(b) for a, b in pairs] == [8, 3, 4]
    every = [*parts.train, *parts.validation, parts.test]
    seen = sorted(float(x) for part in every for x in part.inputs[:, 1])
    assert np.allclose(seen, sorted(line[1] for line in hospital(0)[1:]), rtol=1e-6)
    other = read_net_file(write_net(tmp_path, data={**data, "deal": {"by": "balanced"}})).data
    assert other.test is not None
    assert np.array_equal(other.test.inputs, parts.test.inputs)


CLASSES = {"kind": "classes", "std": None}
ALL = {"files": None, "file": "a.csv"}
DIGITS: dict[str, Any] = {"files": None, "target": None, "test": 0.1, "builtin": "digits"}


@pytest.mark.parametrize(
    ("deal", "held"),
    [
        ({"by": "labels", "groups": [[0, 1, 2], ["3", "4"], [5, 6, 7, 8, 9]]}, [3, 2, 5]),
        ({"by": "balanced"}, [10, 10, 10]),
        ({"by": "dirichlet", "alpha": 0.1}, None),
    ],
)
def test_built_in_data_are_dealt(tmp_path: Path, deal: dict[str, Any], held: Any) -> None:
    path = write_net(tmp_path, data={**DIGITS, "deal": deal}, likelihood=CLASSES)
    problem = read_net_file(path)
    assert problem.likelihood == {"kind": "classes", "count": 10}
    assert problem.data.input_shape == (1, 8, 8)
    classes = [len(np.unique(part.labels)) for part in problem.data.train]
    assert held is None or classes == held
    total = [*problem.data.train, *problem.data.validation, problem.data.test]
    assert sum(map(len, total)) == 1797


def test_the_papers_splits_go_by_name(tmp_path: Path) -> None:
    data = {**DIGITS, "deal": {"by": "star-fmnist-1"}, "validation": 0.0, "test": 0.0}
    network = {"topology": "star", "agents": 9}
    problem = read_net_file(write_net(tmp_path, data=data, network=network, likelihood=CLASSES))
    assert np.unique(problem.data.train[0].labels).tolist() == [0, 2, 3, 4, 6, 8]
    assert problem.data.notes[0].endswith("examples are nobody's")
    fewer = write_net(tmp_path, data=data, likelihood=CLASSES)
    with pytest.raises(ValueError, match=r"data.deal, star-fmnist-1: expected 3 agents, .*got 9"):
        read_net_file(fewer)
    assert "star-fmnist-1" in DEALINGS


def test_folders_of_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for site in ("x", "y", "z", "test", "other"):
        for name in ("cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"):
            place = tmp_path / "sites" / site / name
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (6, 5), dtype=np.uint8)).save(place)
    files = [f"sites/{site}" for site in "xyz"]
    data = {
        "files": files,
        "target": None,
        "test": "sites/test",
        "other": "sites/other",
        "size": [4, 4],
        "validation": 0.5,
    }
    net = {"hidden": [5], "convolutions": [2]}
    problem = read_net_file(write_net(tmp_path, data=data, likelihood=CLASSES, net=net))
    assert problem.data.classes == ("cat", "dog")
    assert problem.data.names == ("x", "y", "z")
    assert [part.labels.tolist() for part in problem.data.train] == [[0, 1]] * 3
    assert problem.data.other is not None
    assert problem.data.other.shape == (4, 1, 4, 4)
    architecture = problem.module(outputs=2)
    # 3 · 3 · 2 + 2 of the convolution, 2 · 2 · 2 · 5 + 5 and 5 · 2 + 2 of the dense layers
    assert architecture.parameters == 20 + 45 + 12
    assert architecture.input_shape == (1, 4, 4)


def test_arrays_and_idx_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for site in "uvw":
        words, classes = rng.integers(0, 9, size=(12, 4)), np.array(["no", "yes"] * 6)
        np.savez(tmp_path / f"{site}.npz", inputs=words, labels=classes)
        head = bytes([0, 0, 8, 3]) + b"".join(k.to_bytes(4, "big") for k in (6, 2, 2))
        pixels = rng.integers(0, 256, 24, dtype=np.uint8).tobytes()
        (tmp_path / f"{site}-images-idx3-ubyte").write_bytes(head + pixels)
        labels = bytes([0, 0, 8, 1, 0, 0, 0, 6, 0, 1, 2, 0, 1, 2])
        (tmp_path / f"{site}-labels-idx1-ubyte").write_bytes(labels)
    data = {"files": "*.npz", "target": None, "test": 0.25, "tokens": True}
    tokens = read_net_file(write_net(tmp_path, data=data, likelihood=CLASSES)).data
    assert (tokens.names, tokens.classes) == (("u", "v", "w"), ("no", "yes"))
    assert tokens.train[0].inputs.dtype == np.int64
    assert tokens.scaling is None
    assert tokens.test is not None
    assert len(tokens.test) == 9
    data = {"files": "*-images-idx3-ubyte", "target": None, "test": None}
    images = read_net_file(write_net(tmp_path, data=data, likelihood=CLASSES)).data
    assert images.input_shape == (1, 2, 2)
    assert images.test is None
    assert len(images.sources) == 6


def test_nets_that_do_not_fit_the_inputs_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    problem = read_net_file(write_net(tmp_path, net={"convolutions": [4]}))
    with pytest.raises(ValueError, match=r"net.convolutions: expected images of shape"):
        problem.module(outputs=1)


def test_several_targets(tmp_path: Path) -> None:
    data = {"target": ["ward", "stay"], "features": ["age"]}
    parts = [{"kind": "classes"}, {"kind": "gaussian", "std": "input"}]
    heads = {"kind": "heads", "std": None, "parts": parts}
    problem = read_net_file(write_net(tmp_path, data=data, likelihood=heads))
    assert problem.likelihood == {
        "kind": "heads",
        "parts": [
            {"kind": "classes", "count": 2},
            {"kind": "gaussian", "std": "input", "count": 1},
        ],
    }
    assert problem.data.train[0].labels.shape == (18, 2)
    assert problem.data.target_scaling is not None
    assert problem.data.target_scaling.std[0] == 1
    both = read_net_file(write_net(tmp_path, data={"target": ["score", "stay"]}))
    assert both.likelihood == {"kind": "gaussian", "std": "learned", "count": 2}
    fixed = read_net_file(write_net(tmp_path, likelihood={"std": 0.5}))
    assert fixed.data.target_scaling is None  # its unit is the user's


def test_networks_are_those_of_problem_files(tmp_path: Path) -> None:
    assert isinstance(read_net_file(write_net(tmp_path)).network, Network)
    changes = {"kind": "links", "up": 0.5}
    network = read_net_file(write_net(tmp_path, network={"changes": changes})).network
    assert isinstance(network, RandomLinks)


def test_influence_by_the_data(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from peerbayes.nets.reading import plan_of

    path = write_net(tmp_path, training={"influence": "data"})
    write_csv(tmp_path / "hospital-1.csv", hospital(3, rows=200))
    plan = plan_of(read_net_file(path), None, None, source=str(path))
    held = [len(examples) for examples in plan.data.train]
    assert max(held) == 180
    shares = np.array(held) / sum(held)
    np.testing.assert_allclose(plan.network.stationary_distribution, shares, rtol=1e-9)  # type: ignore[union-attr]
    changing = write_net(
        tmp_path, training={"influence": "data"}, network={"changes": {"kind": "links", "up": 0.5}}
    )
    with pytest.raises(ValueError, match=r'toml: training: influence: expected "network", .* that'):
        plan_of(read_net_file(changing), None, None, source=str(changing))


def test_missing_inputs_are_filled_on_request(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from empirical.train.trained import load_trained
    from peerbayes.nets.reading import plan_of
    from peerbayes.nets.run import run_plan
    from peerbayes.settings.nets import TrainFile

    path = write_net(tmp_path, data={"missing": "mean", "missing_marks": ["n.d."]})
    table = hospital(0)
    table[3][1] = "n.d."
    write_csv(tmp_path / "hospital-1.csv", table)
    problem = read_net_file(path)
    text = path.read_text(encoding="utf-8")
    assert text.count('missing = "mean"\n') == 1
    refusing = tmp_path / "refusing.toml"
    for words in ('missing = "refuse"\n', ""):  # the same, in so many words or none
        refusing.write_text(text.replace('missing = "mean"\n', words), encoding="utf-8")
        with pytest.raises(ValueError, match=r"hospital-1\.csv.*score.*row 3"):
            read_net_file(refusing)
    assert problem.data.features == ("age", "score", "score=missing")
    assert "missing inputs filled with the mean, and marked: score" in problem.data.notes
    trained = run_plan(plan_of(problem, None, None, source=str(path)), TrainFile()).trained
    assert (trained.features, trained.input_shape) == (("age", "score"), (2,))
    trained.save(tmp_path / "kept")
    gap = [[40.0, np.nan]]
    found = load_trained(tmp_path / "kept").predict(gap)
    assert np.array_equal(found, trained.predict(gap))
    with pytest.raises(ValueError, match=r"shape \(n, 2\), .* features age, score"):
        trained.predict([["40", "?", "eye"]])
    with pytest.raises(ValueError, match=r"give rows of numbers; read a file of them first$"):
        trained.predict(tmp_path / "hospital-1.csv")
    mean = trained.filling.mean[1]
    assert not np.array_equal(found, trained.predict([[40.0, mean]]))  # the mark counts


def test_classes_that_are_numbers_are_named_where_they_are_dealt(tmp_path: Path) -> None:
    lines = [["a", "y"], *([k / 7, 1 + k % 3] for k in range(30))]
    write_csv(tmp_path / "a.csv", lines)
    data = {**ALL, "target": "y", "test": None, "deal": {"by": "labels", "groups": [[0], [1], [2]]}}
    path = write_net(tmp_path, data=data, likelihood=CLASSES)
    write_csv(tmp_path / "a.csv", lines)
    said = "groups, by numbers from 0, give agents these classes: 0: '1'; 1: '2'; 2: '3'"
    assert said in read_net_file(path).data.notes
    data["deal"] = {"by": "labels", "groups": [["1"], ["2"], ["3"]]}
    notes = read_net_file(write_net(tmp_path, data=data, likelihood=CLASSES)).data.notes
    assert not any("groups" in note for note in notes)
    data["deal"] = {"by": "labels", "groups": [[1], [2], [3]]}
    with pytest.raises(
        ValueError, match=r"groups\[2\]: expected numbers .* write .3. in quotation"
    ):
        read_net_file(write_net(tmp_path, data=data, likelihood=CLASSES))


@pytest.mark.parametrize(
    ("inputs", "labels", "says"),
    [
        ((8, 8, 3), [0, 1] * 3, r"toml: net.convolutions: expected images .*moveaxis"),
        ((4,), np.eye(3)[[0, 1, 2] * 2], "likelihood: expected one target .* take their argmax"),
        ((4,), [1] * 6, "data: expected labels of at least two classes, got a single one"),
    ],
)
def test_arrays_of_other_shapes_are_refused(
    tmp_path: Path, inputs: tuple[int, ...], labels: Any, says: str
) -> None:
    for name in ("site [A]", "site [B]", "site [C]"):
        values = np.random.default_rng(0).normal(size=(6, *inputs))
        np.savez(tmp_path / f"{name}.npz", inputs=values, labels=labels)
    files = [f"site [{k}].npz" for k in "ABC"]
    data = {"files": files, "target": None, "test": None}
    path = write_net(tmp_path, data=data, likelihood=CLASSES, net={"convolutions": [2]})
    with pytest.raises(ValueError, match=says):
        read_net_file(path)


OWN = """
import torch
from helper import units

def build():
    return torch.nn.Linear(2, units)

def broken():
    return 1 / 0
"""


def test_a_module_of_ones_own(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    own = {"hidden": None, "module": "own.py:build"}
    path = write_net(tmp_path, net=own)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "helper.py").write_text("units = 4\n")
    problem = read_net_file(path)
    module = problem.module(outputs=1)
    assert isinstance(module, torch.nn.Linear)
    assert module.out_features == 4
    digest = hashlib.sha256((tmp_path / "own.py").read_bytes()).hexdigest()
    assert ("own.py", digest) in problem.data.sources
    bad = read_net_file(write_net(tmp_path, net={**own, "module": "own.py:broken"}))
    with pytest.raises(ValueError, match=r"own.py, line 9: expected broken\(\) .*ZeroDivision"):
        bad.module(outputs=1)
    lost = read_net_file(write_net(tmp_path, net={**own, "module": "own.py:biuld"}))
    with pytest.raises(ValueError, match=r"own.py: expected a function 'biuld'.* 'build'\?"):
        lost.module(outputs=1)
    (tmp_path / "own.py").write_text("def build(:\n")
    with pytest.raises(ValueError, match=r"own.py, line 1: expected a file that can be imported"):
        problem.module(outputs=1)


# What is changed in a good net file, and what is said of it.
BAD: list[tuple[Mapping[str, Mapping[str, Any]], str]] = [
    ({"data": {"fles": "x"}}, "data.fles: expected .* 'files'"),
    ({"nets": {"a": 1}}, "nets: expected one of the keys name, .* 'net'"),
    ({"training": {"rounds": None}}, "training.rounds: expected the key 'rounds'"),
    ({"training": {"batch": "5"}}, "training.batch: expected a whole number"),
    ({"data": {"files": None}}, "data: expected exactly one of files, file, builtin"),
    ({"data": {"file": "a.csv"}}, "data: expected exactly one .*files and file"),
    ({"data": ALL}, "data: expected exactly one of agent"),
    ({"data": {"deal": {"by": "balanced"}}}, "data.deal: expected it only where"),
    ({"data": {**ALL, "deal": {"by": "dirichlt"}}},
     "data.deal.by: expected labels, .*did you mean 'dirichlet'"),
    ({"data": {**ALL, "deal": {"by": "dirichlet"}}}, "data.deal.alpha: expected the key 'alpha'"),
    ({"data": {**ALL, "deal": {"by": "balanced", "alpha": 1}}},
     "data.deal.alpha: expected no such key"),
    ({"data": {"validation": 1}}, "data.validation: expected a share .*got 1"),
    ({"data": {"test": -0.5}}, "data.test: expected a share .*got -0.5"),
    ({"data": {"files": None, "builtin": "mnits", "deal": {"by": "balanced"}}},
     "data.builtin: expected one of .*'mnist'"),
    ({"data": {"files": None, "builtin": "digits", "deal": {"by": "balanced"}}},
     "data.target: expected no such key beside builtin"),
    ({"net": {"hidden": None}}, "net: expected hidden, .*got none"),
    ({"net": {"module": "a.py:f"}}, "net: expected hidden, .*got hidden and module"),
    ({"net": {"hidden": None, "module": "a.py"}},
     "net.module: expected a Python file and a function"),
    ({"net": {"hidden": None, "module": "a.py:f"}}, "a.py: expected a file"),
    ({"likelihood": {"kind": "gauss"}}, "likelihood.kind: .*'gaussian'"),
    ({"likelihood": {"std": None}}, "likelihood.std: expected the key 'std'"),
    ({"likelihood": {"std": 0}}, "likelihood.std: expected a number above 0"),
    ({"likelihood": {"std": 1}, "data": {"standardise_target": True}},
     "data.standardise_target: expected a gaussian"),
    ({"likelihood": {"kind": "heads", "std": None, "parts": [{"kind": "counts"}] * 2}},
     "likelihood.parts: expected a likelihood for each of 1"),
    ({"likelihood": CLASSES, "data": {"target": ["ward", "stay"]}},
     "likelihood: expected one target for classes"),
    ({"network": {"agents": 4}}, "data.files: expected 4 files, .*got 3"),
    ({"network": {"names": ["a", "b", "c"]}},
     "data.files: expected the names of the network, 'a' among them, got hospital-1"),
    ({"data": {"files": "clinic-*.csv"}}, "data.files: expected files that match"),
    ({"data": {"files": ["a.csv", "a.csv", "b.csv"]}}, "data.files: .*'a.csv' twice"),
    ({"data": {"target": None}}, "data.target: expected one of the columns age, "),
    ({"data": {"test": "tset.csv"}}, "tset.csv: expected a file, got none"),
    ({"network": {"topology": "rign"}}, "network.topology: expected one of"),
    ({"network": {"names": ["a", "a", "b"]}}, "names.* a"),
    ({"data": {"target": "depth"}}, "depth"),
    ({"data": {"test": "hospital-1.csv"}}, "data.test: expected .* is for training"),
    ({"training": {"settings": {"rate": [1]}}}, "training.settings.rate.* a list"),
    ({"training": {"rounds": 0}}, "training.rounds"),
    ({"messages": {}}, "messages.codec"),
    ({"messages": {"codec": "plain", "settings": {"kind": ["float16"]}}},
     "messages.settings.kind.* a list"),
    ({"messages": {"codec": "seeds", "missing": "ours"}}, "messages.missing"),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "message"), BAD, ids=range(len(BAD)))
def test_bad_net_files_are_refused(
    tmp_path: Path, tables: Mapping[str, Mapping[str, Any]], message: str
) -> None:
    path = write_net(tmp_path, **tables)
    with pytest.raises(ValueError, match=message) as caught:
        read_net_file(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(str(tmp_path))  # the net file, or the data file beside it


SPOILT: list[tuple[str, Callable[[str], str], str]] = [
    ("1", lambda text: text.replace(",", ";"), 'hospital-1.csv.* separator = ";"'),
    ("2", lambda text: text + "40,two,A,1\n", "hospital-2.csv, column 'score'.* 'two'"),
    ("2", lambda text: text.splitlines()[0], "hospital-2.csv"),
    ("2", lambda text: text.replace("stay", "depth"), "hospital-2.csv: expected a column 'stay'"),
    ("10", lambda text: text + "40,1,A,nan\n", "hospital-10.csv.* nan"),
]


@pytest.mark.parametrize(("which", "spoil", "message"), SPOILT, ids=range(len(SPOILT)))
def test_tables_that_cannot_be_read_are_named(
    tmp_path: Path, which: str, spoil: Callable[[str], str], message: str
) -> None:
    path, table = write_net(tmp_path), tmp_path / f"hospital-{which}.csv"
    table.write_text(spoil(table.read_text()))
    with pytest.raises(ValueError, match=message) as caught:
        read_net_file(path)
    assert "\n" not in str(caught.value)


MODULES = {
    "leaving.py": "import sys\n\ndef build():\n    sys.exit(3)\n",
    "wide.py": "from torch import nn\n\ndef build():\n    return nn.Linear(2, 7)\n",
}
# What can be read, but not be trained.
UNFIT: list[tuple[Mapping[str, Mapping[str, Any]], str]] = [
    ({"training": {"learner": "sgd"}}, "net.toml: training: learner: expected one of .* averaging"),
    ({"training": {"settings": {"pace": 1}}}, "pace"),
    ({"training": {"settings": {"rat": 1}}}, "net.toml: training.* mean 'rate'"),
    ({"training": {"settings": {"rate": float("nan")}}}, "rate: expected .* got nan"),
    ({"messages": {"codec": "sing"}}, "net.toml: messages: codec.* mean 'sign'"),
    ({"messages": {"codec": "seeds", "settings": {"share": 0}}},
     "net.toml: messages: share: expected a number above 0 and at most 1, got 0"),
    ({"messages": {"codec": "seeds", "settings": {"shar": 1}}},
     "net.toml: messages.* mean 'share'"),
    ({"messages": {"codec": "low-rank", "settings": {"rank": 0}}},
     "net.toml: messages: rank: expected a whole number of at least 1, got 0"),
    ({"messages": {"codec": "difference", "settings": {"inner": {"codec": "sin"}}}},
     "net.toml: messages: codec.* mean 'sign'"),
    ({"messages": {"codec": "seeds", "missing": "zero"}},
     "missing: expected 'own' for learners that keep beliefs"),
    ({"net": {"hidden": None, "module": "leaving.py:build"}}, "leaving.py, line 4.* SystemExit"),
    ({"net": {"hidden": None, "module": "wide.py:build"}}, "module.* 7"),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "message"), UNFIT, ids=range(len(UNFIT)))
def test_what_cannot_be_trained_is_refused(
    tmp_path: Path, tables: Mapping[str, Mapping[str, Any]], message: str
) -> None:
    pytest.importorskip("torch")
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    path = write_net(tmp_path, **tables)
    with pytest.raises(ValueError, match=message) as caught:
        train_file(path)
    assert "\n" not in str(caught.value)


def test_lines_of_toml_are_named(tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text('name = "x"\n[network\n')
    with pytest.raises(ValueError, match=r"net.toml: line 2, column 9: expected valid TOML"):
        read_net_file(tmp_path / "net.toml")


def test_every_built_in_has_its_name() -> None:
    assert DATASETS == BUILTINS


def test_the_seed_decides_what_is_held_out(tmp_path: Path) -> None:
    path = write_net(tmp_path)
    first, same, other = (read_net_file(path, seed=seed).data for seed in (None, 0, 1))
    assert np.array_equal(first.validation[0].inputs, same.validation[0].inputs)
    assert not np.array_equal(first.validation[0].labels, other.validation[0].labels)
    fixed = write_net(tmp_path, data={"seed": 0})
    again = read_net_file(fixed, seed=1)
    assert np.array_equal(first.validation[0].inputs, again.data.validation[0].inputs)
    assert again.training.seed == 1


def test_documents_are_as_they_were_written() -> None:
    document = net_document()
    data = {**document["data"], "files": ["hospital-*.csv"], "target": ["stay"]}
    shown = specification_of(document, source="").document()
    assert shown == {**document, "data": data}
    assert specification_of(shown, source="").document() == shown
