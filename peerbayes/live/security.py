"""Keys of one process of a live network, signatures with them, and what its transport enforces.

Two locks, independent of each other. The *transport* (TLS with certificates on both sides, and
access control by the certificate's name) decides from link to link who may connect and what each
may publish. The *signature* on every frame (Ed25519) is the agent's own, checked by whoever pools
it: it holds end to end, also through routers that lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Role = Literal["authority", "agent", "router", "watcher"]


@dataclass(frozen=True)
class KeyFolder:
    """The keys of one process: what `peerbayes keys` wrote into one folder.

    Attributes
    ----------
    path
        The folder: certificate.pem, authority.pem, tls.key, sign.key (private ones with mode 0600).
    name
        Of the agent; of a router or a watcher, its own.
    role
        What it may do: "agent", "router", "watcher" or "authority".
    network
        First 16 hexadecimal digits of the problem's digest.
    public
        Ed25519 key with which others verify what this folder signs, 64 hexadecimal digits; "" for
        routers and watchers, which sign nothing.
    authority
        Ed25519 key of the network's authority, 64 hexadecimal digits: it signs lists of members.
    """

    path: Path
    name: str
    role: Role
    network: str
    public: str
    authority: str

    @classmethod
    def read(cls, path: str | Path) -> KeyFolder:
        """The folder at `path`, checked; ValueError in one line if it is none or damaged."""
        raise NotImplementedError


def sign(keys: KeyFolder, message: bytes, *, purpose: str = "frame") -> str:
    """Ed25519 signature of a message, 128 hexadecimal digits; `purpose` ("frame", "members") is
    signed with it, so that a signature for one purpose is none for another."""
    raise NotImplementedError


def verify(public: str, message: bytes, signature: str, *, purpose: str = "frame") -> bool:
    """Whether `signature` is that of `message` by the key `public`; never raises for bad text."""
    raise NotImplementedError


def zenoh_settings(
    keys: KeyFolder | None, *, members: Iterable[str] = (), limit: int = 64 * 2**20
) -> dict[str, str]:
    """Settings of Zenoh (path to JSON text, for `Config.insert_json5`) beyond mode and endpoints.

    Without keys: only limits on sizes. With keys: TLS with certificates on both sides, and access
    control in which each of `members` (names of agents, one's own among them) may publish its own
    belief, report and liveliness alone. Endpoints must then begin with ``tls/``. When a new list
    of members arrives, the session is opened anew with its names.
    """
    raise NotImplementedError
