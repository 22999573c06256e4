"""Which process speaks as an agent, where two may: one that came back, or one too many.

An agent that crashed comes back as another process, and the first is not heard again. Two at a time
are known by the first, which speaks again after the second: then the second is heard no more.
"""

from __future__ import annotations

from collections.abc import Callable

# Processes that are remembered of one agent.
_MOST = 16
# What a process that died had said may still be under way for so many seconds.
_UNDER_WAY = 10.0


class Speakers:
    """The processes that spoke, by the agent's name.

    Parameters
    ----------
    log
        Told once of each process that is one too many, in one line.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        # By name: each process in the order of its first message; when that was made, when it came.
        self._first: dict[str, dict[str, tuple[float, float]]] = {}
        self._speaks: dict[str, str] = {}
        self._refused: dict[str, set[str]] = {}
        self._owed: set[str] = set()

    @property
    def doubled(self) -> list[str]:
        """Agents as which two processes spoke."""
        return sorted(self._refused)

    def hear(self, name: str, process: str, *, made: float, now: float) -> bool:
        """Whether a message is taken; not that of a second process.

        Parameters
        ----------
        name, process
            As whom, and which process spoke; "" where it did not say.
        made, now
            Seconds: when the message was made on the sender's clock, and when it came on one's own.
        """
        if not process:
            return True
        if process in self._refused.get(name, ()):
            self._owed.add(name)
            return False
        first = self._first.setdefault(name, {})
        speaks = self._speaks.setdefault(name, process)
        if process not in first:
            if len(first) == _MOST:
                del first[next(one for one in first if one != speaks)]
            first[process] = (made, now)
            self._speaks[name] = process
            return True
        if process == speaks:
            return True
        second = max(process, speaks, key=[*first].index)
        began, came = first[second]
        if process != second and made <= began and now <= came + _UNDER_WAY:
            return True  # it was under way when its process died
        if name not in self._refused:
            self._log(f"two processes speak as agent {name!r}: stop one; the second is not heard")
        self._refused.setdefault(name, set()).add(second)
        self._owed.add(name)
        if process != second:
            self._speaks[name] = process
        return process != second

    def owed(self, name: str) -> bool:
        """Whether a second process has spoken that has not been told of the first; only once."""
        owed = name in self._owed
        self._owed.discard(name)
        return owed
