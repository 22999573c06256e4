"""Nets live: agents that exchange frames have, to the last bit, what one process has."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

import peerbayes as pb  # noqa: E402
from empirical.train.evaluation import evaluate  # noqa: E402
from empirical.train.kernel_net import KernelNet  # noqa: E402
from exact.changing.peer_state import Receipt  # noqa: E402
from peerbayes.cli import main  # noqa: E402
from peerbayes.experiments import net_run  # noqa: E402
from peerbayes.experiments.net_rows import ROWS, Part  # noqa: E402
from peerbayes.experiments.net_run import net_problem, part_run  # noqa: E402
from peerbayes.experiments.run import part_seed  # noqa: E402
from peerbayes.live.agent import evidence_of  # noqa: E402
from peerbayes.live.evidence import OwnData  # noqa: E402
from peerbayes.live.finding import is_net, own_share  # noqa: E402
from peerbayes.live.frames import Frame, Refused, seal, unseal  # noqa: E402
from peerbayes.live.kept import Keeper, Store  # noqa: E402
from peerbayes.live.learner import Used  # noqa: E402
from peerbayes.live.members import Members, Share  # noqa: E402
from peerbayes.live.nets import NetLearner  # noqa: E402
from peerbayes.live.preparing import net_shares  # noqa: E402
from peerbayes.settings.live import Peer  # noqa: E402
from tests.peerbayes.nets.support import NUMBERS, write_net  # noqa: E402
from tests.peerbayes.tiny_nets import make_tiny  # noqa: E402
from theory import Network  # noqa: E402

ROW = "star-mnist-1"
SMALL = replace(ROWS[ROW], hidden=(8,))
ROUNDS = 3
Said = Mapping[str, Any]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of nets with eight units, on 8 x 8 digits."""
    make_tiny(monkeypatch.setattr)
    values = vars(net_run)["part_values"]  # tiny by now
    monkeypatch.setattr("peerbayes.live.nets.part_values", values)
    for module in ("experiments.net_rows", "live.nets"):
        monkeypatch.setattr(f"peerbayes.{module}.ROWS", {ROW: SMALL})


def frame_of(share: Share, one: NetLearner, tensors: Any, **changed: Any) -> Frame:
    """As it comes out of the bytes that were sent."""
    said = Frame(share.network, share.agent, 0, one.round, 0.0, 0.0, "net", tensors)
    return unseal(
        seal(replace(said, **changed)), limit=2**22, network=share.network, shapes=one.shapes(),
        kind="net", members=frozenset(share.members.names),
    )  # fmt: skip


def lockstep(
    shares: Sequence[Share],
    learners: Sequence[NetLearner],
    count: int,
) -> dict[str, Used]:
    """Some rounds; what was used in the last one, by listener."""
    used: dict[str, Used] = {}
    for _ in range(count):
        pairs = list(zip(shares, learners, strict=True))
        letters = [frame_of(share, one, one.learn()) for share, one in pairs]
        for share, one in pairs:
            for letter in letters:
                if letter.sender != share.agent:
                    one.take(letter)
            used[share.agent] = one.pool()
    return used


def means(learners: Sequence[NetLearner]) -> Any:
    return torch.cat([one.training.belief().mean for one in learners])


def variances(learners: Sequence[NetLearner]) -> Any:
    return torch.cat([one.training.belief().variance for one in learners])


def row_learners(**options: Any) -> tuple[tuple[Share, ...], list[NetLearner]]:
    shares = net_shares(ROW, seed=3)
    return shares, [NetLearner(share, **options) for share in shares]


def test_a_row_in_frames_has_the_bits_of_one_process(tiny: None) -> None:
    shares, learners = row_learners()
    used = lockstep(shares, learners, ROUNDS)
    part, seed = Part("best", "cooperating", SMALL.main, 0), part_seed(3, 0)
    problem = net_problem(SMALL, part, is_quick=False, device="cpu", data=None, seed=seed)
    values = vars(net_run)["part_values"](SMALL, part, is_quick=False)
    whole, _, _ = part_run(problem, part, values, seed=seed, device="cpu")
    for _ in range(ROUNDS):
        whole.run_round()
    belief = whole.belief()
    assert torch.equal(means(learners), belief.mean)
    assert torch.equal(variances(learners), belief.variance)
    # The centre weighs everybody by its row of W, and used what all said in this round.
    assert isinstance(problem.network, Network)
    row = np.asarray(problem.network.weights)[0]
    assert used["0"].weights == {str(j): weight for j, weight in enumerate(row)}
    assert set(used["0"].rounds.values()) == {ROUNDS}
    scores = learners[4].summary()
    assert scores["judged_by"] == "300 test images"
    assert scores["round"] == ROUNDS
    found = evaluate(
        KernelNet(problem.architecture), belief, problem.test.inputs, problem.test.labels,
        draws=0, seed=0, own_labels=problem.test.own_labels,
    )  # fmt: skip
    assert scores["accuracy"] == found["accuracy"][4]
    assert scores["nll"] == pytest.approx(found["nll"][4], rel=1e-6)


def test_a_net_file_in_frames_has_the_bits_of_one_process(tmp_path: Path) -> None:
    path = write_net(tmp_path)
    trained = pb.train_file(path).trained
    shares = net_shares(str(path))
    learners = [NetLearner(share) for share in shares]
    assert [share.agent for share in shares] == ["well-0", "well-1", "well-2"]
    assert {one.rounds for one in learners} == {6}
    lockstep(shares, learners, 6)
    assert torch.equal(means(learners), trained.mean)
    assert torch.equal(variances(learners), trained.variance)
    scores = [one.summary() for one in learners]
    assert {score["judged_by"] for score in scores} == {"8 validation examples of its own"}
    assert all(score["rmse"] > 0 for score in scores)


def wells(folder: Path, **options: Any) -> tuple[tuple[Share, ...], list[NetLearner]]:
    """Three agents who weigh each other alike."""
    shares = net_shares(str(write_net(folder)))
    return shares, [NetLearner(share, **options) for share in shares]


def say(learners: Sequence[NetLearner]) -> list[Said]:
    """What each says in its next round, in memory of its own."""
    return [{name: v.copy() for name, v in one.learn().items()} for one in learners]


def pooled_by_hand(parts: Sequence[tuple[float, Said]]) -> Any:
    """Means of a weighted sum of natural parameters, in numpy and float64."""
    sums = {
        name: sum(weight * np.float64(said[name]) for weight, said in parts)
        for name in ("precision", "shift")
    }
    return sums["shift"] / sums["precision"]


@pytest.mark.parametrize(
    ("on_loss", "weights"),
    [
        ("own", (2 / 3, 1 / 3, 0)),
        ("renormalise", (1 / 2, 1 / 2, 0)),
        ("last", (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_a_lost_message_is_replaced_by_the_rule(
    on_loss: str, weights: tuple[float, ...], tmp_path: Path
) -> None:
    """The first agent loses what the third says in round 2."""
    shares, learners = wells(tmp_path, on_loss=on_loss)
    first = learners[0]
    before = say(learners)
    for k in (1, 2):
        first.take(frame_of(shares[k], learners[k], before[k]))
    first.pool(), learners[1].pool()
    said = say(learners[:2])
    first.take(frame_of(shares[1], learners[1], said[1]))
    assert first.missing() == {"well-2"}
    used = first.pool()
    named = {f"well-{k}": weight for k, weight in enumerate(weights) if weight}
    assert used.weights == pytest.approx(named, rel=1e-15)
    assert used.rounds == {name: 1 if name == "well-2" else 2 for name in named}
    found = first.training.belief().mean[0].double().numpy()
    wanted = pooled_by_hand(list(zip(weights, [*said, before[2]], strict=True)))
    # Messages and the result are rounded to float32; shifts nearly cancel here and there.
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_by_last_a_neighbour_that_never_spoke_is_where_all_began(tmp_path: Path) -> None:
    _, learners = wells(tmp_path, on_loss="last")
    first = learners[0]
    begin = {name: values.numpy().copy() for name, values in first.training.begin.items()}
    said = say(learners[:1])[0]
    used = first.pool()
    assert used.rounds == {"well-0": 1, "well-1": 0, "well-2": 0}
    wanted = pooled_by_hand([(1 / 3, said), (2 / 3, begin)])
    found = first.training.belief().mean[0].double().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_message_of_a_later_round_waits_for_it(tmp_path: Path) -> None:
    shares, learners = wells(tmp_path)
    first, second = learners[:2]
    letters = []
    for _ in range(2):
        letters.append(frame_of(shares[1], second, say([second])[0]))
        second.pool()
    first.learn()
    assert first.take(letters[1]) is Receipt.EARLY
    assert first.take(letters[0]) is Receipt.NEW
    assert first.take(letters[0]) is Receipt.DUPLICATE
    assert first.pool().rounds["well-1"] == 1
    first.learn()
    assert first.missing() == {"well-2"}
    assert first.pool().rounds["well-1"] == 2


def test_by_a_clock_of_its_own_an_agent_takes_the_newest(tmp_path: Path) -> None:
    shares, learners = wells(tmp_path, pace="own")
    first, second = learners[:2]
    first.learn()
    for _ in range(5):
        letter = frame_of(shares[1], second, say([second])[0])
        assert first.take(letter) is Receipt.NEW
        second.pool()
    assert first.pool().rounds["well-1"] == 5


def test_who_is_lost_is_not_waited_for_and_its_weight_goes_to_oneself(tmp_path: Path) -> None:
    shares, learners = wells(tmp_path)
    said = say(learners)
    learners[0].take(frame_of(shares[2], learners[2], said[2]))
    learners[0].lose("well-2")
    learners[0].lose("nobody")
    assert learners[0].missing() == {"well-1"}
    learners[0].lose("well-1")
    assert learners[0].pool().weights == {"well-0": pytest.approx(1.0, rel=1e-15)}
    for share, one in zip(shares[1:], learners[1:], strict=True):
        one.pool()
        letter = frame_of(share, one, say([one])[0])
        assert learners[0].take(letter) is Receipt.EARLY
    learners[0].learn()
    assert len(learners[0].pool().weights) == 3


def test_a_saved_agent_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """Saved within a round; what others said before counts as missing until they speak again."""
    shares, learners = wells(tmp_path)
    lockstep(shares, learners, 2)
    first, again = learners[0], NetLearner(shares[0])
    said = say(learners)
    saved = first.save()
    kept = replace(saved, tensors={name: np.array(v) for name, v in saved.tensors.items()})
    again.learn()  # whatever it did before is forgotten
    again.restore(kept)
    assert again.round == 3
    assert again.missing() == {"well-1", "well-2"}  # it waits, as long as they are there
    alone = NetLearner(shares[0], on_loss="last")
    alone.restore(kept)
    assert alone.pool().weights == {"well-0": 1.0}
    for one in (first, again):
        for k in (1, 2):
            one.take(frame_of(shares[k], learners[k], said[k]))
        assert one.missing() == set()
        one.pool()
        one.learn()
    for name, values in first.save().tensors.items():
        np.testing.assert_array_equal(values, again.save().tensors[name])
    with pytest.raises(ValueError, match="state: expected that of agent 'well-1'"):
        learners[1].restore(kept)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("share_of_time", [1e-9, 1e9])
def test_an_agent_that_was_killed_says_no_round_twice(
    share_of_time: float, pooled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither after rounds that were only reserved, nor after a state kept within each of them."""
    monkeypatch.setattr("peerbayes.live.kept._SHARE", share_of_time)
    share = net_shares(str(write_net(tmp_path)))[0]
    rounds: list[int] = []
    notices: list[str] = []
    for life in (1, 3, 2, 1):
        store = Store(tmp_path / "well-0.state", {"agent": "well-0"})
        learner = NetLearner(share)
        Keeper(learner, OwnData(), store, log=notices.append)
        for k in range(life):
            learner.learn(None)
            rounds.append(learner.round)
            if pooled or k < life - 1:
                learner.pool()
        store.close()  # as the end of a process does
    assert rounds == list(range(1, 8))
    assert [text.split()[-1] for text in notices] == ["1", "4", "6"]


def test_an_agent_that_was_away_begins_the_round_it_is_told(tmp_path: Path) -> None:
    shares, learners = wells(tmp_path)
    learners[0].skip(4)
    learners[0].learn()
    assert (learners[0].round, learners[0].training.round) == (4, 4)
    letter = frame_of(shares[1], learners[1], say(learners[1:2])[0])
    assert letter.round == 1
    learners[0].take(letter)
    assert learners[0].missing() == {"well-1", "well-2"}


def test_a_newcomer_is_weighed_once_it_speaks(tmp_path: Path) -> None:
    shares, learners = wells(tmp_path)
    first, members = learners[0], shares[0].members
    row = {0: 0.5, 3: 0.5}
    more = Members(
        members.network, 1, (*members.names, "well-3"), (row, {1: 1.0}, {2: 1.0}, {3: 1.0})
    )
    first.reweigh(more)
    said = say(learners[:2])
    assert first.take(frame_of(shares[1], learners[1], said[1])) is Receipt.STRANGER
    letter = replace(frame_of(shares[1], learners[1], said[1]), sender="well-3")
    assert first.take(letter) is Receipt.NEW
    assert first.pool().weights == {"well-0": 0.5, "well-3": 0.5}
    found = first.training.belief().mean[0].double().numpy()
    wanted = pooled_by_hand([(0.5, said[0]), (0.5, said[1])])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="add agents at the end"):
        first.reweigh(members)


def test_what_is_no_belief_is_refused(tmp_path: Path) -> None:
    shares, learners = wells(tmp_path)
    said = say(learners)
    wrong = {**said[1], "precision": -said[1]["precision"]}
    with pytest.raises(Refused, match="not-finite: a precision of -"):
        learners[0].take(frame_of(shares[1], learners[1], wrong))
    stranger = replace(frame_of(shares[1], learners[1], said[1]), sender="nobody")
    assert learners[0].take(stranger) is Receipt.STRANGER
    assert learners[0].missing() == {"well-1", "well-2"}


def test_numbers_that_nobody_will_ask_for_are_let_go(tmp_path: Path) -> None:
    """However far a neighbour runs ahead, of each a few messages are kept."""
    shares, learners = wells(tmp_path)
    said = say(learners)
    for round in range(1, 100):
        for k in (1, 2):
            learners[0].take(frame_of(shares[k], learners[k], said[k], round=round))
    from exact.changing.peer import KEPT_AHEAD

    assert len(learners[0].kept) == 2 * (1 + KEPT_AHEAD)


def test_which_names_and_files_are_nets(tmp_path: Path) -> None:
    path = write_net(tmp_path)
    assert is_net(str(path))
    assert is_net(ROW)
    other = tmp_path / "coins.toml"
    other.write_text("[network]\ntopology = 'ring'\nagents = 3\n", encoding="utf-8")
    assert not is_net(str(other))
    assert not is_net("two-coins")
    assert not is_net(str(tmp_path / "absent.toml"))


def test_shares_name_one_network_for_one_training(tmp_path: Path, tiny: None) -> None:
    path = write_net(tmp_path)
    same, other = net_shares(str(path)), net_shares(str(path), seed=5)
    assert same[0].network == net_shares(str(path))[1].network != other[0].network
    options = itertools.product((0, 1), ("best", "paper"))
    rows = {net_shares(ROW, seed=seed, recipe=name)[0].network for seed, name in options}
    assert len(rows) == 4
    data = (tmp_path / "well-1.csv").read_text(encoding="utf-8")
    (tmp_path / "well-1.csv").write_text(data.replace("0", "1"), encoding="utf-8")
    assert net_shares(str(path))[0].network != same[0].network
    again = tmp_path / "share.json"
    same[1].write(again)
    assert Share.read(again) == same[1]


@pytest.mark.parametrize(
    ("problem", "options", "line"),
    [
        (ROW, {"recipe": "worst"}, "recipe: expected paper, best, once, got 'worst'"),
        (ROW, {"seed": -1}, "seed: expected"),
        ("timevarying-25", {}, "timevarying-25: expected a row with a fixed network"),
        ("fedavg-iid", {}, "fedavg-iid: expected a row with a fixed network"),
    ],
)
def test_rows_that_no_processes_can_run_are_refused(
    problem: str, options: dict[str, Any], line: str
) -> None:
    with pytest.raises(ValueError, match=f"^{line}.*$"):
        net_shares(problem, **options)


def test_net_files_that_no_processes_can_run_are_refused(tmp_path: Path) -> None:
    changing = {
        **NUMBERS,
        "network": {**NUMBERS["network"], "changes": {"kind": "links", "up": 0.5}},
    }
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (changing, {}, "network: expected a fixed network"),
        ({**NUMBERS, "messages": {"codec": "sign"}}, {}, "messages: expected weights as they are"),
        (NUMBERS, {"recipe": "best"}, "recipe: expected one of an experiment's row"),
    ]
    for document, options, line in cases:
        path = write_net(tmp_path, document)
        with pytest.raises(ValueError, match=line):
            net_shares(str(path), **options)
    shares = net_shares(str(write_net(tmp_path)))
    with pytest.raises(ValueError, match="robust: expected the average, for nets"):
        NetLearner(shares[0], rule={"rule": "median"})
    asked = Peer(evidence="-")
    with pytest.raises(ValueError, match="evidence: expected its own data"):
        evidence_of(shares[0], asked, log=print)
    with pytest.raises(ValueError, match="agent: expected"):
        own_share(str(write_net(tmp_path)), "well-9", None)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("launch NET --recipe best", "recipe: expected one of an experiment's row"),
        ("launch two-coins --recipe best", "--recipe: expected an experiment with nets"),
        ("peer NET --agent well-0 --robust median", "robust: expected the average"),
    ],
)
def test_options_that_do_not_fit_are_one_line(
    command: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = command.replace("NET", str(write_net(tmp_path))).split()
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_rounds_of_its_own_data_are_counted() -> None:
    source = OwnData()
    assert [source.take(1), source.take(1)] == [None, None]
    assert (source.taken, source.offset, source.refused) == (2, 2, 0)
    assert (source.ended, source.arrives) == (False, False)
