"""What the transport lets through, tried with real sessions on the loopback interface."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import zenoh

from peerbayes.live.processes import free_ports
from peerbayes.live.security import KeyFolder, access_control, zenoh_settings
from peerbayes.live.transport import key
from tests.peerbayes.live.networks import eventually, keys_of, session

# What each may say to mast, of all that it tries; written out by hand.
TRIED = [
    "belief/mast", "belief/rö/of", "belief/quay",
    "report/mast", "report/rö/of", "report/quay",
    "evidence/mast", "evidence/rö/of", "members",
]  # fmt: skip
ALLOWED = {
    "rö/of": {"belief/rö/of", "report/rö/of", "evidence/rö/of", "members"},
    "router": {*TRIED},
    "watcher": set(),
    "quay": set(),  # has keys, but is on no list
}


MEMBERS = ("mast", "rö/of")


class Ear:
    """What arrives at one session, and who is there."""

    def __init__(self, heard: zenoh.Session, network: str) -> None:
        self.got: list[str] = []
        self.here: set[str] = set()
        self._kept = [
            heard.declare_subscriber(f"peerbayes/{network}/**", self._hear),
            heard.liveliness().declare_subscriber(
                key(network, "alive", "*"), self._lives, history=True
            ),
        ]

    def _hear(self, sample: zenoh.Sample) -> None:
        self.got.append(str(sample.key_expr).split("/", 2)[2])

    def _lives(self, sample: zenoh.Sample) -> None:
        change = self.here.add if sample.kind == zenoh.SampleKind.PUT else self.here.discard
        change(str(sample.key_expr).rsplit("/", 1)[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return keys_of(tmp_path_factory.mktemp("access"), "mast", "rö/of", "quay")


@pytest.fixture
def end() -> Iterator[str]:
    """Where a session listens."""
    with free_ports(1) as (port,):
        yield f"tls/127.0.0.1:{port}"


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def keys_for(folder: Path, who: str) -> KeyFolder:
    if who in ("router", "watcher"):
        return KeyFolder.read(folder / who)
    return KeyFolder.of_agent(folder, who)


def path(network: str, tried: str) -> str:
    subject, _, name = tried.partition("/")
    if subject == "evidence":
        return key(network, "evidence", name) + "/sensor"
    return key(network, subject, name or None)  # type: ignore[arg-type]


@pytest.mark.parametrize("who", ALLOWED)
def test_each_may_publish_its_own_alone(
    folder: Path, opened: ExitStack, end: str, who: str
) -> None:
    mast = KeyFolder.of_agent(folder, "mast")
    listening = opened.enter_context(session(mast, MEMBERS, listen=end))
    ear = Ear(listening, mast.network)
    # The speaker obeys nobody: it sends whatever it likes.
    freely = {"access_control": {"enabled": False}}
    speaking = opened.enter_context(session(keys_for(folder, who), (), connect=end, **freely))
    assert eventually(lambda: list(listening.info.peers_zid()))
    tokens = [
        speaking.liveliness().declare_token(key(mast.network, "alive", name))
        for name in ("mast", "rö/of", "quay")
    ]
    expected = {path(mast.network, tried).split("/", 2)[2] for tried in ALLOWED[who]}

    def all_tried() -> bool:
        for tried in TRIED:
            speaking.put(path(mast.network, tried), b"x")
        return expected <= set(ear.got)

    assert eventually(all_tried)
    time.sleep(0.2)  # and nothing more
    all_tried()
    time.sleep(0.2)
    assert set(ear.got) == expected
    shown = {"rö/of": {"r%C3%B6%2Fof"}, "router": {"mast", "r%C3%B6%2Fof", "quay"}}
    assert ear.here == shown.get(who, set())
    del tokens


@pytest.mark.parametrize(("who", "hears"), [("rö/of", True), ("watcher", True), ("quay", False)])
def test_who_is_on_no_list_hears_nothing(
    folder: Path, opened: ExitStack, end: str, who: str, hears: bool
) -> None:
    mast = KeyFolder.of_agent(folder, "mast")
    speaking = opened.enter_context(session(mast, MEMBERS, listen=end))
    freely = {"access_control": {"enabled": False}}
    ear = Ear(
        opened.enter_context(session(keys_for(folder, who), (), connect=end, **freely)),
        mast.network,
    )
    token = speaking.liveliness().declare_token(key(mast.network, "alive", "mast"))
    assert eventually(lambda: list(speaking.info.peers_zid()))

    def said() -> bool:
        speaking.put(key(mast.network, "belief", "mast"), b"x")
        return bool(ear.got) and bool(ear.here)

    assert eventually(said, 60.0 if hears else 0.6) == hears
    assert set(ear.got) == ({"belief/mast"} if hears else set())
    del token


def test_a_router_passes_on_what_is_ones_own_and_no_more(
    folder: Path, opened: ExitStack, end: str
) -> None:
    router, network = KeyFolder.read(folder / "router"), KeyFolder.read(folder / "router").network
    opened.enter_context(session(router, MEMBERS, listen=end, mode="router"))
    first, second = (
        opened.enter_context(session(keys_for(folder, name), MEMBERS, connect=end, mode="client"))
        for name in MEMBERS
    )
    ear = Ear(first, network)
    token = second.liveliness().declare_token(key(network, "alive", "rö/of"))
    forged = second.liveliness().declare_token(key(network, "alive", "quay"))

    def said() -> bool:
        for name in ("rö/of", "mast", "quay"):
            second.put(key(network, "belief", name), b"x")
        return bool(ear.got) and bool(ear.here)

    assert eventually(said)
    time.sleep(0.2)
    assert set(ear.got) == {"belief/r%C3%B6%2Fof"}
    assert ear.here == {"r%C3%B6%2Fof"}
    del token, forged


def test_settings_name_files_that_exist_and_forbid_what_they_do_not_allow(folder: Path) -> None:
    keys = KeyFolder.of_agent(folder, "mast")
    settings = zenoh_settings(keys, members=MEMBERS)
    assert json.loads(settings["transport/link/protocols"]) == ["tls"]
    assert json.loads(settings["transport/link/tls/enable_mtls"]) is True
    for name, text in settings.items():
        if name.endswith(("certificate", "private_key")):
            assert Path(json.loads(text)).parent == keys.path
    assert access_control(keys.network, MEMBERS)["default_permission"] == "deny"
    assert set(zenoh_settings(None)) == {
        "transport/link/rx/max_message_size",
        "transport/shared_memory/enabled",
    }
    with pytest.raises(ValueError, match=r"expected the file certificate\.pem, got none"):
        zenoh_settings(
            KeyFolder(folder, "mast", "agent", keys.network, keys.public, keys.authority)
        )
