"""`rate-link`: what it concludes of curves made up for the purpose, and a tiny real run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from empirical.partition import Partition
from peerbayes.experiments import EXPERIMENTS
from peerbayes.experiments.experiment import Line, RunRecord
from peerbayes.experiments.link import RateLink, unseen_lines
from peerbayes.experiments.link_rows import (
    AMBIGUOUS,
    SNAPSHOTS,
    WIDE,
    LinkSetting,
    SnapshotsPart,
    TrainedPart,
    slope_interval,
)
from peerbayes.experiments.link_runs import heard_again, mixing_time, network_of, site_of
from peerbayes.records import plain
from peerbayes.report.experiments import link_view
from tests.peerbayes.commands import Patch
from theory.changing import influence
from theory.validation import FloatArray

SETTING = LinkSetting(edge_confidences=(0.1, 0.3, 0.7), targets=(1.0, 0.5), rounds=64)
LINK = RateLink(plan=SETTING)
RATES = {"star a=0.1": 0.1, "star a=0.3": 0.3, "star a=0.7": 0.7, "grid corner": 0.05,
         "grid centre": 0.2}  # fmt: skip


def made_up(power: float = 1.0, *, never: str | None = None) -> dict[str, Any]:
    """Rounds = 12 / K^power with each of two seeds, exactly; accuracy in the order of K."""
    parts: dict[str, Any] = {
        SNAPSHOTS: {
            "hypotheses": [], "accuracies": [], "label_losses": [],
            "forecasts": {
                name: {
                    "influence": rate,
                    "rate": rate,
                    "binding": "without 5",
                    "rates": {},
                    "stage_rates": {"all labels": 0.0, "after 5": 0.2, "after 0": 2.0},
                    "exact": {
                        "rounds": 100, "replicates": 400, "share_of_allowed": 0.5, "holds": True,
                        "expected": [], "measured": [], "standard_error": [],
                    },
                }
                for name, rate in RATES.items()
            }
        }
    }  # fmt: skip
    rounds = np.array([0, 8, 64])
    for name, rate in RATES.items():
        reached = [math.inf if name == never else 12 / rate**power] * 2
        parts[name] = {
            "rounds": rounds,
            "losses": np.exp(-rate * rounds) * np.ones((2, 1)),
            "accuracies": (1 - np.exp(-rate * (rounds + 1))) * np.ones((2, 1)),
            "rounds_to_loss": [reached, [2 * r for r in reached]],
            "label_confidences": [],
            "local_label_confidences": [],
        }
    sure = np.linspace(0.5, 0.9, 10)
    sure[[4, 9]] = 0.1, 0.2
    parts[AMBIGUOUS] = {
        **{name: [] for name in ("rounds", "losses", "accuracies", "rounds_to_loss")},
        "label_confidences": np.broadcast_to(sure, (2, 9, 10)),
        "local_label_confidences": np.broadcast_to(sure, (2, 9, 10)),
    }
    done: dict[str, Any] = plain(parts)
    return done


def concluded(parts: Mapping[str, Any]) -> dict[str, Line]:
    return {line.what: line for line in LINK.conclude(parts)}


def test_proportional_speeds_are_seen_as_such() -> None:
    lines = concluded(made_up())
    for name, rate in RATES.items():
        line = lines[f"rounds to test loss 1, {name}"]
        assert line.measured == pytest.approx(12 / rate)
        assert line.predicted == pytest.approx(12 / rate)
        assert line.holds is None  # no theorem says so
    for target in ("1", "0.5"):
        assert lines[
            f"rank correlation (Spearman) of rounds to test loss {target} with 1/K"
        ].measured == pytest.approx(1.0)
        slope = lines[f"slope of log rounds to test loss {target} over log 1/K"]
        assert slope.measured == pytest.approx(1.0)
    order = "share of looks, over all pairs of a, at which accuracies are in the order of K"
    assert lines[order].measured == 1.0
    quotient = lines["rounds from the corner over rounds from the centre"]
    assert (quotient.measured, quotient.predicted) == pytest.approx((4.0, 4.0))


def test_steeper_and_opposite_speeds_are_seen_as_such() -> None:
    slope = "slope of log rounds to test loss 1 over log 1/K"
    rank = "rank correlation (Spearman) of rounds to test loss 1 with 1/K"
    steep = concluded(made_up(2.0))
    assert steep[slope].measured == pytest.approx(2.0)
    assert steep[rank].measured == pytest.approx(1.0)
    opposite = concluded(made_up(-1.0))
    assert opposite[slope].measured == pytest.approx(-1.0)
    assert opposite[rank].measured == pytest.approx(-1.0)


def test_what_was_never_reached_is_last_and_said() -> None:
    lines = concluded(made_up(never="grid corner"))
    row = lines["rounds to test loss 1, grid corner"]
    assert row.measured is None
    assert "not reached by every seed" in row.remark
    # The slowest of all by K too, so that the order is right still.
    rank = lines["rank correlation (Spearman) of rounds to test loss 1 with 1/K"]
    assert rank.measured == pytest.approx(1.0)
    assert "2 runs that did not reach it are left out" in (
        lines["slope of log rounds to test loss 1 over log 1/K"].remark
    )
    wrong = concluded(made_up(never="star a=0.7"))
    # Ranks of 1/K 1…5; the fastest is last instead: the others each move up one. ρ = 1 − 6·20/120.
    rank = wrong["rank correlation (Spearman) of rounds to test loss 1 with 1/K"]
    assert rank.measured == pytest.approx(0.0, abs=1e-12)


NAMES = ("star a=0.1", "star a=0.7", "grid corner", *WIDE)
K = np.array([0.05 + 0.01 * k for k in range(len(NAMES))])


def unseen(rounds: FloatArray) -> dict[str, Line]:
    lines = unseen_lines(K, rounds, networks=NAMES, target=1.0)
    return {line.what: line for line in lines}


def test_networks_that_nothing_was_chosen_on() -> None:
    factor = "rounds to test loss 1 beside c/K, the median factor between them"
    exact = np.outer(12 / K, np.ones(2))
    lines = unseen(exact)
    assert lines[factor].measured == pytest.approx(1.0)
    assert not any("time to mix" in what for what in lines)
    new = np.array([name in WIDE for name in NAMES])
    assert lines[factor].remark.startswith(f"{new.sum()} networks")
    # All new ones three times slower, and one never there.
    slow = np.where(new[:, None], 3, 1) * exact
    slow[NAMES.index("ring"), 1] = np.inf
    line = unseen(slow)[factor]
    assert line.measured == pytest.approx(3.0)
    assert "0 are below 1.5; 1 that were not reached" in line.remark
    assert unseen_lines(K[:3], exact[:3], networks=NAMES[:3], target=1.0) == []


def test_what_is_left_is_laid_beside_mixing() -> None:
    times = np.array([mixing_time(name) for name in NAMES])
    assert times[NAMES.index("complete")] == 0
    # 3 × 3, neighbours and oneself alike: eigenvalues from numpy, not from the network's own.
    links = np.eye(9)
    for k, m in [(r * 3 + c, r * 3 + c + s) for r in range(3) for c in range(3)
                 for s in ((1,) if c < 2 else ()) + ((3,) if r < 2 else ())]:  # fmt: skip
        links[k, m] = links[m, k] = 1
    moduli = np.sort(np.abs(np.linalg.eigvals(links / links.sum(axis=1, keepdims=True))))
    assert times[NAMES.index("grid corner")] == pytest.approx(-1 / np.log(moduli[-2]))
    rounds = np.outer(np.exp(times / 10) / K, np.ones(2))
    lines = unseen(rounds)
    what = "rank correlation of rounds · K (test loss 1) with the time to mix"
    assert lines[what].measured == pytest.approx(1.0)
    assert sum("hears of itself" in words for words in lines) == 1
    rounds[times == times.max()] = np.inf  # what was last by mixing is last still
    assert unseen(rounds)[what].measured == pytest.approx(1.0)
    rounds[np.argmin(times)] = np.inf
    assert unseen(rounds)[what].measured < 0.9
    corner, pooled = (NAMES.index(name) for name in ("grid corner", "grid corner, 4 poolings"))
    ratio = lines["rounds to test loss 1 from the corner, 4 poolings over one"]
    assert ratio.measured == pytest.approx(rounds[pooled, 0] / rounds[corner, 0])
    assert ratio.predicted == 1.0


def test_what_an_agent_hears_of_itself_is_a_sum_of_powers() -> None:
    walk = np.asarray(network_of("grid corner").weights)  # type: ignore[union-attr]
    v = np.array([3, 4, 3, 4, 5, 4, 3, 4, 3]) / 33
    power, total = np.eye(9), 0.0
    for _ in range(400):
        power = power @ walk
        total += power[0, 0] - v[0]
    assert heard_again("grid corner") == pytest.approx(total, rel=1e-9)
    assert heard_again("grid corner, 16 poolings") < 0.1 * total


def test_slopes_have_an_interval_over_networks() -> None:
    x = np.linspace(0, 1, 8)
    assert slope_interval(x, 2 * x) == pytest.approx((2.0, 2.0))
    bent = x + 0.3 * np.sin(9 * x)
    low, high = slope_interval(x, bent) or (0, 0)
    assert low < np.polyfit(x, bent, 1)[0] < high
    assert high - low > 0.1
    assert slope_interval(x[:5], np.where(x[:5] > 0.4, np.nan, x[:5])) is None


@pytest.mark.parametrize("name", NAMES)
def test_every_network_is_what_its_name_says(name: str) -> None:
    dealt = Partition(tuple(np.arange(9)[:, None]))
    site = site_of(name, dealt)
    assert site.network.agents == 9
    centre = "centre" in name or "middle" in name
    assert site.partition.informative == (4 if centre else 1 if "side" in name else 0)
    found = influence(site.network)
    assert found.unheard.size == 0
    if "poolings" in name:  # the same v as with one
        once = influence(network_of("grid corner"))
        np.testing.assert_allclose(found.values, once.values, rtol=1e-12)


def test_the_ambiguous_pair() -> None:
    lines = concluded(made_up())
    place = (
        "place of 4 among the centre's labels, the least sure first, at the edges after consensus"
    )
    assert (lines[place].measured, lines[place].predicted) == (1.0, 1.0)
    gap = lines["confidence on 9 less that on 8 at the centre after consensus"]
    assert gap.measured == pytest.approx(0.2 - (0.5 + 0.4 * 8 / 9))


def test_parts_that_are_missing_leave_lines_out() -> None:
    parts = made_up()
    assert LINK.conclude({}) == ()
    only = LINK.conclude({SNAPSHOTS: parts[SNAPSHOTS]})
    assert all(line.measured is not None or line.predicted is not None for line in only)
    few = LINK.conclude({name: parts[name] for name in (SNAPSHOTS, "star a=0.1", "grid corner")})
    assert any("too little differs" in line.remark for line in few)


def test_parts_depend_on_their_own_settings() -> None:
    other = replace(LINK, plan=replace(SETTING, snapshot_rounds=7))
    assert other.part_settings(SNAPSHOTS) != LINK.part_settings(SNAPSHOTS)
    assert other.part_settings("grid corner") == LINK.part_settings("grid corner")
    faster = replace(LINK, plan=replace(SETTING, mean_rate=1.0))
    assert faster.part_settings(SNAPSHOTS) == LINK.part_settings(SNAPSHOTS)
    assert faster.part_settings("grid corner") != LINK.part_settings("grid corner")
    wide = replace(LINK, plan=replace(SETTING, data_set="fashion-mnist", more=("ring",)))
    kept = {name for part in wide.parts for name in wide.part_settings(part)}
    assert set(LINK.settings()) - kept == {"form", "networks", "name", "title", "source"}
    assert len({LINK.stream(part) for part in LINK.parts}) == len(LINK.parts)
    assert {"rate-link", "rate-link-adam"} <= set(EXPERIMENTS)
    with pytest.raises(ValueError, match="--part"):
        LINK.parts_with("torus")


def test_looks_are_dense_where_losses_fall_fast() -> None:
    looks = np.array(LinkSetting().looks)
    assert looks[:21].tolist() == list(range(21))
    assert looks[-1] == LinkSetting().rounds
    assert (np.diff(looks) <= np.maximum(1, 0.06 * looks[:-1] + 1)).all()


@pytest.mark.parametrize("parts", [made_up(), made_up(never="grid corner"), {}])
def test_the_page_shows_the_figure(parts: dict[str, Any]) -> None:
    body = {
        "experiment": "rate-link", "title": "t", "source": "s", "seed": 0, "replicates": 2,
        "parts": list(parts), "settings": plain(LINK.settings()), "content": parts,
        "lines": [line.as_json() for line in LINK.conclude(parts)],
    }  # fmt: skip
    view = link_view(RunRecord.model_validate(body), key="k")
    assert len(view.statements) == len(LINK.conclude(parts))
    assert len(view.pictures) == (2 if parts else 0)
    if parts and parts["grid corner"]["rounds_to_loss"][0][0] is None:
        assert "2 of 10 runs did not come down to it" in view.pictures[0].finding


def test_a_tiny_run(monkeypatch: Patch) -> None:
    pytest.importorskip("torch")
    from empirical import load_digits

    # The small digits of scikit-learn are dealt by the same rules, and are everywhere.
    monkeypatch.setattr(
        "peerbayes.experiments.link_runs.load_images", lambda name, **options: load_digits()
    )
    setting = replace(
        SETTING, edge_confidences=(0.1, 0.7), places=(), hidden=(16,), rounds=6, local_steps=2,
        mean_rate=1.0, targets=(2.2,), snapshot_rounds=20, stages=(0,), test_images=100,
        exact_rounds=20, exact_replicates=50,
    )  # fmt: skip
    tiny = replace(LINK, plan=setting)
    content = tiny.run_part(SNAPSHOTS, seed=1, replicates=2, progress=None)
    assert isinstance(content, SnapshotsPart)
    forecasts = content.forecasts
    assert forecasts["star a=0.7"].influence == pytest.approx(63 / 143)  # 9a / (9a + 8)
    assert all(found.exact.holds for found in forecasts.values())
    seen: list[tuple[int, int]] = []
    trained = tiny.run_part(
        "star a=0.7", seed=2, replicates=2, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(k, 12) for k in range(1, 13)]
    assert isinstance(trained, TrainedPart)
    losses = np.array(trained.losses)
    assert losses.shape == (2, 7)
    assert (losses[0] != losses[1]).all()
    again = tiny.run_part("star a=0.7", seed=2, replicates=2, progress=None)
    assert isinstance(again, TrainedPart)
    assert trained.losses == again.losses
    other = tiny.run_part(AMBIGUOUS, seed=2, replicates=2, progress=None)
    parts = {SNAPSHOTS: content, "star a=0.7": trained, AMBIGUOUS: other}
    written = {name: plain(part.as_json()) for name, part in parts.items()}
    assert tiny.conclude(written) == tiny.conclude(parts)
    assert tiny.conclude(written)
