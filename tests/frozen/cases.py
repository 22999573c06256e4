"""Everything that is run for the goldens: commands, certificates, replays.

Problem files lie in the folder `problems`; a command runs in an empty folder that holds copies of
them. Where a command is dear, its words are frozen on one problem and its JSON on the others.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tests.frozen.certificates import FAMILIES
from tests.frozen.replays import REPLAYS

GROUPS = ("commands", "help", "training", "replays", "certificates")


@dataclass(frozen=True)
class Case:
    """Something that is run, and what is frozen of it.

    Attributes
    ----------
    group
        One of `GROUPS`: the file that its goldens are in.
    name
        Of a command its words, as in a shell.
    outputs
        Of a command: "json" (with the records that it leaves, and the pages), "text", "report"
        (the page that `peerbayes report` makes of the records).
    before
        Commands that run before it, in the same folder.
    files
        Files that it writes besides, relative to the folder; frozen as texts.
    images
        Whether it needs MNIST and Fashion-MNIST; without them it is left out.
    """

    group: str
    name: str
    outputs: tuple[str, ...] = ("json", "text")
    before: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    images: bool = False

    @property
    def words(self) -> list[str]:
        """Return the arguments of the command."""
        return shlex.split(self.name)


ALL = ("json", "text", "report")
DATA = ("json", "report")  # the words stand in the report too

# One problem of each kind: finite, exact, with names and batches, narrow links, digit readers on a
# star; networks that change; liars; regressions.
FINITE = ("two-coins", "rational.toml", "harbour.toml", "narrow.toml", "p2-star")
CHANGING = ("turns.toml", "rotating-star", "'restless-ring links'")
OTHERS = ("'liars-torus average 1'", "p1-regression", "diabetes")
PROBLEMS = (*FINITE, *CHANGING, *OTHERS)
# `verify` tries all variants of a name; here one.
VERIFIED = {
    "p2-star": "'p2-star a=0.5'",
    "rotating-star": "'rotating-star 25'",
    "diabetes": "'diabetes features'",
}
OBJECTIVES = ("rate", "exponent", "samples", "mixing", "trade-off", "next-edge", "bytes")
# Designs that take longer than the rest together, and are left out.
LEFT_OUT = {
    "p2-star": {"samples", "trade-off", "bytes"},
    "rational.toml": {"samples", "trade-off", "bytes"},
    "'liars-torus average 1'": {"samples", "trade-off"},
}
# Designs that take seconds: their words are frozen on a smaller problem.
DEAR = {
    "p2-star": set(OBJECTIVES),
    "rational.toml": {"exponent", "mixing"},
    "harbour.toml": {"samples", "trade-off"},
    "narrow.toml": {"samples", "trade-off", "bytes"},
    "'liars-torus average 1'": {"next-edge"},
    "'restless-ring links'": {"rate"},
    "rotating-star": {"rate"},
}
# So much time that no clock has a say in what a search finds.
UNHURRIED = "--seconds 3600 --replicates 100 --seed 5"


def analyses() -> Iterator[Case]:
    """Yield `analyse` with each of its options, on all problems."""
    for problem in PROBLEMS:
        for options in ("", " --delta 0.01", " --exact", " --certify", " --rounds 60"):
            yield Case("commands", f"analyse {problem}{options}")
    yield Case("commands", "analyse two-coins --batch 3,1 --delta 0.01")
    yield Case("commands", "analyse rational.toml --certify --rounds 60 --delta 0.01")


def runs() -> Iterator[Case]:
    """Yield `simulate`, `verify` and `place` on all problems."""
    for problem in PROBLEMS:
        yield Case("commands", f"simulate {problem} --rounds 30 --replicates 20 --seed 3", ALL)
        yield Case(
            "commands",
            f"verify {VERIFIED.get(problem, problem)} --seed 2",
            ("json",) if problem == "p1-regression" else ("json", "text"),
        )
        yield Case("commands", f"place {problem} --replicates 100 --seed 5", ALL)
    for objective in ("exponent", "samples"):
        yield Case(
            "commands", f"place harbour.toml --objective {objective} --replicates 0 --seed 5", ALL
        )
    yield Case("commands", "verify two-coins rational.toml --delta 0.01", ("json",))
    yield Case("commands", "verify --claims --effort 0.1")
    first = "simulate two-coins --rounds 20 --replicates 8"
    yield Case("commands", f"{first} --seed 0", before=(f"{first} --seed 0 --quiet",))
    kept = "design two-coins --objective mixing --replicates 0"
    for end in ("", " --force"):  # the record of another seed stays, or is replaced
        yield Case("commands", f"{kept} --seed 6{end}", before=(f"{kept} --seed 5 --quiet",))


def designs() -> Iterator[Case]:
    """Yield `design` by every objective, on all problems."""
    for problem in PROBLEMS:
        for objective in OBJECTIVES:
            if objective in LEFT_OUT.get(problem, ()):
                continue
            outputs = DATA if objective in DEAR.get(problem, ()) else ALL
            words = f"design {problem} --objective {objective} {UNHURRIED}"
            yield Case("commands", words, outputs)
    more = (
        "two-coins --exact",
        "two-coins --objective exponent --worst-case",
        "two-coins --objective mixing --stationary uniform",
        "two-coins --objective mixing --stationary 1/2,1/2,0",
        "harbour.toml --fixed 0,3 --minimum-self-weight 0.2",
        "harbour.toml --objective mixing --symmetric --stationary uniform",
        "harbour.toml --objective next-edge --rule metropolis",
        "two-coins --objective speed",
    )
    for words in more:
        yield Case("commands", f"design {words} {UNHURRIED}", ALL)
    yield Case(
        "commands",
        f"design narrow.toml --write designed.toml {UNHURRIED}",
        ("json",),
        files=("designed.toml",),
    )


def formulas() -> Iterator[Case]:
    """Yield `formula` of families and problems, in words, JSON and LaTeX."""
    for problem in PROBLEMS:
        yield Case("commands", f"formula {problem}")
    families = (
        *("", "star", "ring", "path", "two-agents", "hypercube", "risk", "star --samples"),
        "complete --agents 4",
        "grid --rows 2 --columns 3",
        "two-agents --a 1/10 --b 3/5 --samples --set delta=1/20",
        "weights --weights '1-a a 0; 0 1-b b; c 0 1-c'",
        "star --edge-confidence 3/2",
        "starr",
    )
    for words in families:
        yield Case("commands", f"formula {words}".strip())
    for words in ("star --agents 9 --edge-confidence 1/2", "two-agents", "risk"):
        yield Case("commands", f"formula {words} --latex", ("text",))


def others() -> Iterator[Case]:
    """Yield the other commands: what they print, and what they refuse."""
    yield Case("commands", "list")
    for name in ("", "net", "record", "analyse", "design", "run", "keys", "nonsense"):
        yield Case("commands", f"schema {name}".strip(), ("json",))
    for words in ("regression-2 --replicates 50", "regression-4 --replicates 20 --seed 4"):
        yield Case("commands", f"run {words}", ALL)
    once = "run regression-2 --replicates 50"
    yield Case("commands", f"{once} --resume", before=(f"{once} --quiet",))
    yield Case("commands", "figures")
    yield Case("commands", "figures slides-4a p1-4a", ALL)
    yield Case("commands", "figures p2-5x")
    yield Case("commands", "campaign --status", ("json",))
    yield Case("commands", "campaign --status --records nowhere")
    yield Case("commands", "campaign --status --only 'star-*: paper*' --records nowhere")
    new = "keys new harbour.toml --out keys"
    yield Case("commands", new)
    yield Case("commands", "keys check keys", before=(f"{new} --quiet",))
    yield Case("commands", "keys add stern --out keys", before=(f"{new} --quiet",))
    refused = (
        *("analyse p2-stra", "analyse no-such-file.toml", "analyse", "analyse two-coins --delta 2"),
        *("simulate two-coins --rounds -5", "simulate two-coins --rounds 5 --hours 0"),
        *("run regresion-2", "report", "report nowhere.json", "router", "keys check nowhere"),
        *("watch two-coins", "watch nothing", "peer two-coins --agent 9", "peer two-coins"),
        *("launch nothing", "launch p1-regression --rounds 5", "train no-such-file.toml"),
        *("explore p2-stra --no-browser", "explore --port 99999", "nonsense", "--nonsense"),
    )
    for words in refused:
        yield Case("commands", words, ("text",))


def helps() -> Iterator[Case]:
    """Yield `--help` of the program and of each command."""
    names = (
        *("", "analyse", "simulate", "verify", "design", "place", "explore", "watch", "peer"),
        *("launch", "report", "formula", "list", "run", "train", "campaign", "figures", "router"),
        *("schema", "keys", "keys new", "keys add", "keys members", "keys check"),
    )
    for name in names:
        yield Case("help", f"{name} --help".strip(), ("text",))
    yield Case("help", "--version", ("text",))


def trainings() -> Iterator[Case]:
    """Yield trainings: of a net file, and brief ones of the papers' rows."""
    yield Case("training", "train net.toml", ALL)
    for name in ("sites", "averaging", "adam", "backprop"):
        yield Case("training", f"train {name}.toml")
    for codec in ("posterior", "samples", "difference+sign", "topk:share=0.2", "nonsense"):
        yield Case("training", f"train net.toml --codec {codec}", ("json",))
    yield Case("training", "train averaging.toml --codec difference+sign", ("json",))
    yield Case("training", "train net.toml --rounds 3 --seed 7", ("json",))
    rows = (
        "star-mnist-1 --part 'best a=0.5 seed 0'",
        "fmnist-2-balanced-a --recipe paper",
        "fmnist-central",
        "fedavg-iid",
        "gae --part 'pruned balanced 4 seed 0'",
        "codecs",
    )
    for words in rows:
        words = f"run {words} --quick --replicates 1"
        yield Case("training", words, ("json",), images=True)
    yield Case(
        "training",
        "run rate-link --quick --replicates 2 --part 'star a=0.1'",
        ("json",),
        images=True,
    )
    tuned = "run fmnist-2-balanced-a --recipe tuned --part 2-steps-averaging-adam-search-2"
    yield Case("training", f"{tuned} --quick --replicates 1", ("json",), images=True)
    yield Case("training", "run fmnist-central --quick --replicates 1 --recipe paper", images=True)
    yield Case("training", "run star-mnist-1 --quick --part nonsense", images=True)


def all_cases() -> dict[str, Case]:
    """Return every case by its name."""
    cases = [*analyses(), *runs(), *designs(), *formulas(), *others(), *helps(), *trainings()]
    cases += [Case("replays", f"replay: {name}") for name in REPLAYS]
    cases += [Case("certificates", f"certificates: {name}") for name in FAMILIES]
    found: dict[str, Case] = {}
    for case in cases:
        assert case.name not in found, f"two cases are called {case.name!r}"
        found[case.name] = case
    return found
