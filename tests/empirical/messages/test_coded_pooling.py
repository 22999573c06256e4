"""What is pooled of coded messages: against sums by hand, on every network, in the engine."""

from typing import Any

import numpy as np
import pytest
import torch

from empirical.messages.codecs import codec_from_words, codec_of
from empirical.messages.codecs.samples import PosteriorCoder
from empirical.messages.streams import ALL, HEADER_BYTES
from empirical.train.coded_pooling import CodedPooling
from empirical.train.learners import LEARNERS
from empirical.train.pooling import NetworkRounds
from empirical.train.run import TrainingRun
from empirical.train.streams import Links
from tests.empirical.messages.layouts import NAMES, layout_of, message
from tests.empirical.messages.test_codecs import KINDS, SETTINGS, same
from tests.empirical.support import refused
from tests.empirical.train.test_rounds import NETWORKS, RING, STAR
from tests.empirical.train.test_run import run_of
from theory.network.structure import as_dense

SIZE = 12
LOSSLESS = {"codec": "difference", "inner": {"codec": "plain"}}


def pooling_of(
    network: Any, codec: Any, *, names: str = "mean", missing: str = "own"
) -> CodedPooling:
    words = {"codec": codec} if isinstance(codec, str) else codec
    return CodedPooling(
        NetworkRounds(network, seed=2), exchange=None, codec=codec_from_words(words),
        layout=layout_of(SIZE, NAMES[names]), missing=missing, seed=5,
    )  # fmt: skip


def said(number: int, names: str = "mean", agents: int = 5) -> dict[str, Any]:
    each = [message(SIZE, NAMES[names], seed=100 * number + k) for k in range(agents)]
    return {name: torch.stack([one[name] for one in each]) for name in NAMES[names]}


@pytest.mark.parametrize(
    ("name", "learner"),
    [*((name, "sites") for name in NETWORKS), *(("last", learner) for learner in LEARNERS)],
)
def test_a_lossless_codec_changes_no_bit(name: str, learner: str) -> None:
    without = run_of(NETWORKS[name], learner)
    coded = run_of(NETWORKS[name], learner, codec=codec_of("plain"))
    vectors = 4 * 3 * len(layout_names(learner))
    for _ in range(5):
        a, b = without.run_round(), coded.run_round()
        assert b.bytes_uncoded == a.bytes_sent == a.bytes_uncoded
        assert b.bytes_sent == a.bytes_sent * (HEADER_BYTES + vectors) // vectors
    left, right = without.state(), coded.state()
    for key in left:
        if not key.startswith("history."):
            assert torch.equal(left[key], right[key]), key


def layout_names(learner: str) -> tuple[str, ...]:
    run = run_of(RING, learner)
    return tuple(run.learner.message(run._state))


@pytest.mark.parametrize("name", ["fixed", "delayed", "periodic", "symmetric"])
def test_replicas_without_loss_are_damped_pooling(name: str) -> None:
    """x = y + γ (W ŷ − ŷ) with ŷ = y, late words as old as the network says."""
    rounds, mixing = NetworkRounds(NETWORKS[name], seed=2), 0.7
    pooling = pooling_of(NETWORKS[name], {**LOSSLESS, "mixing": mixing})
    history = [np.tile(layout_of(SIZE).begin["mean"].double().numpy(), (5, 1))]
    for number in range(1, 7):
        values = said(number)["mean"]
        y = values.double().numpy()
        history.append(y)
        round = rounds.at(number)
        expected = y.copy()
        for i in range(5):
            some = round.of(i)
            for j, weight, age in zip(
                round.speakers[some], round.weights[some], round.ages[some], strict=True
            ):
                old = history[max(number - age, 0)][j]
                expected[i] += mixing * weight * (old - y[i])
        pooling.pool({"mean": values}, number=number)
        # Replicas are sums of differences in float32, of numbers below 4: a rounding each.
        np.testing.assert_allclose(values.numpy(), expected, rtol=0, atol=8 * 4 * 2**-24)


@pytest.mark.parametrize("codec", KINDS)
@pytest.mark.parametrize("network", [STAR, RING])
def test_the_networks_mean_is_kept_whatever_the_codec_leaves_out(codec: str, network: Any) -> None:
    """Σ_i v_i x_i = Σ_i v_i y_i, for v (I − W) = 0."""
    v = np.array(network.stationary_distribution)
    pooling = None
    try:
        inner = {"codec": codec, **SETTINGS.get(codec, {})}
        pooling = pooling_of(network, {"codec": "difference", "inner": inner})
    except ValueError:
        pytest.skip("a codec that has a replica of its own")
    for number in range(1, 6):
        values = said(number)["mean"]
        before = v @ values.double().numpy()
        pooling.pool({"mean": values}, number=number)
        # Sums are in float64; the results are rounded to float32 once, numbers below 8.
        np.testing.assert_allclose(v @ values.double().numpy(), before, rtol=0, atol=8 * 2**-24)


@pytest.mark.parametrize(("network", "inner"), [(STAR, "topk"), (RING, "seeds")])
def test_replicas_in_place_are_pooled_as_late_words(network: Any, inner: str) -> None:
    """x = diag(W) y + (W − diag W) ŷ, whose numbers stay among those that there were."""
    w = np.array(as_dense(network.weights))
    own = np.diag(np.diag(w))
    exact = {"values": "float32"} if inner == "topk" else {}
    pooling = pooling_of(network, {"codec": "replica", "inner": {"codec": inner, **exact}})
    values = said(1)["mean"]
    begin = layout_of(SIZE).begin["mean"].double().numpy()
    first = np.vstack([begin, values.double().numpy()])
    for number in range(1, 200):
        y = values.double().numpy().copy()
        pooling.pool({"mean": values}, number=number)
        senders = {key[0]: end.memory for key, end in pooling.streams._ends["sender"].items()}
        said_of = np.stack([senders[j]["replica.mean"].double().numpy() for j in range(5)])
        # Sums in float64 of float32 numbers below 4, rounded once.
        expected = own @ y + (w - own) @ said_of
        np.testing.assert_allclose(values.numpy(), expected, rtol=0, atol=4 * 2**-24)
        # A word is a sum of a replica and a difference, in float32: two roundings a round.
        slack = 2 * 4 * 2**-24 * number
        assert (values.double().numpy() <= first.max(axis=0) + slack).all()
        assert (values.double().numpy() >= first.min(axis=0) - slack).all()
    assert np.ptp(values.numpy(), axis=0).max() < 1e-3 * np.ptp(first, axis=0).max()


def test_the_same_messages_pooled_as_differences_run_away() -> None:
    """Two of twelve coordinates a round with γ = 1: what replicas in place are spared."""
    words = {"codec": "difference", "inner": {"codec": "seeds", "share": 0.1}, "mixing": 1.0}
    pooling, values = pooling_of(RING, words), said(1)["mean"]
    before = float(values.abs().max())
    for number in range(1, 200):
        pooling.pool({"mean": values}, number=number)
    assert float(values.abs().max()) > 100 * before


@pytest.mark.parametrize("missing", ["own", "zero"])
def test_what_is_not_sent(missing: str) -> None:
    """Against sums over what the message's seed chose, coordinate by coordinate."""
    pooling = pooling_of(STAR, {"codec": "seeds", "share": 0.4}, missing=missing)
    seen = {}
    hear = pooling.streams._hear

    def noting(key: Any, frame: bytes) -> Any:
        got = hear(key, frame)
        seen[key[0]] = got.sent.numpy()
        return got

    pooling.streams._hear = noting
    values = said(1)["mean"]
    y, w = values.double().numpy().copy(), np.array(as_dense(STAR.weights))
    pooling.pool({"mean": values}, number=1)
    assert all(mask.sum() == 5 for mask in seen.values())  # ⌈0.4 · 12⌉
    assert len({mask.tobytes() for mask in seen.values()}) > 1
    for i in range(5):
        expected = sum(
            w[i, j] * np.where(seen[j] | (i == j), y[j], y[i] if missing == "own" else 0.0)
            for j in range(5)
            if w[i, j]
        )
        np.testing.assert_allclose(values[i].numpy(), expected, rtol=0, atol=4 * 2**-24)


def test_bytes_are_those_of_the_frames_over_all_links() -> None:
    for network in (STAR, NETWORKS["own"]):
        pooling = pooling_of(network, "difference")
        sizes: list[int] = []
        pooling.streams.carry = lambda frame: sizes.append(len(frame)) or frame  # noqa: B023
        links = NetworkRounds(network, seed=2)
        for number in range(1, 4):
            sizes.clear()
            sent = pooling.pool(said(number), number=number)
            assert sent == links.at(number).links.sum() * sizes[0]
            assert set(sizes) == {HEADER_BYTES + 4 * 2 + 2}  # two scales, twelve signs


@pytest.mark.parametrize("how", ["lost", "damaged"])
@pytest.mark.parametrize("network", [STAR, NETWORKS["symmetric"]])
def test_a_message_that_does_not_come_is_survived(network: Any, how: str) -> None:
    pooling, whole = pooling_of(network, "difference"), pooling_of(network, "difference")
    gone: list[int] = []
    memory = 4 * SIZE

    def carry(frame: bytes) -> bytes | None:
        gone.append(len(frame))
        if len(gone) != 15:  # the star's centre, in the second round
            return frame
        return None if how == "lost" else frame[:-1] + bytes([frame[-1] ^ 4])

    pooling.streams.carry = carry
    extra = 0
    for number in range(1, 9):
        before, values, other = pooling.streams.refusals[:], said(number), said(number)
        sent = pooling.pool(values, number=number)
        extra += sent - whole.pool(other, number=number)
        if len(pooling.streams.refusals) > len(before):
            assert not torch.equal(values["mean"], other["mean"])
            assert torch.isfinite(values["mean"]).all()
    assert len(pooling.streams.refusals) == 1
    words = "expected one, got none" if how == "lost" else "expected checksum"
    assert words in pooling.streams.refusals[0]
    assert pooling.streams.refusals[0].startswith("frame of agent ")
    # One request, and a key frame with the memory, to everybody who hears that agent.
    speaker = int(pooling.streams.refusals[0].split()[3].rstrip(":"))
    listeners = sum(j == speaker for j, _ in Links.of(network).pairs) if network is STAR else 1
    assert extra == listeners * (HEADER_BYTES + memory)
    # What is said never depends on what others heard, so that all replicas are those of the whole.
    key = next(iter(whole.streams._ends["receiver"]))
    for key, receiver in pooling.streams._ends["receiver"].items():
        assert same(receiver.memory, whole.streams._ends["receiver"][key].memory)


def test_a_damaged_message_of_a_codec_without_memory_asks_for_nothing() -> None:
    pooling = pooling_of(STAR, "sign")
    pooling.streams.carry = lambda frame: frame[:-1]
    values, before = said(1), said(1)
    sent = pooling.pool(values, number=1)
    assert sent == 8 * (HEADER_BYTES + 10)
    # Everybody's own values stand in for what was not heard: weights sum to one.
    torch.testing.assert_close(values["mean"], before["mean"], rtol=0, atol=4 * 2**-24)
    assert len(pooling.streams.refusals) == 5


@pytest.mark.parametrize("names", ["belief", "sites"])
def test_precisions_stay_positive_though_replicas_are_far_off(names: str) -> None:
    """Beliefs a thousand times more and less sure in turn: replicas of a few weights lag behind."""
    words = {"codec": "difference", "inner": {"codec": "seeds", "share": 0.3}, "mixing": 1.0}
    pooling = pooling_of(STAR, words, names=names)
    trust = torch.from_numpy(np.diag(as_dense(STAR.weights)).astype(np.float32))[:, None]
    for number in range(1, 9):
        values = said(number, names)
        turns = torch.tensor([[1000.0 ** (-1) ** (number + agent)] for agent in range(5)])
        values["precision"] *= turns
        values["shift"] *= turns
        before = {name: part.clone() for name, part in values.items()}
        pooling.pool(values, number=number)
        # An agent keeps at least half of what it gives itself.
        assert (values["precision"] > 0.49 * trust * before["precision"]).all()
        assert all(torch.isfinite(v).all() for v in values.values())


@pytest.mark.parametrize("name", NETWORKS)
def test_one_stream_serves_listeners_who_hear_all_that_is_said(name: str) -> None:
    """Against two hundred rounds of every network."""
    rounds = NetworkRounds(NETWORKS[name], seed=1)
    heard: dict[int, set[frozenset[int]]] = {}
    pairs = set()
    for number in range(1, 201):
        by_speaker: dict[int, set[int]] = {}
        for i, speakers in enumerate(rounds.at(number).heard):
            for j in speakers:
                by_speaker.setdefault(j, set()).add(i)
                pairs.add((j, i))
        for j, listeners in by_speaker.items():
            heard.setdefault(j, set()).add(frozenset(listeners))
    links = Links.of(NETWORKS[name])
    assert set(links.pairs) == pairs
    always = {j for j, sets in heard.items() if len(sets) == 1}
    if name in ("fixed", "periodic", "markov", "delayed"):
        assert links.steady == always
    else:  # links may fail that have not failed yet
        assert links.steady == frozenset()
    coded = pooling_of(NETWORKS[name], "difference")
    assert {j for j, i in pairs if coded.streams.key(j, i) == (j, ALL)} == links.steady
    plain = pooling_of(NETWORKS[name], "plain")
    assert {plain.streams.key(j, i) for j, i in pairs} == {(j, ALL) for j, _ in pairs}


def test_memory_is_predicted() -> None:
    for codec in ("difference", "low-rank"):
        for network in (STAR, NETWORKS["own"], NETWORKS["periodic"]):
            pooling = pooling_of(network, codec)
            for number in range(1, 9):
                pooling.pool(said(number), number=number)
            held = sum(
                values.numel() * values.itemsize
                for ends in pooling.streams._ends.values()
                for end in ends.values()
                for values in end.memory.values()
            )
            assert held <= pooling.footprint <= 3 * held + 40 * SIZE * 5
    coded = run_of(STAR, codec=codec_of("difference"))
    assert coded.footprint - run_of(STAR).footprint == coded._pooling.footprint


def test_a_number_that_a_codec_cannot_hold_names_agent_and_round() -> None:
    pooling = pooling_of(STAR, {"codec": "plain", "kind": "float16"})
    values = said(1)
    values["mean"][3, 7] = 1e5
    words = "^message of agent 3 in round 1: mean: expected numbers that float16 holds, got some"
    refused(words, pooling.pool, values, number=1)


def test_codecs_know_how_many_data_a_precision_speaks_for() -> None:
    """Messages of natural-gradient learners are for one of 45 data; those of backprop are whole."""
    known = {"natural-gradient": 45.0, "sites": 45.0, "backprop": 1.0, "averaging": 1.0}
    for learner, examples in known.items():
        run = run_of(STAR, learner, codec=codec_of("plain"))
        # A product and a reciprocal in float32.
        assert run._pooling._layout.examples == pytest.approx(examples, rel=4 * 2**-24)


def test_what_does_not_fit_is_refused_before_the_run() -> None:
    with pytest.raises(ValueError, match="missing: expected 'own' or 'zero', got 'mine'"):
        pooling_of(STAR, "seeds", missing="mine")
    with pytest.raises(ValueError, match="missing: expected 'own' for learners that keep beliefs"):
        pooling_of(STAR, "seeds", names="belief", missing="zero")
    with pytest.raises(ValueError, match="inner: expected a codec without a replica"):
        pooling_of(STAR, {"codec": "difference", "inner": "difference"})
    coded = run_of(STAR, codec=codec_of("difference"))
    refused(r"replicas of codec 'difference'.*got none; use", coded.restore, run_of(STAR).state())
    with pytest.raises(ValueError, match=r"replicas of codec 'difference'.*got others; use"):
        coded.restore(run_of(STAR, codec=codec_of("difference", mixing=0.4)).state())
    assert isinstance(coded, TrainingRun)


# Rates ------------------------------------------------------------------------------------------


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What coders of the codec `posterior` are told of rates."""
    found: list[float] = []
    write = PosteriorCoder.write

    def spied(self: Any, said: Any, memory: Any, *, seed: int, pace: float = 1.0) -> Any:
        found.append(pace)
        return write(self, said, memory, seed=seed, pace=pace)

    monkeypatch.setattr(PosteriorCoder, "write", spied)
    return found


def test_a_run_tells_its_codec_of_its_rate(told: list[float]) -> None:
    """Rates that rise and fall; every agent of the star speaks in each of eight rounds."""
    run = run_of(STAR, "natural-gradient", codec=codec_of("posterior"), warm_up=0.25)
    told.clear()  # of trial messages, before there are rounds
    for _ in range(8):
        run.run_round()
    assert told == [run.rate(number) for number in range(1, 9) for _ in range(5)]
    assert min(told) < 0.1
    assert max(told) > 0.8
