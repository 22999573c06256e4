"""Networks of two agents for tests of keys and of what the transport enforces."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zenoh

from peerbayes.live.keys import new_keys
from peerbayes.live.members import Members
from peerbayes.live.preparing import members_of
from peerbayes.live.security import KeyFolder, zenoh_settings
from peerbayes.problem.reading import problem_from_document

COIN = [[["1/2", "1/2"]], [["3/4", "1/4"]]]


def pair(*names: str) -> Members:
    """Agents with these names, each of whom weighs all alike."""
    share = f"1/{len(names)}"
    problem = problem_from_document(
        {
            "name": "pair",
            "network": {"weights": [[share] * len(names)] * len(names), "names": list(names)},
            "model": {
                "hypotheses": ["fair", "loaded"],
                "agents": [{"count": len(names), "truth": "fair", "likelihood": COIN}],
            },
        }
    )
    return members_of(problem)


def keys_of(folder: Path, *names: str) -> Path:
    """A new network's keys."""
    return new_keys(pair(*names), folder / "keys")


def session(
    keys: KeyFolder | None,
    names: tuple[str, ...],
    *,
    listen: str | None = None,
    connect: str | None = None,
    mode: str = "peer",
    **changes: Any,
) -> zenoh.Session:
    """A session with the settings of these keys, some of them changed."""
    config = zenoh.Config()
    settings = {
        "mode": json.dumps(mode),
        "scouting/multicast/enabled": "false",
        "scouting/gossip/enabled": "false",
        "listen/endpoints": json.dumps([listen] if listen else []),
        "connect/endpoints": json.dumps([connect] if connect else []),
        "open/return_conditions/connect_scouted": "false",
    }
    settings |= zenoh_settings(keys, members=names)
    settings |= {path.replace("__", "/"): json.dumps(value) for path, value in changes.items()}
    for path, text in settings.items():
        config.insert_json5(path, text)
    return zenoh.open(config)


def eventually(holds: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether it holds now, or within that time, which bounds a hang."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
