"""Every experiment by name; among them the papers' nets and linear regressions.

A part of a row of nets is one run of one recipe with one seed: of the row's network, or of what it
is compared with. What a part finds does not depend on which other parts are run, so that recipes
and seeds can be added to a record one by one. It leaves its beliefs beside its record, which names
the file and its checksum; the file says itself of which experiment and part it is, so that one put
in another's place is seen. Listing and reporting need no torch.

Of regressions the papers draw one error curve each: nodes alone, cooperating, and a central node,
and say that the first stay high and the second equals the third. Here each curve is the mean of
many runs with its expectation drawn through it; all data in one place stands beside them, and what
the beliefs report beside what is true, which the papers do not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from empirical import papers
from peerbayes.experiments.codecs import CODECS
from peerbayes.experiments.experiment import Experiment, Job, Line, Numbered, numbered, parts_named
from peerbayes.experiments.gae import GAE
from peerbayes.experiments.link import LINKS
from peerbayes.experiments.net_rows import (
    RECIPE_NAMES,
    ROWS,
    NetPart,
    Part,
    part_values,
    parts_aside,
    parts_of,
    schedule_values,
)
from peerbayes.experiments.net_run import (
    OWN_START,
    RowExperiment,
    check_codec,
    codec_settings,
    net_recipe,
    run_net_part,
    server_recipe,
    weights_mark,
    written,
)
from peerbayes.experiments.run import KIND, PART_KIND
from peerbayes.experiments.setting import KeptFile, codec_recipes, parts_folder
from peerbayes.experiments.tuned import RECIPE as TUNED
from peerbayes.experiments.tuned import TunedExperiment
from peerbayes.measured import ErrorCurve
from peerbayes.messages import choose, guessed
from peerbayes.records import Record
from peerbayes.terminal import check_hours
from theory.lazy import later
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    import numpy as np

    from peerbayes.settings.nets import Experiment as Options
else:
    np = later("numpy")


FORM = "nets"
DEFAULT_RECIPE = "best"


@dataclass(frozen=True)
class NetExperiment(RowExperiment[Part]):
    """One row with neural nets; a quick run has a tenth of the images, and a few hundred steps.

    Attributes
    ----------
    codec
        Name of what writes the messages; empty: they are sent as they are. With one, only the
        parts whose messages it can write are run, in records of their own.
    """

    codec: str = ""

    options = RowExperiment.options | {"recipe", "codec"}

    @property
    def name(self) -> str:
        """Name of its row, then `quick` for a quick run, then the codec if there is one."""
        words = self.row.name, "quick" * self.is_quick, self.codec
        return " ".join(word for word in words if word)

    @property
    def title(self) -> str:
        """One line that says what the row is about."""
        return f"{self.row.title}, messages by {self.codec}" if self.codec else self.row.title

    def parts_with(
        self, words: str = "", *, seeds: int | None = None, recipe: str = DEFAULT_RECIPE
    ) -> tuple[str, ...]:
        """The parts of one recipe, and of the first seeds, whose names contain these words.

        Parts aside (`net_rows.parts_aside`) are among them only if the words ask for them.

        Raises
        ------
        ValueError
            If there is no such recipe, or no such part.
        """
        if recipe not in RECIPE_NAMES:
            names = (*RECIPE_NAMES, "tuned")
            remedy = guessed(recipe, names, otherwise="choose one of them, or tuned")
            raise fail("--recipe", " or ".join(RECIPE_NAMES), repr(recipe), remedy)
        own = [
            name
            for name, part in self.table.items()
            if part.recipe == recipe and part.asked_for in words
            if seeds is None or part.seed < seeds
        ]
        if not own and not self.codec:
            raise fail("--recipe", "paper or best", repr(recipe), f"{self.row.name} has no priors")
        if not own:
            got, remedy = repr(self.codec), "take the recipe 'best', which averages nets too"
            raise fail("--codec", f"one that writes the beliefs of {recipe!r}", got, remedy)
        return parts_named(own, words, shown=own[:12])

    def configured(self, how: Options, out: Path) -> tuple[Experiment[Any], tuple[str, ...] | None]:
        """The experiment by recipe, codec and seeds, or the comparison of methods on its row.

        Raises
        ------
        ValueError
            If there are no such parts, or what it needs is missing; in one line.
        """
        codec = "" if how.nets.codec in (None, "none") else str(how.nets.codec)
        recipe = how.nets.recipe or DEFAULT_RECIPE
        if recipe == TUNED:
            if codec:
                wanted = "no codec with --recipe tuned"
                raise fail("--codec", wanted, codec, "leave one of them out")
            return TunedExperiment(self.row, seeds=self.seeds).configured(how, out)
        found = self.asked(how, out, codec=codec)
        if codec:  # which parts there are depends on what it can write
            found.check()
        only = found.parts_with(how.nets.part or "", seeds=self.seeds_of(how), recipe=recipe)
        found.check()
        return found, only

    def check(self) -> None:
        """Refuse to run where something is missing, or the codec can write nothing of the row.

        Raises
        ------
        ValueError
            In one line that says how to get it.
        """
        super().check()
        if self.codec:
            check_codec(self.row, self.codec)

    def settings(self) -> dict[str, Any]:
        """What all parts have in common."""
        row = self.row
        return {
            "form": FORM,
            "row": row.name,
            "dataset": row.dataset,
            "hidden": list(row.hidden),
            "main": row.main,
            "confusion": row.confusion,
            "order": row.order,
            "groups": [[name, list(agents)] for name, agents in row.groups],
            "quick": self.is_quick,
            "device": self.setting.device,
            **self._coding,
        }

    def depends(self, part: Part) -> dict[str, Any]:
        """What the numbers of one part depend on: of the row, and its recipe."""
        from empirical.data import CHECKSUMS

        row = self.row
        values = part_values(row, part, is_quick=self.is_quick)
        if "server" in values:
            values = {**server_recipe(values).as_json(), **values}
        variant = row.variant(part.variant)
        apart = {"start": OWN_START} if part.role == "own initialisation" else {}
        return {
            "data": dict(CHECKSUMS[row.dataset]),
            "hidden": list(row.hidden),
            "dealing": variant.dealing,
            "network": dict(variant.network),
            "weights": weights_mark(row.name, part.variant),
            "role": part.role,
            "values": values,
            "schedule": schedule_values(row, is_quick=self.is_quick),
            "quick": self.is_quick,
            "device": self.setting.device,
            **apart,
            **self._coding,
        }

    def recipes(self, part: Part) -> tuple[str, ...]:
        """Its own, and those of the codecs."""
        codecs = codec_recipes(codec_settings(self.codec)) if self.codec else ()
        return net_recipe(self.row, part), *codecs

    def find(self, part: Part, job: Job) -> NetPart:
        """Train and measure (`net_run.run_net_part`)."""
        return run_net_part(
            self.row, part, job, is_quick=self.is_quick, codec=self.codec, setting=self.setting
        )

    def damage(self, part: str, content: Mapping[str, Any], folder: Path) -> str | None:
        """What is wrong with the beliefs that a part on record keeps in a folder; None if nothing.

        They are read from the first byte to the last, without torch.
        """
        if content.get("posterior") is None:
            return None
        kept = KeptFile.model_validate(content["posterior"])
        return kept.damage(folder, (self.row.name, part))

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """What is printed of the row, beside what every part found."""
        from peerbayes.experiments.net_lines import net_lines

        return net_lines(self.row, parts)

    @property
    def table(self) -> dict[str, Part]:
        """Its network's, what it is compared with, and those aside."""
        parts = parts_of(self.row, seeds=self.seeds, is_quick=self.is_quick)
        aside = () if self.is_quick or self.codec else parts_aside(self.row, seeds=self.seeds)
        chosen = [p for p in (*parts, *aside) if not self.codec or written(self.row, p, self.codec)]
        return {part.name: part for part in chosen}

    @property
    def _coding(self) -> dict[str, Any]:
        """What is said of the codec, where one writes the messages."""
        return {"codec": codec_settings(self.codec)} if self.codec else {}


# The beliefs that a part leaves -------------------------------------------------------------------


def damaged_posteriors(record: Record) -> Iterator[str]:
    """Yield what is wrong with the beliefs that a record of `run`, or of a part, speaks of.

    A record without the folder of its parts has been taken elsewhere, and is of use by itself.
    """
    if record.kind == PART_KIND:
        contents, folder, row = {"": record.body["content"]}, record.path.parent, None
    elif record.kind == KIND:
        contents, row = record.body["content"], record.body.get("settings", {}).get("row")
        folder = parts_folder(record.path.parent, record.body["experiment"])
    else:
        return
    if not folder.is_dir():
        return
    for name, content in contents.items():
        if isinstance(content, Mapping) and content.get("posterior") is not None:
            part = (
                name or Part(*(content[key] for key in ("recipe", "role", "variant", "seed"))).name
            )
            damage = KeptFile.model_validate(content["posterior"]).damage(folder, (row, part))
            if damage is not None:
                yield damage


# Linear regressions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class RegressionExperiment(Experiment[Numbered]):
    """One regression, run as a network, alone, in one place, and at a central node.

    Attributes
    ----------
    problem
        Name of the built-in problem.
    rounds, records, draws
        n; how many rounds are recorded; over how many sets of inputs predictions are averaged.
    printed_alone, printed_cooperating
        What the paper says of its figure.
    """

    name: str
    title: str
    source: str
    problem: str
    agents: int
    rounds: int = 1000
    records: int = 20
    draws: int = 100
    replicates: int = 2000
    printed_alone: str = "MSE stays high"
    printed_cooperating: str = "MSE equals the central node's"

    replicates_are_parts = False
    options = frozenset()

    @property
    def table(self) -> Mapping[str, Numbered]:
        """The network, each agent alone, all data in one place, the central node."""
        lone = (f"agent {i} alone" for i in range(self.agents))
        return numbered("cooperating", *lone, "all data in one place", "central node")

    def settings(self) -> dict[str, Any]:
        """The configuration, and the problem's own file."""
        from peerbayes.problem.builtins.loading import load_problem

        specification = load_problem(self.problem).specification
        assert specification is not None
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        shared = {"seeds", "is_quick", "setting"}
        own = {name: value for name, value in own.items() if name not in shared}
        return {**own, "specification": specification.document()}

    def run_part(
        self, part: str, *, seed: int, replicates: int = 1, progress: Progress | None = None
    ) -> ErrorCurve:
        """One curve, measured and predicted."""
        from exact import Run, prepare_regression
        from peerbayes.kinds.regression.curves import coordinate_curves, learners, run_learner
        from peerbayes.kinds.regression.simulate import recorded_rounds
        from peerbayes.problem.builtins.loading import load_problem
        from peerbayes.problem.problems import RegressionProblem, of_kind
        from theory.regression import calibration

        problem = of_kind(load_problem(self.problem), RegressionProblem, self.name)
        record = recorded_rounds(self.rounds, most=self.records)
        run = Run(rounds=self.rounds, replicates=replicates, seed=seed, record=record)
        check_hours(prepare_regression(problem.network, problem.regression, run=run).cost())
        learner = next(one for one in learners(problem) if one.name == part)
        curve = run_learner(
            learner, rounds=self.rounds, record=record, replicates=replicates, draws=self.draws,
            seed=seed, progress=progress,
        )  # fmt: skip
        coordinates = None
        if learner.role == "cooperating":
            limits = calibration(problem.network, problem.regression).coordinates
            coordinates = coordinate_curves(curve, limits)
        return curve.document(coordinates, with_ends=True)

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """Each curve's last point, what the papers say of it, and how the curves compare."""
        curves = {name: ErrorCurve.model_validate(part) for name, part in parts.items()}
        lines = []
        for name, curve in curves.items():
            predicted, measured, error, allowed = _at_end(curve)
            alone = curve.role == "alone"
            lines.append(
                Line(
                    f"excess error after {self.rounds} rounds, {name}",
                    self.printed_alone if alone else "",
                    measured,
                    error,
                    predicted,
                    _agree(measured, predicted, allowed),
                    f"tends to {curve.limit:.4g}" if alone else f"tends to {curve.constant:.5g}/n",
                )
            )
        together, central = curves["cooperating"], curves["central node"]
        pooled = curves["all data in one place"]
        for what, above, below, constant, printed, words in (
            ("cooperating over central node", together, _at_end(central), central.constant,
             self.printed_cooperating, f": {self.agents} samples a round against one"),
            ("cooperating over all data in one place", together, _at_end(pooled), pooled.constant,
             "", ""),
            ("true error over reported error, cooperating", together, together.report_at_end or [],
             together.reported.constant, "", "; the papers do not show it"),
        ):  # fmt: skip
            remark = f"tends to {(above.constant or 0.0) / (constant or np.nan):.4g}{words}"
            lines.append(_quotient(what, _at_end(above), below, printed, remark))
        return tuple(lines)


def _agree(measured: float, predicted: float, allowed: float) -> bool:
    return bool(abs(measured - predicted) <= allowed + 1e-11 * abs(predicted))


def _at_end(curve: ErrorCurve) -> list[float]:
    """The error at the last round: predicted, measured, standard error, allowed."""
    return curve.error_at_end or []


def _quotient(what: str, above: list[float], below: list[float], printed: str, remark: str) -> Line:
    """A quotient of two errors, each (predicted, measured, standard error, allowed)."""
    (p, m, e, a), (q, r, f, b) = above, below
    predicted, measured = p / q, m / r
    allowed = (p + a) / max(q - b, 1e-300) - predicted
    error = measured * float(np.hypot(e / m, f / r))
    holds = _agree(measured, predicted, allowed)
    return Line(what, printed, measured, error, predicted, holds, remark)


# Every experiment by name -------------------------------------------------------------------------

_ALL: tuple[Experiment[Any], ...] = (
    *(
        papers.built(RegressionExperiment, one)
        for one in papers.tables("regressions")["regressions"]
    ),
    *(NetExperiment(row, seeds=row.seeds) for row in ROWS.values()),
    GAE,
    CODECS,
    *LINKS,
)

EXPERIMENTS: Mapping[str, Experiment[Any]] = MappingProxyType({one.name: one for one in _ALL})
"""The experiments by name."""


def find_experiment(name: str) -> Experiment[Any]:
    """The experiment of this name.

    Raises
    ------
    ValueError
        If there is none, in one line that says which there are.

    Examples
    --------
    >>> find_experiment("regression-2").source
    'P1 5.1'
    """
    return EXPERIMENTS[choose("EXPERIMENT", name, EXPERIMENTS, otherwise="see 'peerbayes list'")]


# What each option of `run` wants, and what to do where it is of no use.
_LEAVE = "leave it out"
_OPTIONS = {
    "codec": ("a row of Bayesian nets", _LEAVE),
    "workers": (
        "gae, whose nodes train side by side",
        "leave it out; to run parts side by side use campaign --workers, or torchrun",
    ),
    "recipe": ("an experiment with recipes", _LEAVE),
    **dict.fromkeys(("part", "quick", "device"), ("an experiment with neural nets", _LEAVE)),
}


def configured(
    experiment: Experiment[Any], how: Options, out: Path
) -> tuple[Experiment[Any], tuple[str, ...] | None]:
    """The experiment as it is to be run, and which of its parts; None for all.

    `out` is the folder of records.

    Raises
    ------
    ValueError
        If a setting is of no use to it, or what it needs is missing; in one line.
    """
    for name, (wanted, remedy) in _OPTIONS.items():
        given = getattr(how.nets, name)
        if given and given != "none" and name not in experiment.options:
            if name == "recipe" and not experiment.options:
                wanted = "an experiment with neural nets"
            raise fail(f"--{name}", wanted, experiment.name, remedy)
    return experiment.configured(how, out)
