"""Net files that ask for federated averaging, and what does not fit them."""

from pathlib import Path

import numpy as np
import pytest

import peerbayes as pb
from peerbayes.live.preparing import net_shares
from tests.peerbayes.nets.support import NUMBERS, write_net

pytest.importorskip("torch")
pytest.importorskip("safetensors")


def test_a_server_draws_clients(tmp_path: Path) -> None:
    """FedAvg from a net file: two of three agents learn in a round, and all have the same net."""
    server = {**NUMBERS, "network": {"topology": "complete", "agents": 3}}
    path = write_net(tmp_path, server, clients=2, learner="averaging", influence="data")
    outcome = pb.train_file(path)
    trained, record = outcome.trained, outcome.record()
    assert (trained.mean == trained.mean[0]).all()
    assert np.isnan(trained.history.loss).sum() == 6  # one agent rests in each of six rounds
    assert trained.history.bytes_sent[-1] == 6 * 2 * 2 * 4 * trained.net.parameters
    assert record.settings.clients == 2
    for changes, words in (
        ({"clients": 4}, "clients: expected at most 3"),
        ({"learner": "sites"}, "learner: expected one whose agents keep nothing"),
        ({"clients": 0}, "training.clients: expected"),
    ):
        given = {"clients": 2, "learner": "averaging", **changes}
        with pytest.raises(ValueError, match=words):
            pb.train_file(write_net(tmp_path, server, **given))
    path = {**NUMBERS, "network": {"topology": "path", "agents": 3}}
    with pytest.raises(ValueError, match="network: expected one row of weights for all agents"):
        pb.train_file(write_net(tmp_path, path, clients=2))
    coded = {**server, "messages": {"codec": "sign"}}
    with pytest.raises(ValueError, match="codec: expected messages without a codec"):
        pb.train_file(write_net(tmp_path, coded, clients=2, learner="averaging"))
    with pytest.raises(ValueError, match=r"training\.clients: expected neighbours"):
        net_shares(str(write_net(tmp_path, server, clients=2)))
