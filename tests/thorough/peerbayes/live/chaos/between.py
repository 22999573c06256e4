"""A process between live peers, which loses, doubles, delays, alters and invents what they say.

Each agent connects with a session of its own here and nowhere else. What agent j publishes is
handed on, link by link, to those who listen to it; what happens on a link is drawn from that link's
own seed, message by message, so that the same messages have the same fate. Everything that is done
is counted, for the counts of the agents to be held against.

Commands come as lines of JSON on standard input; each is answered by a line of JSON:

{"do": "faults", "lose": 0.2, "double": 0.2, "late": 0.1, "alter": 0, "replay": 0}
{"do": "cut", "sides": [[names], [names]]}, {"do": "heal"}
{"do": "say", "to": name, "as": name, "hex": bytes, "zeros": count, "times": n}
{"do": "counts"}: for each link [from, to], what was done
"""

from __future__ import annotations

import json
import random
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zenoh

from peerbayes.live.security import KeyFolder, zenoh_settings
from peerbayes.live.transport import key
from peerbayes.live.zenoh_transport import Endpoints, open_session

ACTS = ("lose", "double", "late", "alter", "replay")
COUNTED = ("said", "sent", *ACTS, "cut")
# A replayed frame is this many messages old.
_AGE = 5


@dataclass
class Link:
    """What is said by one agent to another."""

    fate: random.Random
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    kept: bytes | None = None
    old: list[bytes] = field(default_factory=list)

    def deliveries(self, data: bytes, faults: dict[str, float]) -> list[bytes]:
        """What arrives instead of a message, in order."""
        self.counts["said"] += 1
        self.old = [*self.old[-_AGE:], data]
        drawn = {act: self.fate.random() < faults.get(act, 0.0) for act in ACTS}
        out = []
        if drawn["alter"]:
            place = self.fate.randrange(len(data))
            out.append(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            self.counts["alter"] += 1
        if drawn["replay"] and len(self.old) > _AGE:
            out.append(self.old[0])
            self.counts["replay"] += 1
        late, self.kept = self.kept, None
        if drawn["lose"]:
            self.counts["lose"] += 1
        elif drawn["late"]:
            self.kept = data
            self.counts["late"] += 1
        else:
            out += [data] * (2 if drawn["double"] else 1)
            self.counts["double"] += drawn["double"]
        if late is not None:
            out.append(late)  # after the one that was said after it
        self.counts["sent"] += len(out)
        return out


class Between:
    """Sessions, one an agent, and the links between them.

    Parameters
    ----------
    plan
        {"network", "seed", "ports": {name: port}, "heard": {name: [names]}, "keys": folder or
        null}.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.network: str = plan["network"]
        self.heard: dict[str, list[str]] = plan["heard"]
        self.faults: dict[str, float] = {}
        self._lock = threading.RLock()
        self._sides: list[set[str]] = []
        self._here: set[str] = set()
        self._tokens: dict[tuple[str, str], Any] = {}
        self._kept: list[Any] = []
        self.links = {
            (j, i): Link(random.Random(f"{plan['seed']}:{j}:{i}"))
            for i, names in self.heard.items()
            for j in names
        }
        keys = None if plan["keys"] is None else KeyFolder.read(Path(plan["keys"]) / "router")
        settings = zenoh_settings(keys, members=plan["ports"])
        protocol = "tcp" if keys is None else "tls"
        self._sessions = {
            name: open_session(
                Endpoints(listen=[f"{protocol}/127.0.0.1:{port}"], settings=settings)
            )
            for name, port in plan["ports"].items()
        }
        for name, session in self._sessions.items():
            self._listen(name, session)

    def _listen(self, name: str, session: zenoh.Session) -> None:
        def said(sample: zenoh.Sample) -> None:
            self._hand_on(name, sample.payload.to_bytes())

        def lives(sample: zenoh.Sample) -> None:
            with self._lock:
                here = sample.kind == zenoh.SampleKind.PUT
                (self._here.add if here else self._here.discard)(name)
                self._show()

        own = key(self.network, "alive", name)
        self._kept += [
            session.declare_subscriber(key(self.network, "belief", name), said),
            session.liveliness().declare_subscriber(own, lives, history=True),
        ]

    def _hand_on(self, name: str, data: bytes) -> None:
        for other, heard in self.heard.items():
            if name in heard:
                with self._lock:
                    link = self.links[name, other]
                    if self._are_cut(name, other):
                        link.counts["cut"] += 1
                        continue
                    out = link.deliveries(data, self.faults)
                for one in out:
                    self._put(other, name, one)

    def _put(self, to: str, name: str, data: bytes) -> None:
        self._sessions[to].put(
            key(self.network, "belief", name),
            data,
            congestion_control=zenoh.CongestionControl.BLOCK,
            express=True,
        )

    def _are_cut(self, one: str, other: str) -> bool:
        return any((one in side) != (other in side) for side in self._sides)

    def _show(self) -> None:
        """Tokens of whom each agent is to believe alive."""
        for to, session in self._sessions.items():
            for name in self._sessions:
                pair = (name, to)
                linked = pair in self.links or (to, name) in self.links
                wanted = linked and name in self._here and not self._are_cut(name, to)
                if wanted and pair not in self._tokens:
                    token = session.liveliness().declare_token(key(self.network, "alive", name))
                    self._tokens[pair] = token
                elif not wanted and pair in self._tokens:
                    self._tokens.pop(pair).undeclare()

    def do(self, command: dict[str, Any]) -> Any:
        """One command's answer."""
        what = command.pop("do")
        if what == "faults":
            self.faults = command
        elif what in ("cut", "heal"):
            with self._lock:
                self._sides = [set(side) for side in command.get("sides", [])]
                self._show()
        elif what == "say":
            data = bytes.fromhex(command.get("hex", "")) + bytes(command.get("zeros", 0))
            for _ in range(command.get("times", 1)):
                self._put(command["to"], command["as"], data)
        elif what == "counts":
            with self._lock:
                return [[*pair, link.counts] for pair, link in self.links.items()]
        else:
            raise ValueError(what)
        return "done"

    def close(self) -> None:
        """Leave all agents."""
        for session in self._sessions.values():
            session.close()


def main() -> None:
    """Serve until the input ends."""
    between = Between(json.loads(sys.argv[1]))
    print(json.dumps("ready"), flush=True)
    with suppress(KeyboardInterrupt):
        for line in sys.stdin:
            print(json.dumps(between.do(json.loads(line))), flush=True)
    between.close()


if __name__ == "__main__":
    main()
