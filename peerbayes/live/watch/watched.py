"""What a watcher knows of a live network before it hears anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from peerbayes.live.members import Members
from peerbayes.live.share import Share
from peerbayes.problem.problems import AnyProblem, NetworkAlone, RegressionProblem
from theory import FiniteModel
from theory.showing import Shown
from theory.validation import FloatArray


@dataclass(frozen=True, eq=False)
class Watched(Shown):
    """A live network, as far as it is known.

    Attributes
    ----------
    network
        First 16 hexadecimal digits of the problem's digest: what its peers call it.
    name, title
        Of the problem; the name is the digest's where nothing else is known.
    names
        Of the agents, in the order of their numbers; empty if only the network will tell.
    hypotheses
        Their names; empty if unknown.
    model
        What the agents' evidence is like; None if unknown.
    weights
        Shape (N, N): W of the problem; None if unknown or changing.
    positions
        Shape (N, 2): where agents are drawn; None if nowhere.
    """

    network: str
    name: str
    title: str = ""
    names: tuple[str, ...] = ()
    hypotheses: tuple[str, ...] = ()
    model: FiniteModel | None = None
    weights: FloatArray | None = None
    positions: FloatArray | None = None

    @classmethod
    def of(cls, problem: AnyProblem) -> Watched:
        """The network of agents of a problem.

        Raises
        ------
        ValueError
            If agents of such a problem do not run live.
        """
        from peerbayes.live.preparing import members_of

        members = members_of(problem)
        assert not isinstance(problem, RegressionProblem | NetworkAlone)
        base = getattr(problem.network, "network", problem.network)
        layout = getattr(base, "layout", None)
        return cls(
            network=members.network,
            name=problem.name,
            title=problem.title,
            names=members.names,
            hypotheses=problem.model.hypotheses,
            model=problem.model,
            weights=weights_of(members),
            positions=None if layout is None else np.asarray(layout),
        )

    @classmethod
    def by_digest(cls, network: str) -> Watched:
        """A network of which only the digest is known."""
        return cls(network=network, name=network)

    def with_members(self, members: Members) -> Watched:
        """The same network with the names and weights of a list of members."""
        places = self.positions if self.names == members.names else None
        weights = weights_of(members)
        return replace(self, names=members.names, weights=weights, positions=places)


def find_watched(given: str, *, data: Path | None = None) -> Watched:
    """What `peerbayes watch` is asked to watch: a problem, nets, a share, or a network's digest.

    Of nets and shares, names and weights are known, and no rate is predicted.

    Raises
    ------
    ValueError
        If it is neither; in one line.
    """
    from peerbayes.live.finding import is_net
    from peerbayes.live.net_shares import net_shares

    if is_digest(given) and not Path(given).exists():
        return Watched.by_digest(given)
    if given.endswith(".share") or is_net(given):
        share = Share.read(given) if given.endswith(".share") else net_shares(given, data=data)[0]
        known = Watched.by_digest(share.network).with_members(share.members)
        hypotheses = tuple(share.content.get("hypotheses", ()))
        return replace(known, name=share.problem, hypotheses=hypotheses)
    from peerbayes.problem.builtins.loading import load_problem

    return Watched.of(load_problem(given, data=data))


def is_digest(text: str) -> bool:
    """Whether a text is 16 hexadecimal digits."""
    return len(text) == 16 and set(text) <= set("0123456789abcdef")


def weights_of(members: Members) -> FloatArray:
    """W of a list of members, shape (N, N)."""
    return np.array([members.row(i) for i in range(members.agents)])
