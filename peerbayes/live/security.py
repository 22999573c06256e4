"""Keys of one process of a live network, signatures with them, and what its transport enforces.

Two locks, independent of each other. The *transport* (TLS with certificates on both sides, and
access control by the certificate's name) decides from link to link who may connect and what each
may publish. The *signature* on every frame (Ed25519) is the agent's own, checked by whoever pools
it: it holds end to end, also through routers that lie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from peerbayes.live.members import Members
from peerbayes.live.transport import encoded, key
from theory.validation import fail

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

Role = Literal["authority", "agent", "router", "watcher"]
FORMAT, VERSION = "peerbayes-keys", 1
# Files of a key folder.
FOLDER, CERTIFICATE, AUTHORITY = "folder.json", "certificate.pem", "authority.pem"
TLS_KEY, SIGN_KEY, MEMBERS = "tls.key", "sign.key", "members.json"
COMMON_NAMES: dict[Role, str] = {
    "authority": ":authority",
    "router": ":router",
    "watcher": ":watcher",
}
"""Names in certificates of those who are no agents; no agent's name begins with a colon."""
MOST_BYTES = 128 * 2**20
"""Bytes of a message that the transport assembles; what is larger it drops unread. Frames have a
smaller limit of their own: what lies between the two is refused and counted."""
_KEYS = {"format", "version", "network", "name", "role", "public", "authority"}
_LISTEN = ["declare_subscriber", "declare_liveliness_subscriber", "liveliness_query"]
_SPEAK = ["put", "liveliness_token", "reply"]


@dataclass(frozen=True)
class KeyFolder:
    """The keys of one process: what `peerbayes keys` wrote into one folder.

    Attributes
    ----------
    path
        The folder: certificate.pem, authority.pem, tls.key, and of agents sign.key; private keys
        are readable by their owner alone.
    name
        Of the agent; of others, their `COMMON_NAMES`.
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
        """The folder at `path`; the private keys are read when they are first used.

        Raises
        ------
        ValueError
            If there is none, or it is damaged; in one line.
        """
        path = Path(path)
        wanted = "a folder written by 'peerbayes keys'"
        try:
            document = json.loads((path / FOLDER).read_bytes())
        except OSError as error:
            reason = f"{FOLDER}: {(error.strerror or 'unreadable').lower()}"
            raise fail(str(path), wanted, reason, "name one agent's folder") from None
        except (ValueError, RecursionError):
            raise fail(str(path), wanted, f"no JSON in {FOLDER}", "make the keys anew") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise fail(str(path), wanted, f"another {FOLDER}", "name one agent's folder")
        if document.get("version") != VERSION or document.keys() != _KEYS:
            got = f"version {document.get('version')!r:.20} with other keys"
            raise fail(str(path), f"version {VERSION}", got, "make the keys anew")
        texts = [document[key] for key in sorted(_KEYS - {"version"})]
        fits = all(isinstance(text, str) for text in texts) and document["role"] in get_args(Role)
        signs = fits and document["role"] in ("agent", "authority")
        if not fits or not _is_key(document["authority"]) or signs != _is_key(document["public"]):
            raise fail(str(path), wanted, f"wrong entries in {FOLDER}", "make the keys anew")
        return cls(path, **{f.name: document[f.name] for f in fields(cls) if f.name != "path"})

    @classmethod
    def of_agent(cls, path: str | Path, agent: str) -> KeyFolder:
        """The folder of one agent, at `path` itself or among those of the network at `path`.

        Raises
        ------
        ValueError
            If it is not there, or another's.
        """
        path = Path(path)
        folder = path if (path / FOLDER).exists() else agent_folder(path, agent)
        keys = cls.read(folder)
        if keys.role != "agent" or keys.name != agent:
            raise fail(str(folder), f"keys of agent {agent!r}", f"those of {keys.name!r}", "swap")
        return keys

    @cached_property
    def _private(self) -> Ed25519PrivateKey:
        from peerbayes.live.certificates import private_key

        if not self.public:
            raise fail(str(self.path), "keys that sign", f"a {self.role}'s", "use an agent's")
        return private_key(self.path / SIGN_KEY, self.public)


def key_folders(out: Path) -> Iterator[Path]:
    """All key folders of a network: the authority's, router's, watcher's, then the agents'."""
    yield from (out / name for name in ("authority", "router", "watcher") if (out / name).is_dir())
    agents = out / "agents"
    if agents.is_dir():
        yield from sorted(p for p in agents.iterdir() if not p.name.startswith(".") and p.is_dir())


def agent_folder(path: Path, agent: str) -> Path:
    """Where a network's folder at `path` has the keys of an agent.

    >>> agent_folder(Path("keys"), "../mast").as_posix()
    'keys/agents/%2E%2E%2Fmast'
    """
    # Dots are left alone by percent-encoding, but mean other folders.
    return path / "agents" / encoded(agent).replace(".", "%2E")


# Signatures -------------------------------------------------------------------------------------


def sign(keys: KeyFolder, message: bytes, *, purpose: str = "frame") -> str:
    """Ed25519 signature of a message, 128 hexadecimal digits.

    `purpose` ("frame", "members") is signed with it, so that a signature for one purpose is none
    for another.

    Raises
    ------
    ValueError
        If the folder's private key cannot be read, or is not that of its public one.
    """
    return keys._private.sign(_stamped(purpose, message)).hex()


def verify(public: str, message: bytes, signature: str, *, purpose: str = "frame") -> bool:
    """Whether `signature` is that of `message` by the key `public`; False for any other text."""
    from cryptography.exceptions import InvalidSignature

    if not (_is_key(public) and len(signature) == 128 and _is_hex(signature)):
        return False
    try:
        _loaded(public).verify(bytes.fromhex(signature), _stamped(purpose, message))
    except (InvalidSignature, ValueError):
        return False
    return True


def is_signed(members: Members, authority: str) -> bool:
    """Whether the signature of a list is that of the authority with this public key."""
    return verify(authority, members.content(), members.signature, purpose="members")


def signed_members(keys: KeyFolder, path: str | Path | None = None) -> Members:
    """The list of members in a key folder, or in the file at `path`, if the authority signed it.

    Raises
    ------
    ValueError
        If it did not, or the list is another network's; in one line.
    """
    source = keys.path / MEMBERS if path is None else Path(path)
    members = Members.read(source)
    if members.network != keys.network:
        got = f"one of network {members.network:.16}"
        raise fail(str(source), f"a list of network {keys.network}", got, "use this network's")
    if not is_signed(members, keys.authority):
        wanted = "a list signed by the network's authority"
        raise fail(str(source), wanted, "another signature", "run 'peerbayes keys members'")
    return members


def _stamped(purpose: str, message: bytes) -> bytes:
    """What is signed; the zero byte ends the purpose, which has none."""
    return b"peerbayes " + purpose.encode("ascii") + b"\0" + message


def _is_hex(text: str) -> bool:
    return re.fullmatch("[0-9a-f]*", text) is not None


def _is_key(text: str) -> bool:
    return len(text) == 64 and _is_hex(text)


@lru_cache(maxsize=4096)
def _loaded(public: str) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))


# What the transport enforces --------------------------------------------------------------------


def zenoh_settings(
    keys: KeyFolder | None, *, members: Iterable[str] = (), limit: int = MOST_BYTES
) -> dict[str, str]:
    """Settings of Zenoh (path to JSON text, for `Config.insert_json5`) beyond mode and endpoints.

    Without keys: the limit on sizes. With keys also TLS with certificates on both sides, and
    access control in which each of `members` (names of all agents, one's own among them) may
    publish its own belief, report and liveliness alone; endpoints must then begin with ``tls/``.
    When a new list of members arrives, the session is opened anew with its names.

    Raises
    ------
    ValueError
        If a file of the folder is missing.
    """
    settings: dict[str, object] = {
        "transport/link/rx/max_message_size": max(limit, MOST_BYTES),
        # It would take local messages past the encryption.
        "transport/shared_memory/enabled": False,
    }
    if keys is not None:
        own = {name: _existing(keys.path / name) for name in (CERTIFICATE, AUTHORITY, TLS_KEY)}
        tls = "transport/link/tls/"
        settings |= {
            "transport/link/protocols": ["tls"],
            f"{tls}enable_mtls": True,
            # Who is at the other end says the certificate's name, which access control asks for;
            # the address may be any.
            f"{tls}verify_name_on_connect": False,
            f"{tls}close_link_on_expiration": True,
            f"{tls}root_ca_certificate": own[AUTHORITY],
            f"{tls}listen_certificate": own[CERTIFICATE],
            f"{tls}connect_certificate": own[CERTIFICATE],
            f"{tls}listen_private_key": own[TLS_KEY],
            f"{tls}connect_private_key": own[TLS_KEY],
            "access_control": access_control(keys.network, members),
        }
    return {path: json.dumps(value) for path, value in settings.items()}


def access_control(network: str, members: Iterable[str]) -> dict[str, Any]:
    """The section ``access_control`` of Zenoh's configuration.

    Everything is refused that is not allowed here, on each link, by the process at its end. An
    agent may publish its own belief, report, evidence, liveliness and echoes; any agent may hand on
    a list of members, which carries the authority's signature. A watcher may listen. A router may
    pass on what others say: it has let in only what their certificates allow, and frames are signed
    besides.

    Parameters
    ----------
    network
        First 16 hexadecimal digits of the problem's digest.
    members
        Names of all agents; who is not among them can neither publish nor hear anything.
    """
    names = sorted(set(members))
    everything = f"peerbayes/{network}/**"
    rules = [
        _rule("listen", ["ingress"], _LISTEN, [everything]),
        _rule("relay", ["ingress"], _SPEAK, [everything]),
        _rule("send", ["egress"], _LISTEN + _SPEAK, [everything]),
    ]
    known = [*names, COMMON_NAMES["router"], COMMON_NAMES["watcher"]]
    subjects: list[dict[str, Any]] = [
        {"id": "known", "cert_common_names": known},
        {"id": "router", "cert_common_names": [COMMON_NAMES["router"]]},
    ]
    policies = [
        {"rules": ["listen", "send"], "subjects": ["known"]},
        {"rules": ["relay"], "subjects": ["router"]},
    ]
    for number, name in enumerate(names):
        said = [key(network, subject, name) for subject in ("belief", "report", "alive", "echo")]
        said.append(f"{key(network, 'evidence', name)}/**")
        rules.append(_rule(f"own {number}", ["ingress"], _SPEAK, [*said, key(network, "members")]))
        subjects.append({"id": f"agent {number}", "cert_common_names": [name]})
        policies.append({"rules": [f"own {number}"], "subjects": [f"agent {number}"]})
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    }


def _rule(name: str, flows: list[str], messages: list[str], keys: list[str]) -> dict[str, Any]:
    return {
        "id": name,
        "permission": "allow",
        "flows": flows,
        "messages": messages,
        "key_exprs": keys,
    }


def _existing(path: Path) -> str:
    if not path.is_file():
        raise fail(str(path.parent), f"the file {path.name}", "none", "make the keys anew")
    return str(path.absolute())
