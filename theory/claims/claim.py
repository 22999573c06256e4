"""What a published statement is here, and what stands behind the verdict on it.

A *claim* is a statement as it is printed, with its source. Its *witnesses* are computations that
anyone can repeat; each recomputes from integers and says whether what it tests held. The one
exception: where the papers give no numbers for an example of theirs (C of a Gaussian likelihood is
infinite), what is known of it is stated, not computed. The roles:

``counterexample``
    an instance within the printed hypotheses on which the printed statement breaks;
``support``
    the printed statement, tested as it stands;
``conditional``
    the printed statement, tested where an added condition is met;
``reach``
    whether the papers' own examples are safe: the condition, or the statement itself, on them;
``repaired``
    the corrected statement, tested;
``reading``
    the printed statement in one of the readings that its text allows: `holds` says whether it is
    right when read so;
``open``
    something that a verdict depends on and the text does not say: `holds` says that it is open.

The verdict follows from them (`verdict_of`):

* **holds**: no counterexample, and every test held;
* **holds under an added condition**: a counterexample exists, but the statement survives wherever
  the condition is met, and the papers' own examples are safe;
* **fails**: a counterexample exists, and the papers' own examples are not safe from it;
* **undecided from the text**: right in one reading and wrong in another, or about something that
  the text leaves open.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import flint
import numpy as np
from flint import arb

from theory.showing import Shown
from theory.typed import typed
from theory.validation import as_integer, as_positive, fail

# What a published statement is here, and what stands behind the verdict on it --------------------


Verdict = Literal["holds", "fails", "holds under an added condition", "undecided from the text"]
Role = Literal["counterexample", "support", "conditional", "reach", "repaired", "reading", "open"]
Kind = Literal["exact", "bound", "asymptotic"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
PROJECT = "this project"
"""The source of statements that repair a published one."""


@dataclass(frozen=True)
class Effort(Shown):
    """How long to look for counterexamples, and the seed of the search.

    `scale` multiplies the number of cases of every random search: 1 takes less than a minute in
    all. `tighten` multiplies every bound that is searched: below 1 it makes statements out of them
    that are stronger than what is claimed, and that a search worth its name then breaks.

    Raises
    ------
    ValueError
        If `scale` or `tighten` is not positive, or `seed` is negative.
    """

    scale: float = 1.0
    seed: int = 0
    tighten: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", as_positive("effort", self.scale))
        object.__setattr__(self, "tighten", as_positive("tighten", self.tighten))
        object.__setattr__(self, "seed", as_integer("seed", self.seed, minimum=0))

    def cases(self, usual: int) -> int:
        """The number of cases where `usual` are tried at scale 1."""
        return max(1, round(usual * self.scale))

    def generator(self, name: str) -> np.random.Generator:
        """Random numbers that depend on the seed and the search's name alone."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])


@dataclass(frozen=True)
class Finding(Shown):
    """What one witness found.

    Attributes
    ----------
    holds
        Whether the statement held in every case tried. For ``reach``: whether the papers' own
        examples are safe.
    text
        The finding in one line.
    predicted, measured
        What the statement says and what is the case, in the instance that `text` speaks of (for a
        search: the closest one); None where there is no number.
    cases
        How many instances were tried.
    closest
        The largest quotient of measured and bound met: 1 means the bound is attained. None where
        the statement is no bound.
    """

    holds: bool
    text: str
    predicted: float | None = None
    measured: float | None = None
    cases: int = 1
    closest: float | None = None


@dataclass(frozen=True)
class Witness(Shown):
    """A computation that backs a verdict: `run` repeats it."""

    role: Role
    text: str
    run: Callable[[Effort], Finding]


@dataclass(frozen=True)
class Claim(Shown):
    """A published statement with its verdict.

    Attributes
    ----------
    key
        Short name, unique in the registry.
    title
        A few words.
    statement
        The statement as printed, in LaTeX; a repaired one with its hypotheses.
    words
        The same in plain words.
    source
        Paper (or slides), number and equation; `PROJECT` and the page with the proof for repaired
        statements.
    kind
        ``exact`` for equations and facts, ``bound`` for inequalities, ``asymptotic`` for limits.
    verdict
        What `verdict_of` must return on the witnesses' findings.
    condition
        Where the printed form is right although it is not in general, or in which reading; empty
        if it simply holds, or if nothing saves it.
    repaired
        What is true instead; empty where nothing needs repair.
    witnesses
        At least one.

    Raises
    ------
    ValueError
        If a part is missing that the verdict calls for.
    """

    key: str
    title: str
    statement: str
    words: str
    source: str
    kind: Kind
    verdict: Verdict
    witnesses: tuple[Witness, ...]
    condition: str = ""
    repaired: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            wanted = f"one of {', '.join(VERDICTS)}"
            raise fail(f"claim {self.key}", wanted, repr(self.verdict), "correct the verdict")
        if not self.witnesses:
            raise fail(f"claim {self.key}", "at least one witness", "none", "add one")
        if self.verdict == "holds under an added condition" and not self.condition:
            raise fail(f"claim {self.key}", "a condition", "none", "state the condition")
        is_right_nowhere = not (self.condition or self.repaired)
        if self.verdict in {"fails", "undecided from the text"} and is_right_nowhere:
            wanted = "the condition under which it is right, or what is true instead"
            raise fail(f"claim {self.key}", wanted, "neither", "state one")

    @property
    def is_published(self) -> bool:
        """Whether the statement is the papers' and not a repair of theirs."""
        return not self.source.startswith(PROJECT)


def verdict_of(witnesses: Sequence[Witness], findings: Sequence[Finding]) -> Verdict | None:
    """The verdict that the findings call for; None if they contradict what the witnesses are for.

    Contradictions are a counterexample on which the statement held, a test of the printed,
    conditional or repaired statement that broke it, something called open that is not, and a trial
    of the print as it stands beside a trial of its readings.
    """
    held: dict[Role, list[bool]] = {}
    for witness, finding in zip(witnesses, findings, strict=True):
        held.setdefault(witness.role, []).append(finding.holds)
    if any(held.get("counterexample", [])):
        return None
    if not all(all(held.get(role, [])) for role in ("support", "conditional", "repaired", "open")):
        return None
    if "open" in held or "reading" in held:
        if not held.keys() <= {"open", "reading", "repaired"}:
            return None
        readings = held.get("reading", [])
        if "open" in held or len(set(readings)) > 1:
            return "undecided from the text"
        return "holds" if all(readings) else "fails"
    if "counterexample" not in held:
        return "holds" if "support" in held else None
    is_safe = "conditional" in held and all(held.get("reach", [False]))
    return "holds under an added condition" if is_safe else "fails"


# Put claims on trial -----------------------------------------------------------------------------


PRECISION = 256
"""Bits of the ball arithmetic that witnesses use."""


@dataclass(frozen=True)
class ClaimTrial(Shown):
    """A claim and what its witnesses found, in their order."""

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that the findings call for; None if they contradict one another."""
        return verdict_of(self.claim.witnesses, self.findings)

    @property
    def is_confirmed(self) -> bool:
        """Whether the recorded verdict is the one that the findings call for."""
        return self.verdict == self.claim.verdict

    @property
    def cases(self) -> int:
        """How many instances were tried in all."""
        return sum(finding.cases for finding in self.findings)

    @property
    def headline(self) -> Finding:
        """The finding to show where there is room for one: what contradicts, else the first."""
        if not self.is_confirmed:
            for witness, finding in zip(self.claim.witnesses, self.findings, strict=True):
                if finding.holds == (witness.role == "counterexample"):
                    return finding
        return self.findings[0]


@typed
def try_claim(claim: Claim, effort: Effort | None = None) -> ClaimTrial:
    """Run the witnesses of one claim; the same seed gives the same findings.

    Examples
    --------
    >>> from theory.claims import CLAIMS, try_claim
    >>> trial = try_claim(CLAIMS["star-centralities"])
    >>> trial.is_confirmed, trial.verdict
    (True, 'holds')
    """
    effort = effort or Effort()
    with flint.ctx.workprec(PRECISION):
        return ClaimTrial(claim, tuple(witness.run(effort) for witness in claim.witnesses))


@typed
def try_claims(
    claims: Sequence[Claim],
    effort: Effort | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[ClaimTrial, ...]:
    """Run the witnesses of several claims; `progress` is called with (claims done, all claims)."""
    trials = []
    for done, claim in enumerate(claims, 1):
        trials.append(try_claim(claim, effort))
        if progress is not None:
            progress(done, len(claims))
    return tuple(trials)


# The search for a case that breaks a statement ---------------------------------------------------


@dataclass(frozen=True)
class Attempt:
    """One case: is the statement certainly broken, how close it came, and the two numbers."""

    is_broken: bool
    ratio: float
    predicted: float
    measured: float


def at_most(measured: arb, bound: arb) -> Attempt:
    """The case of "measured ≤ bound", both balls.

    Broken means certainly broken. Balls that overlap have width 2^-200 or so here: then the two
    are equal as far as can be told, and the bound is attained.
    """
    ratio = float((measured / bound).mid()) if bound > 0 else 1.0
    return Attempt(bool(measured > bound), ratio, float(bound.mid()), float(measured.mid()))


def hunt(
    effort: Effort,
    name: str,
    usual: int,
    attempt: Callable[[np.random.Generator], Attempt | None],
    what: str,
) -> Finding:
    """Try random cases; those for which `attempt` returns None do not meet the hypotheses.

    Stops at the first case that breaks the statement. `what` says what the cases are.
    """
    rng = effort.generator(name)
    wanted, tried = effort.cases(usual), 0
    closest: Attempt | None = None
    for _ in range(20 * wanted):
        found = attempt(rng)
        if found is None:
            continue
        tried += 1
        if found.is_broken or (effort.tighten < 1 and found.ratio > effort.tighten):
            text = f"broken by case {tried} of {what}: {found.measured:.6g} > {found.predicted:.6g}"
            return Finding(False, text, found.predicted, found.measured, tried, closest=found.ratio)
        if closest is None or found.ratio > closest.ratio:
            closest = found
        if tried == wanted:
            break
    if closest is None:
        return Finding(False, f"no case of {what} met the hypotheses", cases=0)
    text = f"{tried} cases of {what}; closest approach {closest.ratio:.4g} of the bound"
    return Finding(True, text, closest.predicted, closest.measured, tried, closest=closest.ratio)


def inspect(
    effort: Effort,
    name: str,
    usual: int,
    is_right: Callable[[np.random.Generator], bool | None],
    what: str,
) -> Finding:
    """The same for statements that are no bounds; None is a case that does not count."""

    def attempt(rng: np.random.Generator) -> Attempt | None:
        answer = is_right(rng)
        return None if answer is None else Attempt(not answer, 0.0, 1.0, float(answer))

    found = hunt(effort, name, usual, attempt, what)
    if found.cases == 0:
        return found
    text = f"{found.cases} cases of {what}"
    text = f"{text}: none breaks it" if found.holds else f"broken by the last of {text}"
    return Finding(found.holds, text, cases=found.cases)


def search_witness(
    role: Role,
    name: str,
    usual: int,
    is_right: Callable[[np.random.Generator], bool | None],
    what: str,
    *,
    text: str | None = None,
) -> Witness:
    """A witness that is `inspect`; its text is `what` if left out."""
    return Witness(role, text or what, lambda effort: inspect(effort, name, usual, is_right, what))


def bound_witness(
    role: Role,
    name: str,
    usual: int,
    attempt: Callable[[np.random.Generator], Attempt | None],
    what: str,
) -> Witness:
    """A witness that is `hunt`."""
    return Witness(role, what, lambda effort: hunt(effort, name, usual, attempt, what))
