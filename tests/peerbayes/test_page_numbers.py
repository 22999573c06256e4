"""Numbers in the words of pages about experiments are those of the records.

Most pages hold their own (docs/experiments/words); what comes from elsewhere is named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("IPython")

from docs.experiments.words import numbers, without_source, words_of
from peerbayes.experiments.gae_rows import FEW, TABLE_1, TRIALS
from peerbayes.experiments.net_lines import Printed, accuracy_tolerance
from tests.peerbayes.commands import Patch
from theory.claims.compressed_gossip import CODED, FULL, PRUNED

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def scripts(monkeypatch: Patch) -> Callable[[str], ModuleType]:
    """The modules that make tables and figures of the pages."""
    import importlib

    monkeypatch.syspath_prepend(str(DOCS / "experiments"))
    return importlib.import_module


def test_a_number_is_held_to_its_digits_and_its_error() -> None:
    found = [(84.514, 0.131), (0.0747, None)]
    good = "Of `a.5` sites have 84.51 ± .13, or 84.5, and .075 nats at $a=.7$ ([P1 5.1](x.2))."
    assert [one for one, _ in numbers(good)] == ["84.51", "84.5", ".075", "5.1"]
    assert without_source(good, found, ["5.1"]) == []
    assert without_source("84.52 ± .13, 84.51 ± .14, .0748", found) == ["84.52", "84.51", ".0748"]


# Pages that check themselves ----------------------------------------------------------------------


def test_words_on_rows(scripts: Callable[[str], Any]) -> None:
    scripts("words").rows()


def test_the_build_refuses_a_number_that_no_record_has(
    scripts: Callable[[str], Any], monkeypatch: Patch, tmp_path: Path
) -> None:
    """A page's cell raises, as any that fails; a record's own number passes."""
    words, show = scripts("words"), scripts("show")
    (tmp_path / "reference").mkdir()
    page = tmp_path / "reference/net-experiments.md"
    monkeypatch.setattr(words, "DOCS", tmp_path)
    line = next(line for line, _ in show.lines_of("star-mnist-1") if line["measured"] is not None)
    text = "## Two nodes, Fashion-MNIST\n\nOf `star-mnist-1` it is {}.\n"
    page.write_text(text.format(f"{line['measured']:.3f}"), encoding="utf-8")
    words.rows()
    page.write_text(text.format("12.3456"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"net-experiments.*the records give, got \['12.3456'\]"):
        words.rows()
    for name in ("net-experiments", "source-figures", "rate-link", "tuned-alike"):
        assert "\nwords." in (DOCS / f"reference/{name}.md").read_text(encoding="utf-8")


# GAE's ring -------------------------------------------------------------------------------------


@pytest.fixture
def ring(scripts: Callable[[str], Any]) -> Any:
    return scripts("ring")


def test_findings_on_gae_are_what_their_words_say(ring: Any) -> None:
    """Each says ahead, behind or level; gaps are paired by seed, bits those of eqs 4 to 6."""
    sizes = {"full": FULL, "pruned": PRUNED, "GAE": CODED}
    rows = ring.findings().splitlines()[2:]
    for (what, name, other), row in zip(ring.FINDINGS, rows, strict=True):
        both = [(a, b) for a in ring.FOUND.named(name) for b in ring.FOUND.named(other)]
        gaps = [100 * (a.accuracy - b.accuracy) for a, b in both if a.seed == b.seed]
        mean = float(np.mean(gaps))
        is_so = {"ahead": mean > 0.1, "behind": mean < -0.1, "level": abs(mean) < 0.2}
        assert is_so[re.findall("ahead|behind|level", what)[-1]], what
        assert ("far behind" in what) == (mean < -10)
        shown = f"{mean:+.2f}".replace("0.", ".").replace("-", "−")
        if len(gaps) > 1:
            shown += f" ± {np.std(gaps, ddof=1) / len(gaps) ** 0.5:.2f}".replace("0.", ".")
        assert f"| {shown} |" in row
        sent = np.mean([a.bits_a_round for a, b in both if a.seed == b.seed])
        share = sizes.get(other.partition(" ")[0], 0) / sent if sent else 0
        assert share < 10 or f"| 1/{share:.0f} |" in row


def test_table_1_marks_what_is_as_printed(ring: Any) -> None:
    right = 0
    for run in TABLE_1:
        printed = Printed("", 100 * float(run.printed), 0.005)
        own = [100 * one.accuracy for one in ring.of_table(run.name)]
        right += abs(np.mean(own) - printed.value) <= accuracy_tolerance(printed, len(own))
    assert (right, ring.table_1().count("**")) == (6, 12)
    assert "**Six of the nine rows are as printed.**" in words_of("reference/gae.md", "**Six")


def test_words_on_gae_have_few_numbers(ring: Any) -> None:
    """Those of the records stand in tables; these few do not, or are measured aside."""
    text = words_of("reference/gae.md", "## Results", "(the-autoencoder-beside")
    found = [".018", ".002", ".999", ".800", ".964", ".4", ".999", ".53", ".999", ".91"]
    assert sorted(number for number, _ in numbers(text)) == sorted(found)
    check_exchange(ring, " ".join(text.split()))
    (even,) = ring.FOUND.named("differences balanced 16 closing")
    names = "pruned balanced 16", f"GAE balanced 16 {FEW}"
    baseline, coded = (ring.FOUND.named(name)[0] for name in names)
    assert all(max(one.accuracies[-1]) < min(even.accuracies[-1]) for one in (baseline, coded))
    means = (np.mean(one.accuracies, axis=1) for one in (even, baseline))
    leads = [n for n, own, other in zip(even.rounds, *means, strict=True) if own > other]
    assert leads == [n for n in even.rounds if n >= 3]
    (rare,) = ring.FOUND.named("differences unbalanced 16 rare")
    assert min(rare.accuracies[-1]) > ring.of_table("pruned unbalanced 16")[0].accuracy
    runs = ring.FOUND.named("full unbalanced 16")
    held = [[sum(digit in own for own in one.digits) for digit in range(10)] for one in runs]
    assert [min(one) for one in held] == [11, 11, 9]
    assert held[2].index(9) == 3
    worst_node = int(np.argmin(runs[2].accuracies[-1]))
    assert runs[2].digits[worst_node] == runs[2].digits[worst_node - 1]
    wavelets = ring.FOUND.named("wavelet unbalanced 16 closing")
    assert all(ring.closing(one, 10) - ring.closing(one, 3) < 2e-4 for one in wavelets)


def check_exchange(ring: Any, text: str) -> None:
    """What no exchange leaves, from when on others are better, and merges that keep weights."""
    (alone,) = ring.FOUND.named("alone unbalanced 16")
    # Test images of MNIST by digit.
    images = np.array([980, 1135, 1032, 1010, 982, 892, 1028, 974, 1009, 958]) / 10_000
    most = np.array([images[list(own)].sum() for own in alone.digits])
    right = (np.array(alone.accuracies[-1]) / most).mean()
    own = [f"{one:.3f}".lstrip("0") for one in (most.mean(), right)]
    assert "are on {} of the test images, and {} of these it has right".format(*own) in text
    between = []
    for way in ("full", "pruned", "GAE", "coded"):
        one = ring.of_table(f"{way} unbalanced 16")[0]
        gaps = np.mean(one.accuracies, axis=1) - np.mean(alone.accuracies, axis=1)
        last = int(np.nonzero(gaps < 0)[0][-1])
        between.append(f"between rounds {one.rounds[last]} and {one.rounds[last + 1]}")
    assert between[1] == between[2]
    words = "all weights pass the lonely ones {}, those that prune and those of GAE {}, `coded` {}."
    assert words.format(between[0], between[1], between[3]) in text
    names = ("pruned unbalanced 16 masked", "pruned unbalanced 16")
    masked, zeros = (ring.FOUND.named(name)[0] for name in names)
    means = (np.mean(one.accuracies, axis=1) for one in (masked, zeros, alone))
    looks = list(zip(masked.rounds, *means, strict=True))
    assert all(own > other for n, own, other, _ in looks if 1 < n < 20)
    assert all(own < other for n, own, other, _ in looks if n > 20)
    assert all(abs(own - other) < 0.004 for n, own, _, other in looks if n >= 8)


def test_words_on_trials(ring: Any) -> None:
    """Which trial is better than which."""
    text = words_of("reference/gae.md", "By trials ", "## What is run")
    assert [number for number, _ in numbers(text)] == []
    found = {run.name.removeprefix("trial "): ring.FOUND.named(run.name) for run in TRIALS}
    ends = {name: np.mean([ring.closing(one, 0) for one in own]) for name, own in found.items()}
    sent = {name: np.mean([ring.kbit_a_round(one) for one in own]) for name, own in found.items()}

    def last(name: str) -> float:
        return float(np.mean([ring.closing(one, 16) for one in found[name]]))

    assert f"A hundredth of full exchange is {sent['full'] / 100:.0f} kbit" in text
    cheap = [name for name in ends if sent[name] < 200]
    assert max(cheap, key=ends.__getitem__) == "wavelet 0.04"  # the strongest rival
    choco, ours, rival = (
        found[n] for n in ("CHOCO 0.03 mixing 0.3", "differences", "wavelet 0.04")
    )
    assert ring.mean_at(choco, 20) > ring.mean_at(ours, 20)
    assert ends["CHOCO 0.03 mixing 0.3"] < ends["differences"] - 0.05
    assert max(ends["CHOCO 0.01"], ends["CHOCO 0.03"]) < 0.13  # chance is a tenth
    assert ends["in place 0.03"] > ends["CHOCO 0.03 mixing 0.3"] + 0.05
    assert all(ring.mean_at(rival, n) > ring.mean_at(ours, n) for n in (20, 37))
    assert ends["wavelet 0.04"] > ends["differences"]
    assert last("wavelet 0.04") < last("differences")
    bits = [np.mean([one.bits_a_round for one in ones]) for ones in (rival, ours)]
    assert 0.4 < bits[0] / bits[1] < 0.5  # half, closing exchanges counted
    assert abs(ends["wavelet 0.04"] - ends["in place 0.03"]) < 0.005
    assert abs(ends["coded fine"] - ends["pruned"]) < 0.003
    assert f"{sent['pruned'] / sent['coded fine']:.0f}" == "20"
    assert last("differences every 12") < ends["differences"]
