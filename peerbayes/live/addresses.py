"""Addresses that cannot be, refused before anything is opened.

Zenoh takes whatever it is to connect with for an end that is not there yet, and tries for ever.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence

from theory.validation import fail

# Protocols whose address is a host and a port; Zenoh itself refuses what it does not speak.
_BY_HOST = ("tcp", "tls", "udp", "quic", "ws")


def check_addresses(*, listen: Sequence[str] = (), connect: Sequence[str] = ()) -> None:
    """See that a host and a port can be what they say.

    Parameters
    ----------
    listen, connect
        Zenoh endpoints; port 0 stands for any that is free where one listens.

    Raises
    ------
    ValueError
        If a port is none, a host has no address, or an IPv6 address has no brackets.

    Examples
    --------
    >>> check_addresses(connect=["tcp/[::1]:7447"])
    >>> check_addresses(connect=["tcp/127.0.0.1:99999"])
    Traceback (most recent call last):
        ...
    ValueError: connect: expected a port from 1 to 65535, got 'tcp/127.0.0.1:99999'; correct it
    """
    for option, first, endpoints in (("listen", 0, listen), ("connect", 1, connect)):
        for endpoint in endpoints:
            protocol, slash, rest = endpoint.partition("/")
            if not slash:
                wanted = "a protocol, a host and a port, such as tcp/127.0.0.1:7447"
                raise fail(option, wanted, repr(endpoint[:120]), "write all three")
            if protocol in _BY_HOST:
                _check(option, endpoint, re.split("[?#]", rest)[0], first_port=first)


def _check(option: str, endpoint: str, address: str, *, first_port: int) -> None:
    got = repr(endpoint[:120])
    host, _, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        protocol = endpoint.partition("/")[0]
        wanted = "brackets around an IPv6 address"
        raise fail(option, wanted, got, f"write {protocol}/[{host[:60]}]:{port[:20]}")
    digits = port.isascii() and port.isdigit() and len(port) < 6
    if not digits or not first_port <= int(port) <= 65535:
        raise fail(option, f"a port from {first_port} to 65535", got, "correct it")
    try:
        if not host:
            raise OSError("no host")
        socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        wanted = "a host with an address"
        raise fail(option, wanted, f"{got} ({reason})", "correct it, or name it by IP") from None
