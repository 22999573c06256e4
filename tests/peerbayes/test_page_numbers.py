"""Numbers in the words of pages about experiments are those of the records.

Tables and figures are made from records when a page is built; sentences are written by hand. Each
decimal number in them has to be one that the records give, rounded to as many digits; with a
standard error, both have to be of one estimate. What comes from elsewhere is named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("IPython")

from peerbayes.experiments.gae_rows import TABLE_1, TRIALS, GaeRunPart
from peerbayes.experiments.net_lines import Printed, accuracy_tolerance
from peerbayes.experiments.net_rows import ROWS
from tests.peerbayes.commands import Patch

DOCS = Path(__file__).parents[2] / "docs"
# A number with a point, and its standard error; not part of a name, a formula or a section.
_NUMBER = re.compile(r"(?<![\w.$=/·−-])(\d*\.\d+)(?: ± (\d*\.\d+))?(?![\w·])(?!\.\d)")
_NO_WORDS = re.compile(
    r"```.*?```|^---.*?^---|\$[^$]*\$|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE
)
Found = tuple[float | None, float | None]


@pytest.fixture
def scripts(monkeypatch: Patch) -> Callable[[str], ModuleType]:
    """The modules that make tables and figures of the pages."""
    import importlib

    monkeypatch.syspath_prepend(str(DOCS / "experiments"))
    return importlib.import_module


def numbers(text: str) -> Iterator[tuple[str, str | None]]:
    """Every decimal number of a text, and the error that stands with it."""
    for match in _NUMBER.finditer(_NO_WORDS.sub(" ", text)):
        yield match[1], match[2]


def is_rounded(shown: str | None, value: float | None) -> bool:
    """Whether a number is what is shown, to as many digits; an error may be left out."""
    if shown is None:
        return True
    half = 0.5 * 10.0 ** -len(shown.partition(".")[2])
    # Means of floats: a tie may be rounded to either side.
    return value is not None and abs(float(shown) - abs(value)) <= half * (1 + 1e-6)


def without_source(text: str, found: Iterable[Found], others: Iterable[str] = ()) -> list[str]:
    """The numbers of a text that the records do not give."""
    known = list(found)
    return [
        number
        for number, error in numbers(text)
        if number not in others
        and not any(is_rounded(number, one) and is_rounded(error, other) for one, other in known)
    ]


def words_of(page: str, begin: str, end: str = "") -> str:
    """A page from one piece of text to another, a paragraph a line."""
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", (DOCS / page).read_text(encoding="utf-8"))
    assert text.count(begin) == 1, begin
    rest = text[text.index(begin) :]
    return rest[: rest.index(end)] if end else rest


def test_a_number_is_held_to_its_digits_and_its_error() -> None:
    found = [(84.514, 0.131), (0.0747, None)]
    good = "Of `a.5` sites have 84.51 ± .13, or 84.5, and .075 nats at $a=.7$ ([P1 5.1](x.2))."
    assert [one for one, _ in numbers(good)] == ["84.51", "84.5", ".075", "5.1"]
    assert without_source(good, found, ["5.1"]) == []
    assert without_source("84.52 ± .13, 84.51 ± .14, .0748", found) == ["84.52", "84.51", ".0748"]


# Rows, figures and rates ------------------------------------------------------------------------


def of_lines(lines: Iterable[Any]) -> Iterator[Found]:
    """What is measured and predicted, by how much one number is missed, and what remarks say."""
    for line in lines:
        yield line["measured"], line["standard_error"]
        yield line["predicted"], None
        if re.fullmatch(r"\d*\.\d+", line["printed"]) and line["measured"] is not None:
            yield line["measured"] - float(line["printed"]), None
        yield from ((float(one), None) for one in re.findall(r"\d*\.\d+", line["remark"]))


def sections(page: str, begin: str) -> list[str]:
    """The sections of a page from one on: each is held to what it is about."""
    return words_of(page, begin).split("\n## ")


def test_words_on_rows(scripts: Callable[[str], Any]) -> None:
    show = scripts("show")
    for section in sections("reference/net-experiments.md", "## Two nodes, Fashion-MNIST"):
        rows = [row for row in ROWS if row in section]
        found = list(of_lines(line for row in rows for line, _ in show.lines_of(row)))
        # The widths that nets begin with are settings.
        others = [".03", ".05"] if section.startswith("Did σ learn?") else []
        assert without_source(section, found, others) == []


# GAE's ring -------------------------------------------------------------------------------------


def setting_of(run: GaeRunPart) -> tuple[str, int]:
    return run.recipe["split"], run.recipe["nodes"]


def of_ring(runs: Iterable[GaeRunPart], baseline: str) -> Iterator[Found]:
    """Means and worst nodes, bits, and how many points runs of one setting are apart.

    At the end any two, on the way one and the baseline where the words follow a run, of sixteen
    unbalanced nodes: all of all would be nearly any number.
    """
    own = list(runs)
    for run in own:
        yield run.bits_a_round / 1e3, None
        for look in run.accuracies:
            yield float(np.mean(look)), None
        yield min(run.accuracies[-1]), None
    for one, other in combinations(own, 2):
        if setting_of(one) == setting_of(other) and one.seed == other.seed:
            yield 100 * (one.accuracy - other.accuracy), None
            is_followed = setting_of(one) == ("unbalanced", 16)
            if is_followed and baseline in {one.recipe["exchange"], other.recipe["exchange"]}:
                gaps = np.mean(one.accuracies, axis=1) - np.mean(other.accuracies, axis=1)
                yield from ((100 * float(gap), None) for gap in gaps)


def closing_gains(ring: Any) -> list[float]:
    """What sixteen closing exchanges gain in the trials of all weights, and of differences."""
    tried = [ring.FOUND.named(f"trial {name}") for name in ("full", "differences")]
    gains = [[ring.closing(one, 16) - ring.closing(one, 0) for one in own] for own in tried]
    return [100 * float(np.mean(one)) for one in gains]


def test_words_on_gae(scripts: Callable[[str], Any]) -> None:
    ring = scripts("ring")
    text = words_of("reference/gae.md", "**Coarse differences now and then", "**Steps that swallow")
    printed: list[Found] = [(float(run.printed), None) for run in TABLE_1]
    closing = "differences unbalanced 16 closing"
    pairs = zip(ring.FOUND.named(closing), ring.FOUND.named("full unbalanced 16"), strict=True)
    leads = [100 * (own.accuracy - other.accuracy) for own, other in pairs]
    lead = (float(np.mean(leads)), float(np.std(leads, ddof=1)) / len(leads) ** 0.5)
    found = [*of_ring(ring.FOUND.runs, "full"), lead, *printed]
    # Bits by eqs 5 and 6 over others; what closing exchanges of the trials gain is held below.
    gains = [f"{gain:.1f}" for gain in closing_gains(ring)]
    assert "{} points by sixteen, where differences gained {})".format(*gains) in text
    assert without_source(text, found, ["5.5", "2.55", *gains]) == []
    text = words_of("reference/gae.md", "**Over 300 rounds fine", "In the first ten rounds")
    assert without_source(text, found) == []
    text = words_of("reference/gae.md", "**GAE among sixteen", "**On the curves")
    table = [own for run in TABLE_1 for own in ring.of_table(run.name)]
    found = [*of_ring(table, "pruned"), *printed]
    gaps = [
        100 * (own.accuracy - float(run.printed))
        for run in TABLE_1
        for own in ring.of_table(run.name)
    ]
    allowed = [
        accuracy_tolerance(Printed("", 100 * float(run.printed), 0.005), 1)
        for run in TABLE_1
        for _ in ring.of_table(run.name)
    ]
    right = sum(abs(gap) <= most for gap, most in zip(gaps, allowed, strict=True))
    assert (right, len(gaps)) == (5, 9)
    assert "**Five of the nine rows are as printed**" in text
    found += [(number, None) for number in (*gaps, *allowed)]
    for one, other in combinations(TABLE_1, 2):
        if (one.recipe.split, one.recipe.nodes) == (other.recipe.split, other.recipe.nodes):
            found.append((100 * (float(one.printed) - float(other.printed)), None))
    for trained in ring.FOUND.autoencoders.values():
        for fit in trained.fits:
            found += [(error / fit.constant, None) for error in (fit.validation[-1], fit.spline)]
    assert without_source(text, found) == []


def test_words_on_trials(scripts: Callable[[str], Any]) -> None:
    """Which trial is better than which, and for how much."""
    ring = scripts("ring")
    text = words_of("reference/gae.md", "By trials, ", "(the-autoencoder-beside")
    found = {run.name.removeprefix("trial "): ring.FOUND.named(run.name) for run in TRIALS}
    ends = {name: np.mean([ring.closing(one, 0) for one in own]) for name, own in found.items()}
    sent = {name: np.mean([ring.kbit_a_round(one) for one in own]) for name, own in found.items()}
    assert "A hundredth of full exchange is 196 kbit" in text
    assert f"{sent['full'] / 100:.0f}" == "196"
    cheap = [name for name in ends if sent[name] < 200]
    assert max(cheap, key=ends.__getitem__) == "wavelet 0.04"
    choco, ours = (found[name] for name in ("CHOCO 0.03 mixing 0.3", "differences"))
    assert ring.mean_at(choco, 20) > ring.mean_at(ours, 20)
    behind = 100 * (ends["differences"] - ends["CHOCO 0.03 mixing 0.3"])
    assert f"are ahead after twenty rounds, and {behind:.1f} points behind after sixty" in text
    # Chance is a tenth.
    assert max(ends["CHOCO 0.01"], ends["CHOCO 0.03"]) < 0.13
    in_place = 100 * (ends["in place 0.03"] - ends["CHOCO 0.03 mixing 0.3"])
    assert f"are {in_place:.1f} points ahead of those that" in text
    rival = found["wavelet 0.04"]
    assert len(rival) == 1
    early = 100 * (ring.mean_at(rival, 20) - ring.mean_at(ours, 20))
    late = 100 * (ends["wavelet 0.04"] - ends["differences"])
    assert f"it is .{10 * late:.0f} points *ahead* of" in text
    assert f"after sixty rounds, and {early:.1f} after twenty" in text
    last = [np.mean([ring.closing(one, 16) for one in own]) for own in (ours, rival)]
    assert f"differences are .{1000 * (last[0] - last[1]):.0f} ahead" in text
    shares = [found["wavelet 0.04"], found["differences"]]
    whole = [np.mean([one.bits_a_round for one in own]) for own in shares]
    assert f"{whole[1] / whole[0]:.1f} times as much (one seed)" in text
    assert f"For .{100 * sent['wavelet 0.04'] / sent['differences']:.0f} of the bits" in text
    plain = 1000 * (ends["wavelet 0.04"] - ends["in place 0.03"])
    assert f"largest differences is .{plain:.0f} points behind it" in text
    # Sixteen exchanges after twelve rounds apart, and none after six.
    late = np.mean([ring.closing(one, 16) for one in found["differences every 12"]])
    assert "they are not where the others were without any" in text
    assert late < ends["differences"]
    (bits,) = (one.bits_a_round / 1e3 for one in found["differences every 12"])
    assert "have sent twice as much" in text
    assert f"{bits / sent['differences']:.0f}" == "2"
    check_words_on_wavelets(ring)
    page = words_of("reference/gae.md", "**Steps that swallow", "**Over 300 rounds fine")
    assert "the same codec is level with the baseline for a twentieth of its bits" in page
    assert abs(ends["coded fine"] - ends["pruned"]) < 0.003
    assert f"{sent['pruned'] / sent['coded fine']:.0f}" == "20"


def check_words_on_wavelets(ring: Any) -> None:
    """Over 300 rounds, seed by seed."""
    text = words_of("reference/gae.md", "**For as many bits JWINS's", "**Among sixteen balanced")
    theirs = ring.FOUND.named("wavelet unbalanced 16 closing")
    ours = ring.FOUND.named("differences unbalanced 16 closing")[: len(theirs)]
    assert [one.seed for one in theirs] == [one.seed for one in ours] == [0, 1]
    behind = [own.accuracy - one.accuracy for own, one in zip(ours, theirs, strict=True)]
    assert "end .{:.0f} and .{:.0f} points behind".format(*(1e4 * gap for gap in behind)) in text
    bits = [sum(one.bits_a_round for one in ones) for ones in (theirs, ours)]
    assert f".{100 * bits[0] / bits[1]:.0f} of the bits" in text
    for ones in (theirs, ours):
        ends = [one.accuracy for one in ones], [min(one.accuracies[-1]) for one in ones]
        assert "{}, worst nodes {}".format(*map(four_digits, ends)) in text
    before = four_digits(ring.closing(one, 0) for one in theirs)
    assert f"before the closing exchanges {before}, where" in text
    way = four_digits(ring.mean_at([one], 299) for one in ours)
    assert f"has {way} after round 299" in text
    early = [four_digits(ring.mean_at([one], 90) for one in ones) for ones in (theirs, ours)]
    assert "{} to {} after 90 rounds".format(*early) in text
    assert all(ring.closing(one, 10) - ring.closing(one, 3) < 2e-4 for one in theirs)


def four_digits(numbers: Iterable[float]) -> str:
    """Such as .9838, .9808."""
    return ", ".join(f"{x:.4f}".lstrip("0") for x in numbers)


def test_few_numbers_would_do_on_gae(scripts: Callable[[str], Any]) -> None:
    """A gap that is not measured is not among those that are: the set is no net for all."""
    table = [own for run in TABLE_1 for own in scripts("ring").of_table(run.name)]
    found = [(x, y) for x, y in of_ring(table, "pruned") if x is not None]
    wrong = [f"{n / 100:.2f}" for n in range(500)]
    assert len(without_source(" ".join(wrong), found)) > 0.8 * len(wrong)
