"""`codecs`: bits against nats of divergence, codec by codec, beside the least that there can be.

Two agents train a net; what the first says, round by round, is said by every codec, and the last
message is measured (:mod:`empirical.messages.limit`). What the limit is and whom it binds is in
docs: mathematics/message-limit. Codecs of plain weights, which write no beliefs, are not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from peerbayes.documents import Document
from peerbayes.experiments.codecs_setting import CONTENDERS, QUICK, CodecSetting, Contender
from peerbayes.experiments.experiment import Line, PartsBySeed, parts_named
from peerbayes.experiments.setting import CODECS as RECIPE
from peerbayes.experiments.setting import behaviour_mark
from theory.progress import Progress
from theory.validation import fail, install_extra

FORM = "codecs"
_PART = "codecs seed "
_EXTRAS = {"torch": "train", "pywt": "messages"}


@dataclass(frozen=True)
class CodecsExperiment(PartsBySeed):
    """Every codec of Gaussian beliefs on the messages of one training, for several seeds.

    Attributes
    ----------
    seeds
        How many trainings.
    is_quick
        A small net and fewer codecs. It has a name, and so records, of its own.
    setting
        Whose messages.
    """

    seeds: int = 3
    is_quick: bool = False
    setting: CodecSetting = field(default_factory=CodecSetting)
    title: str = "codecs of beliefs: bits against nats of divergence, beside the limit"
    source: str = "theory: the least that a message can cost"

    @property
    def name(self) -> str:
        """``codecs``, or ``codecs quick``."""
        return "codecs quick" if self.is_quick else "codecs"

    @property
    def parts(self) -> tuple[str, ...]:
        """One a seed."""
        return tuple(f"{_PART}{k}" for k in range(self.seeds))

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """The codecs that are tried."""
        return tuple(one for one in CONTENDERS if one.in_quick or not self.is_quick)

    def parts_with(self, words: str, *, seeds: int) -> tuple[str, ...]:
        """The parts of the first seeds whose names contain these words.

        Raises
        ------
        ValueError
            If there is none.
        """
        return parts_named(self.parts[:seeds], words)

    def quick(self) -> CodecsExperiment:
        """The same in less than a minute."""
        return replace(self, is_quick=True, setting=replace(QUICK, data=self.setting.data))

    def check(self) -> None:
        """Refuse to run where something that the experiment needs is missing.

        Raises
        ------
        ValueError
            If a library or the data are missing; in one line that says how to get them.
        """
        for library, extra in _EXTRAS.items():
            if find_spec(library) is None:
                raise fail(self.name, library, f"no {library}", install_extra(extra))
        if self.setting.dataset != "digits":
            from empirical.data import locate

            locate(self.setting.dataset, directory=self.setting.data)

    def settings(self) -> dict[str, Any]:
        """What all parts have in common; `form` is what a report goes by."""
        return {"form": FORM, "quick": self.is_quick, **self.setting.content()}

    def part_settings(self, part: str) -> dict[str, Any]:
        """What the numbers of a part depend on: the training, the codecs, what code does."""
        words = [dict(one.words) for one in self.contenders]
        return {**self.settings(), "codecs": words, "behaviour": behaviour_mark(RECIPE)}

    def stream(self, part: str) -> int:
        """The number of its seed."""
        return int(part.removeprefix(_PART))

    def run_part(
        self, part: str, *, seed: int, replicates: int, progress: Progress | None
    ) -> Document:
        """Train, and try every codec on what was said.

        Raises
        ------
        ValueError
            If something is missing, or training breaks down.
        """
        self.check()  # before torch is asked for
        from empirical.nets.threads import one_thread
        from peerbayes.experiments.codecs_runs import run_codecs

        with one_thread():
            return run_codecs(
                self.setting, self.contenders, number=self.stream(part), seed=seed,
                progress=progress,
            )  # fmt: skip

    def conclude(self, parts: Mapping[str, Any]) -> tuple[Line, ...]:
        """A line a codec, and one for the distance to the limit."""
        from peerbayes.experiments.codecs_lines import codecs_lines

        return codecs_lines(parts)


CODECS = CodecsExperiment()
"""The experiment."""
