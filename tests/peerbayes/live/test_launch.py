"""Before live agents run: their options, addresses and ports, and who is there already."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import peerbayes as pb
from peerbayes.cli import main
from peerbayes.live.members import robust_keys
from peerbayes.live.processes import free_ports
from peerbayes.live.transport import Inbox
from peerbayes.live.zenoh_transport import Endpoints, ZenohTransport, open_session
from peerbayes.settings import Launch
from peerbayes.settings.declared import made_flat


@pytest.mark.parametrize(
    ("command", "word"),
    [
        *((f"peer two-coins {options}", word) for options, word in (
            ("", "--agent"), ("--agent 9", "agent"), ("--agent mast", "agent"),
            ("--agent 0 --robust clip", "--robust"),
            ("--agent 0 --robust trimmed-mean:x", "--robust"),
            ("--agent 0 --pace fast", "--pace"), ("--agent 0 --evidence /none.csv", "--evidence"),
            ("--agent 0 --keys /none", "/none"), ("--agent 0 --members /none", "/none"),
            ("--agent 0 --listen nowhere", "nowhere"),
        )),
        ("peer none.share", "none.share"),
        ("launch diabetes", "regression"),
        ("launch rotating-star", "PeriodicNetwork"),
        ("launch two-coins --robust clip:-1", "radius"),
        ("launch two-coins --patience -1", "--patience"),
    ],
)  # fmt: skip
def test_wrong_options_are_one_line(
    command: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert word in printed.err


@pytest.mark.parametrize(
    "settings",
    [{"rounds": 0}, {"pace": "fast"}, {"on_loss": "none"}, {"interval": -1}, {"seed": -1},
     {"robust": "clip:0"}, {"patience": float("nan")}],
)  # fmt: skip
def test_requests_are_checked_before_anything_runs(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        pb.launch("two-coins", made_flat(Launch, settings))


def test_robust_rules_by_name() -> None:
    assert robust_keys("clip:0.5") == {"rule": "clip", "radius": 0.5}
    assert robust_keys(None) is None


def test_a_missing_package_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "zenoh" else real(name)
    )
    assert main(["launch", "two-coins", "--out", str(tmp_path)]) == 2
    assert "pip install -c constraints.txt '.[live]'" in capsys.readouterr().err


def test_live_modules_import_no_heavy_packages() -> None:
    code = """
import importlib, pkgutil, sys
import peerbayes.live.agent, peerbayes.live.launching, peerbayes.live.zenoh_transport
assert not {"torch", "zenoh", "cryptography"} & set(sys.modules)
names = [one.name for one in pkgutil.iter_modules(peerbayes.live.__path__)]
for name in names:
    if not name.startswith("net"):
        importlib.import_module(f"peerbayes.live.{name}")
# What starts the agents of a net does not wait for torch.
import peerbayes.live.preparing, peerbayes.live.nets
peerbayes.live.preparing.net_shares("star-mnist-1")
assert len(names) > 20 and "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ports are given back at once")
def test_ports_are_given_to_nobody_else_and_opened_again_and_again() -> None:
    with free_ports(3) as ports:
        assert len({*ports}) == 3
        for port in [*ports, *ports]:  # an agent that returns opens its port again
            with open_session(Endpoints(listen=[f"tcp/127.0.0.1:{port}"])):
                socket.create_connection(("127.0.0.1", port), timeout=60).close()
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", port))
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as its last talk lingers
        other.bind(("127.0.0.1", ports[0]))


def test_an_agent_that_is_there_behind_a_router_is_not_joined_by_another() -> None:
    with free_ports(1) as (port,):
        at = [f"tcp/127.0.0.1:{port}"]
        first, second = (
            ZenohTransport("0" * 16, "0", Endpoints(connect=at, router=True)) for _ in range(2)
        )
        router = open_session(Endpoints(listen=at, settings={"mode": '"router"'}))
        with closing(router), closing(first):
            first.open(Inbox(), names=[], limit=1000)
            with pytest.raises(ValueError, match="agent: expected no agent '0' in the network yet"):
                second.open(Inbox(), names=[], limit=1000)


def test_who_waits_for_a_router_hears_that_it_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import zenoh

    asked, released = iter([False, False, True]), threading.Event()
    monkeypatch.setattr(zenoh, "open", lambda config: released.wait(60))
    with pytest.raises(ValueError, match="connect: expected a router that answers, got none"):
        open_session(
            Endpoints(connect=["tcp/127.0.0.1:1"], router=True), stopped=lambda: next(asked)
        )
    released.set()


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("tcp/127.0.0.1:99999", "a port from {first} to 65535"),
        ("tls/127.0.0.1:-1", "a port from {first} to 65535"),
        ("tcp/127.0.0.1", "a port from {first} to 65535"),
        ("tcp/::1:7549", "brackets around an IPv6 address"),
        ("tcp/no.such.host.invalid:7549", "a host with an address"),
        ("tcp/a..b:7549", "a host with an address"),
        ("tcp/:7549", "a host with an address"),
        ("localhost:7549", "a protocol, a host and a port"),
    ],
)
@pytest.mark.parametrize(
    ("command", "option", "first"),
    [
        ("peer two-coins --agent 0 --rounds 1 --gather 0", "connect", 1),
        ("peer two-coins --agent 0 --rounds 1 --gather 0", "listen", 0),
        ("watch two-coins --seconds 0.1", "connect", 1),
        ("router --seconds 0.1", "listen", 0),
    ],
)
def test_addresses_that_cannot_be_are_refused_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    address: str, wanted: str, command: str, option: str, first: int,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), f"--{option}", address]) == 2
    said = capsys.readouterr().err
    start = f"peerbayes: {option}: expected {wanted.format(first=first)}"
    assert (said.startswith(start), said.count("\n")) == (True, 1)
    assert not list(tmp_path.iterdir())
