"""Examines the folders that `peerbayes keys` wrote: what does not fit, and what ends when."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from peerbayes.live.security import (
    AUTHORITY,
    CERTIFICATE,
    FOLDER,
    SIGN_KEY,
    TLS_KEY,
    KeyFolder,
    key_folders,
    signed_members,
)
from peerbayes.quantities.quantity import NOTE, quantity, table_of
from peerbayes.quantities.showing import Result, facts, grid
from peerbayes.tables import facts_table, names_table, notes_text
from theory.showing import Value
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

_SOON = timedelta(days=30)


@dataclass(frozen=True, eq=False)
class Examined(Value):
    """The keys of one process."""

    folder: str = quantity(str, column="folder")
    name: str = quantity(str)
    role: str = quantity(str, column="role")
    expires: str | None = quantity(
        str | None, "day on which the certificate ends, year-month-day", column="valid until"
    )
    fault: str = quantity(
        str,
        'what is wrong, in words; "" if nothing is',
        column="fault",
        words=lambda value, _: value or "none",
    )


_EXAMINED = table_of(Examined, "KeysEntry", "The keys of one process.", title="")


@dataclass(frozen=True, eq=False)
class Check(Result):
    """The keys of a network, or of some of its processes."""

    network: str = quantity(
        str, "first 16 hexadecimal digits of the problem's digest", label="network"
    )
    epoch: int | None = quantity(
        int | None,
        "of the newest signed list of members",
        label="list of members",
        words=lambda n, check: "none" if n is None else f"epoch {n}, {check.agents} agents",
    )
    agents: int | None = quantity(int | None, "agents in that list")
    keys: tuple[Examined, ...] = quantity(_EXAMINED, many=True)
    notes: tuple[str, ...] = quantity(list[str], label=NOTE)

    @property
    def failed(self) -> bool:
        """Whether something is wrong."""
        return any(entry.fault for entry in self.keys)

    def tables(self) -> list[RenderableType]:
        """Terminal tables of this result."""
        found = self.document()
        table = grid(_EXAMINED, found.keys, draw=names_table)
        told = [notes_text(found.notes)] if found.notes else []
        return [facts_table("Keys", facts(CHECK, found)), table, *told]


CHECK = Check.quantities = table_of(
    Check,
    "KeysDocument",
    "The keys of a network, or of some of its processes.",
    changed={
        "keys": {"type": Annotated[list.__class_getitem__(_EXAMINED.type), Field(min_length=1)]}
    },
)


def check_keys(out: str | Path) -> Check:
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
        entries.append(Examined(shown, name, role, day, fault))
    return Check(network, newest, agents, tuple(entries), tuple(notes))


def _fault(keys: KeyFolder) -> tuple[str, datetime | None]:
    """What is wrong with a folder, in words, and when its certificate ends."""
    from peerbayes.live.certificates import expiry, fault_of, private_key

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
