"""A net file over processes: what they leave is, to the last bit, what one process leaves."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("zenoh")

import peerbayes as pb  # noqa: E402
from peerbayes.live.agent import own_file, state_folder  # noqa: E402
from peerbayes.live.frames import arrays, split  # noqa: E402
from tests.peerbayes.nets.support import NUMBERS, run, write_net  # noqa: E402

# Two agents, for each process takes seconds to load torch.
TWO = {
    **NUMBERS,
    "network": {"weights": [[0.7, 0.3], [0.4, 0.6]]},
    "data": {**NUMBERS["data"], "files": ["well-0.csv", "well-1.csv"]},
}


def test_a_launched_net_file_leaves_the_beliefs_of_train(tmp_path: Path) -> None:
    path, out = write_net(tmp_path, TWO), tmp_path / "out"
    done = run("-m", "peerbayes", "launch", path, "--json", "--quiet", "--out", out)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [agent["rounds"] for agent in document["agents"]] == [6, 6]  # as the file says
    assert all(agent["done"] for agent in document["agents"])
    trained = pb.train_file(path).trained
    for row, agent in enumerate(document["agents"]):
        assert agent["belief"]["judged_by"] == "8 validation examples of its own"
        state = own_file(state_folder(out, document["network"]), agent["agent"], "state")
        kept = arrays(*split(state.read_bytes()))
        np.testing.assert_array_equal(kept["training.learner.mean"][0], trained.mean[row].numpy())
    receipts = document["reports"][0]["receipts"]
    assert receipts["new"] + receipts["early"] == 6
