"""Makes, adds and checks the keys of a live network: a folder for each process.

``DIR/authority`` signs certificates and lists of members, and stays where it is;
``DIR/agents/NAME`` goes to that agent's machine, ``DIR/router`` to routers, ``DIR/watcher`` to who
wants to look on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from peerbayes.live.certificates import (
    authority_certificate,
    certificate,
    private_key,
    public_hex,
    write_private,
)
from peerbayes.live.members import Members
from peerbayes.live.security import (
    AUTHORITY,
    CERTIFICATE,
    COMMON_NAMES,
    FOLDER,
    FORMAT,
    MEMBERS,
    SIGN_KEY,
    TLS_KEY,
    VERSION,
    KeyFolder,
    Role,
    agent_folder,
    key_folders,
    sign,
)
from peerbayes.messages import shorten
from peerbayes.records import unwritable, write_whole
from theory.validation import as_integer, fail

DAYS = 365
_MOST_DAYS = 3650
_LONGEST_NAME = 64
# File systems take names of 255 bytes.
_LONGEST_FOLDER = 240
_REMEDY = "choose another folder with --out"
_SOON = timedelta(days=30)


def new_keys(members: Members, out: str | Path, *, days: int = DAYS) -> Path:
    """Make a network's authority, and keys for its agents, a router and a watcher.

    Parameters
    ----------
    members
        The agents that get keys; as list number 0.
    out
        A folder that does not exist yet, or is empty; written whole or not at all.
    days
        How long certificates are valid, 1 to 3650.

    Raises
    ------
    ValueError
        If there are keys already, a name does not fit into a certificate, or the folder cannot
        be written; in one line.
    """
    out = Path(out)
    days = as_integer("days", days, minimum=1, maximum=_MOST_DAYS)
    for name in members.names:
        check_name(name)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        remedy = "'peerbayes keys add' adds to it; for another network choose another with --out"
        raise fail(shorten(str(out), length=200), "a new folder", "one that holds files", remedy)
    with _beside(out, remedy=_REMEDY) as made:
        authority = _new_authority(made / "authority", members.network)
        for name in members.names:
            _issue(agent_folder(made, name), authority, "agent", name, days)
        for role in ("router", "watcher"):
            _issue(made / role, authority, role, COMMON_NAMES[role], days)
        _spread(made, _signed(members, authority, made))
        made.rename(out)
    return out


def add_keys(out: str | Path, name: str, *, renew: bool = False, days: int = DAYS) -> Path:
    """Make keys for one more agent, or new ones for an agent, the router or the watcher.

    An agent counts as a member with these keys once `sign_members` has signed a list with them.

    Parameters
    ----------
    out
        The network's folder.
    name
        The agent's; or "router" or "watcher" to renew theirs where no agent is called so.
    renew
        Whether there may be, and must be, keys already; they are replaced.

    Returns
    -------
    Path
        The folder of the new keys.

    Raises
    ------
    ValueError
        If there is no such network, or there are (or are no) keys already; in one line.
    """
    out = Path(out)
    days = as_integer("days", days, minimum=1, maximum=_MOST_DAYS)
    authority = _authority(out)
    role: Role = "agent"
    folder = agent_folder(out, check_name(name))
    if renew and not folder.exists() and name in ("router", "watcher"):
        role, folder = ("router" if name == "router" else "watcher"), out / name
    if folder.exists() != renew:
        got = "keys" if folder.exists() else "none"
        remedy = "--renew replaces them" if folder.exists() else "leave out --renew"
        raise fail(str(folder), "keys to replace" if renew else "none yet", got, remedy)
    with _beside(folder, remedy="look at its permissions") as made:
        _issue(made / "new", authority, role, COMMON_NAMES.get(role, name), days)
        (made / "new" / MEMBERS).write_bytes((out / "authority" / MEMBERS).read_bytes())
        if renew:
            folder.rename(made / "old")
        (made / "new").rename(folder)
    return folder


@contextmanager
def _beside(folder: Path, *, remedy: str) -> Iterator[Path]:
    """A new folder beside another; what is left of it goes at the end of the block."""
    made: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=".keys-", dir=folder.parent))
        yield made
    except OSError as error:
        raise unwritable(folder, "a folder", error, remedy=remedy) from None
    finally:
        if made is not None and made.exists():
            shutil.rmtree(made)


def sign_members(fresh: Members, out: str | Path) -> Members:
    """Sign a problem's members as the next list of a network, and put it into all folders.

    The list keeps the network's name: a problem to which an agent was added goes on under it.

    Raises
    ------
    ValueError
        If an agent has no keys, or agents of the list before are missing from the new one or
        stand at another place; in one line.
    """
    out = Path(out)
    authority = _authority(out)
    before = Members.read(authority.path / MEMBERS)
    if fresh.names[: before.agents] != before.names:
        wanted = f"the agents of the list before, in its order: {', '.join(before.names[:12])}"
        got = ", ".join(fresh.names[:12])
        raise fail("network.names", wanted, got, "add new agents at the end; who leaves stays")
    members = replace(fresh, network=authority.network, epoch=before.epoch + 1)
    signed = _signed(members, authority, out)
    _spread(out, signed)
    return signed


def check_name(name: str) -> str:
    """A name that fits into a certificate and a folder.

    Raises
    ------
    ValueError
        If it does not.
    """
    fits = 0 < len(name) <= _LONGEST_NAME and name.isprintable() and not name.startswith(":")
    if not fits or len(agent_folder(Path(), name).name) > _LONGEST_FOLDER:
        wanted = f"a name of at most {_LONGEST_NAME} printable characters that begins with no colon"
        raise fail("agent", wanted, shorten(repr(name)), "give the agent a shorter or plainer name")
    return name


def _new_authority(folder: Path, network: str) -> KeyFolder:
    folder.mkdir(parents=True, mode=0o700)
    tls, own = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    write_private(folder / TLS_KEY, tls)
    write_private(folder / SIGN_KEY, own)
    text = authority_certificate(tls, COMMON_NAMES["authority"], network)
    for name in (CERTIFICATE, AUTHORITY):
        (folder / name).write_bytes(text)
    public = public_hex(own)
    return _describe(
        KeyFolder(folder, COMMON_NAMES["authority"], "authority", network, public, public)
    )


def _issue(folder: Path, authority: KeyFolder, role: Role, name: str, days: int) -> None:
    """A new key folder, its certificate signed by the authority."""
    folder.mkdir(parents=True, mode=0o700)
    tls = Ed25519PrivateKey.generate()
    issuer = (authority.path / CERTIFICATE).read_bytes()
    by = private_key(authority.path / TLS_KEY)
    write_private(folder / TLS_KEY, tls)
    text = certificate(tls, name, by=by, authority=issuer, days=days)
    (folder / CERTIFICATE).write_bytes(text)
    (folder / AUTHORITY).write_bytes(issuer)
    public = ""
    if role == "agent":
        own = Ed25519PrivateKey.generate()
        write_private(folder / SIGN_KEY, own)
        public = public_hex(own)
    _describe(KeyFolder(folder, name, role, authority.network, public, authority.authority))


def _describe(keys: KeyFolder) -> KeyFolder:
    document = {
        "format": FORMAT,
        "version": VERSION,
        "network": keys.network,
        "name": keys.name,
    }
    document |= {"role": keys.role, "public": keys.public, "authority": keys.authority}
    text = json.dumps(document, indent=1) + "\n"
    (keys.path / FOLDER).write_text(text, encoding="utf-8")
    return keys


def _authority(out: Path) -> KeyFolder:
    if not (out / "authority" / FOLDER).exists():
        remedy = "make them with 'peerbayes keys new PROBLEM --out DIR'"
        raise fail(shorten(str(out), length=200), "a network's keys", "no authority", remedy)
    return KeyFolder.read(out / "authority")


def _signed(members: Members, authority: KeyFolder, out: Path) -> Members:
    """The list with every agent's public key and the authority's signature."""
    keys = {}
    for name in members.names:
        folder = agent_folder(out, name)
        if not folder.exists():
            remedy = f"run 'peerbayes keys add' for {name!r} first"
            raise fail(f"agent {name!r}", "keys", "none", remedy)
        keys[name] = KeyFolder.of_agent(folder, name).public
    members = replace(members, keys=keys)
    return members.signed(sign(authority, members.content(), purpose="members"))


def _spread(out: Path, members: Members) -> None:
    """Put a list into all folders: the authority's last, so that what is broken off is repeated."""
    text = json.dumps(members.document(), indent=1) + "\n"
    for folder in reversed(list(key_folders(out))):
        write_whole(folder / MEMBERS, text, remedy="look at its permissions")
