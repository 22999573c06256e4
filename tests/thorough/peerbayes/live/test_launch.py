"""Live agents as processes: who outlives whom, two of one name, new keys, and strangers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import peerbayes as pb
from exact.whole_files import lock
from peerbayes.cli import main
from peerbayes.live.keys import new_keys
from peerbayes.live.preparing import members_of
from peerbayes.live.processes import free_ports
from peerbayes.live.security import KeyFolder
from peerbayes.live.transport import key
from tests.peerbayes.live.networks import eventually, keys_of, session
from tests.thorough.peerbayes.live.test_basic import exact_beliefs

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python with arguments; no process outlives the test."""
    with ExitStack() as stack:

        def started(*arguments: object) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, *map(str, arguments)], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield started


def test_no_agent_outlives_a_launch_that_is_killed(tmp_path: Path, start: Start) -> None:
    arguments = ["launch", "two-coins", "--quiet", "--out", tmp_path, "--interval", "0.05"]
    launch = start("-m", "peerbayes", *arguments)
    assert eventually(lambda: len(list(tmp_path.glob("live-*/*.lock"))) == 3)
    assert eventually(lambda: len(list(tmp_path.glob("live-*/*.state"))) == 2)
    launch.kill()
    # The locks are free once the processes are gone.
    for state in tmp_path.glob("live-*/*.state"):
        with state.with_suffix(".lock").open("ab") as file:
            assert eventually(lambda file=file: lock(file.fileno()))


def test_keys_made_anew_hold_for_states_that_were_kept(tmp_path: Path) -> None:
    """The list of members in a state has the keys of then; only the list given now is signed."""
    for rounds in (10, 20):
        keys = new_keys(members_of(pb.load("two-coins")), tmp_path / f"keys {rounds}")
        found = pb.launch(
            "two-coins", rounds=rounds, keys=keys, resume=rounds > 10, patience=600, out=tmp_path
        ).found
        assert [agent.refused for agent in found.agents] == [0, 0]
        heard = [r["receipts"]["new"] + r["receipts"]["early"] for r in found.reports]
        assert min(heard) == 10
    exact = np.exp(exact_beliefs(20, 0)[0])
    assert found.agents[0].probabilities == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("secure", [False, True])
def test_the_second_process_of_an_agent_ends_and_its_neighbour_says_so(
    tmp_path: Path, start: Start, secure: bool
) -> None:
    keys = ["--keys", tmp_path / "keys"] if secure else []
    if secure:
        assert main(["keys", "new", "two-coins", "--out", str(keys[1]), "--quiet"]) == 0
    with free_ports(1) as (port,):
        end = f"{'tls' if secure else 'tcp'}/127.0.0.1:{port}"

        def agent(name: str, how: str, out: str) -> subprocess.Popen[str]:
            own = ["--agent", name, how, end, "--out", tmp_path / out]
            pace = ["--interval", "0.05", "--gather", "60"]
            return start("-m", "peerbayes", "peer", "two-coins", *own, *pace, *keys)

        one, both = agent("1", "--listen", "a"), [agent("0", "--connect", out) for out in "bc"]
        assert eventually(lambda: any(other.poll() is not None for other in both))
        (second,) = [other for other in both if other.poll() is not None]
        (first,) = {*both} - {second}
        assert second.returncode == 2
        assert "only process that speaks as '0', got another" in second.communicate()[1]
        for other in (first, one):
            assert other.poll() is None
            other.send_signal(signal.SIGINT)
        said = one.communicate(timeout=60)
        assert (one.returncode, first.wait(60)) == (0, 0)
        assert said[1].count("two processes speak as agent '0'") == 1
        assert "two processes spoke as 0" in said[0]
        assert "two processes" not in first.communicate()[0]


COUNTING = """
import sys
from pathlib import Path
from peerbayes.live.refusals import TransportRefusals
from peerbayes.live.security import KeyFolder
from tests.peerbayes.live.networks import session
folder, end = sys.argv[1:]
with TransportRefusals() as refusals:
    keys = KeyFolder.of_agent(folder, "mast")
    listening = session(keys, ("mast", "rö/of"), listen=end)
    ear = listening.declare_subscriber(f"peerbayes/{keys.network}/**", lambda sample: None)
    print("ready", flush=True)
    for line in sys.stdin:
        print(refusals.counts(), flush=True)
    listening.close()
print("done")
"""


def test_strangers_and_forbidden_messages_are_counted(tmp_path: Path, start: Start) -> None:
    folder = keys_of(tmp_path, "mast", "rö/of", "quay")
    freely = {"access_control": {"enabled": False}}
    with free_ports(1) as (port,):
        end = f"tls/127.0.0.1:{port}"
        child = start("-c", COUNTING, folder, end)
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"

        def counts() -> dict[str, int]:
            child.stdin.write("\n")  # type: ignore[union-attr]
            child.stdin.flush()  # type: ignore[union-attr]
            text = child.stdout.readline()  # type: ignore[union-attr]
            return dict(json.loads(text.replace("'", '"')))

        assert counts() == {}
        own = KeyFolder.of_agent(folder, "rö/of")
        with session(own, (), connect=end, **freely) as speaking:
            assert eventually(lambda: list(speaking.info.peers_zid()))
            for _ in range(7):
                speaking.put(key(own.network, "belief", "mast"), b"x")
                speaking.put(key(own.network, "belief", "rö/of"), b"x")
            assert eventually(lambda: counts() == {"not-allowed": 7})
        # The same names by another authority, and somebody who does not speak TLS at all.
        other = KeyFolder.of_agent(keys_of(tmp_path / "other", "mast", "rö/of"), "rö/of")
        with session(other, (), connect=end, **freely) as speaking:
            assert eventually(lambda: counts().get("not-admitted", 0) >= 1)
            assert not list(speaking.info.peers_zid())
        before = counts()["not-admitted"]
        with session(None, (), connect=f"tcp/127.0.0.1:{port}") as plain:
            assert eventually(lambda: counts()["not-admitted"] > before)
            assert not list(plain.info.peers_zid())
        assert child.communicate("", timeout=60)[0] == "done\n"
        assert child.returncode == 0
