"""A likelihood from the words that name it in files and records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from empirical.train.likelihoods.classes import Classes
from empirical.train.likelihoods.counts import Counts
from empirical.train.likelihoods.gaussian import GaussianNoise, InputNoise, LearnedNoise
from empirical.train.likelihoods.heads import Heads
from empirical.train.likelihoods.likelihood import Likelihood
from theory.validation import as_integer, fail, meant


def likelihood_of(words: Mapping[str, Any], *, argument: str = "likelihood") -> Likelihood:
    """The likelihood that a table of JSON or TOML names; the inverse of its ``words``.

    Parameters
    ----------
    words
        ``kind`` and its settings:

        ============  ======================================================================
        ``classes``   ``count``
        ``gaussian``  ``std``: a number, ``"learned"`` or ``"input"``; ``count``, if not 1
        ``counts``    ``count``, if not 1; ``dispersion = "learned"``, if not Poisson
        ``heads``     ``parts``: a list of such tables
        ============  ======================================================================
    argument
        How messages call the table.

    Raises
    ------
    ValueError
        If the kind or a setting is unknown, missing, or out of its domain.

    Examples
    --------
    >>> likelihood_of({"kind": "gaussian", "std": "learned"})
    LearnedNoise(count=1)
    """
    if not isinstance(words, Mapping):
        raise fail(argument, 'a table such as {"kind": "classes"}', repr(words), "write a table")
    kind = words.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        remedy = meant(str(kind), _KINDS, otherwise="choose one of them")
        raise fail(f"{argument}.kind", f"one of {', '.join(_KINDS)}", repr(kind), remedy)
    known, build = _KINDS[kind]
    for key in words:
        if key not in ("kind", *known):
            raise fail(argument, f"settings {', '.join(known)}", repr(key), "leave it out")
    return build({key: words[key] for key in known if key in words}, argument)


def _needed(words: Mapping[str, Any], key: str, argument: str, what: str) -> Any:
    if key not in words:
        raise fail(f"{argument}.{key}", what, "none", "add it")
    return words[key]


def _count(words: Mapping[str, Any], argument: str) -> int:
    return as_integer(f"{argument}.count", words.get("count", 1), minimum=1)


def _classes(words: Mapping[str, Any], argument: str) -> Likelihood:
    count = _needed(words, "count", argument, "the number of classes")
    return Classes(as_integer(f"{argument}.count", count, minimum=2))


def _gaussian(words: Mapping[str, Any], argument: str) -> Likelihood:
    wanted = 'a number above 0, "learned" or "input"'
    std, count = _needed(words, "std", argument, wanted), _count(words, argument)
    if std == "learned":
        return LearnedNoise(count)
    if std == "input":
        return InputNoise(count)
    if isinstance(std, bool) or not isinstance(std, int | float) or not 0 < std < float("inf"):
        raise fail(f"{argument}.std", wanted, repr(std), "choose one")
    return GaussianNoise(float(std), count)


def _counts(words: Mapping[str, Any], argument: str) -> Likelihood:
    dispersion = words.get("dispersion")
    if dispersion not in (None, "learned"):
        wanted = '"learned", or nothing for Poisson'
        raise fail(f"{argument}.dispersion", wanted, repr(dispersion), "choose one")
    return Counts(_count(words, argument), dispersion)


def _heads(words: Mapping[str, Any], argument: str) -> Likelihood:
    parts = _needed(words, "parts", argument, "a list of likelihoods")
    if not isinstance(parts, list | tuple) or not parts:
        raise fail(f"{argument}.parts", "a list of likelihoods", repr(parts), "list one a head")
    return Heads(
        tuple(
            likelihood_of(part, argument=f"{argument}.parts[{k}]") for k, part in enumerate(parts)
        )
    )


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any], str], Likelihood]]] = {
    "classes": (("count",), _classes),
    "gaussian": (("std", "count"), _gaussian),
    "counts": (("count", "dispersion"), _counts),
    "heads": (("parts",), _heads),
}
