"""Examines the folders that `peerbayes keys` wrote: what does not fit, and what ends when."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from peerbayes.live.certificates import expiry, fault_of, private_key
from peerbayes.live.keys import key_folders, signed_members
from peerbayes.live.keys_documents import KeysDocument, KeysEntry
from peerbayes.live.security import (
    AUTHORITY,
    CERTIFICATE,
    FOLDER,
    SIGN_KEY,
    TLS_KEY,
    KeyFolder,
)
from theory.validation import fail

_SOON = timedelta(days=30)


def check_keys(out: str | Path) -> KeysDocument:
    """Examine a network's folder, or that of one process.

    Asked of each: whether its private keys fit, and nobody else may read them; whether the
    certificate is the authority's, made out to it, and in its time; whether its list of members is
    signed, and names its public key.

    Raises
    ------
    ValueError
        If there are no keys; in one line.
    """
    out = Path(out)
    folders = [out] if (out / FOLDER).exists() else list(key_folders(out))
    if not folders:
        wanted = "a folder written by 'peerbayes keys'"
        raise fail(str(out), wanted, "none", "name it, or make it with 'peerbayes keys new'")
    entries, notes, network = [], [], ""
    newest, agents = None, None
    role: str
    for folder in folders:
        try:
            keys = KeyFolder.read(folder)
            fault, ends = _fault(keys)
            network = network or keys.network
            if keys.network != network:
                fault = fault or f"of another network, {keys.network:.16}"
            role, name = keys.role, keys.name
        except ValueError as error:
            role, name, fault, ends = "-", folder.name, str(error), None
        else:
            if not fault:
                members = signed_members(keys)
                if newest is None or members.epoch > newest:
                    newest, agents = members.epoch, members.agents
        shown = folder.name if folder == out else folder.relative_to(out).as_posix()
        day = None if ends is None else f"{ends:%Y-%m-%d}"
        if ends is not None and not fault and ends - datetime.now(UTC) < _SOON:
            notes.append(f"{shown}: ends on {day}; 'peerbayes keys add --renew' makes new keys")
        entries.append(KeysEntry(folder=shown, name=name, role=role, expires=day, fault=fault))
    return KeysDocument(network=network, epoch=newest, agents=agents, keys=entries, notes=notes)


def _fault(keys: KeyFolder) -> tuple[str, datetime | None]:
    """What is wrong with a folder, in words, and when its certificate ends."""
    private = [TLS_KEY, SIGN_KEY] if keys.public else [TLS_KEY]
    try:
        text = (keys.path / CERTIFICATE).read_bytes()
        authority = (keys.path / AUTHORITY).read_bytes()
        open_ones = [name for name in private if _others_may_read(keys.path / name)]
    except OSError as error:
        return f"{Path(str(error.filename)).name}: {(error.strerror or 'unreadable').lower()}", None
    fault = fault_of(text, authority, keys.name, keys.path / TLS_KEY)
    ends = None if fault.startswith("no certificate") else expiry(text)
    try:
        if keys.public:
            private_key(keys.path / SIGN_KEY, keys.public)
        members = signed_members(keys)
    except ValueError as error:
        return fault or str(error), ends
    if keys.role == "agent" and not fault:
        listed = members.keys.get(keys.name)
        if listed is None:
            fault = "not in the list of members yet; run 'peerbayes keys members'"
        elif listed != keys.public:
            fault = "another key in the list of members; run 'peerbayes keys members'"
    if open_ones and not fault:
        fault = f"{' and '.join(open_ones)}: others may read it; run chmod 600"
    return fault, ends


def _others_may_read(path: Path) -> bool:
    mode = path.stat().st_mode
    # Elsewhere permissions are no bits of the file.
    return os.name == "posix" and bool(mode & 0o077)
