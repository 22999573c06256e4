"""Access control of the transport: what each certificate's name may publish, and hear.

Everything is refused that is not allowed here, on each link, by the process at its end. An agent
may publish its own belief, report, evidence, liveliness and echoes; any agent may hand on a list of
members, which carries the authority's signature. A watcher may listen. A router may pass on what
others say: it has let in only what their certificates allow, and frames are signed besides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peerbayes.live.transport import key

AUTHORITY, ROUTER, WATCHER = ":authority", ":router", ":watcher"
"""Names in certificates of those who are no agents; no agent's name begins with a colon."""
_LISTEN = ["declare_subscriber", "declare_liveliness_subscriber", "liveliness_query"]
_SPEAK = ["put", "liveliness_token", "reply"]


def access_control(network: str, members: Iterable[str]) -> dict[str, Any]:
    """The section ``access_control`` of Zenoh's configuration.

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
    known = [*names, ROUTER, WATCHER]
    subjects: list[dict[str, Any]] = [
        {"id": "known", "cert_common_names": known},
        {"id": "router", "cert_common_names": [ROUTER]},
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
