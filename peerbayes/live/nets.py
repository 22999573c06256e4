"""Learning of nets: a learner around one agent's training, read where it runs.

The peer is told of each message by a mark in place of its numbers, of which there are hundreds of
thousands; those are pooled by the code that pools them in one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exact.changing.peer import Peer
from exact.changing.peer_state import Message, Receipt
from peerbayes.experiments.net_rows import ROWS, Part, part_values
from peerbayes.experiments.net_run import network_of
from peerbayes.live.frames import Frame, Refused, Shapes, Tensors
from peerbayes.live.learner import Learner, Saved, Used
from peerbayes.live.members import Members, Share
from theory.validation import FloatArray, fail

if TYPE_CHECKING:
    from empirical.live.agent import EngineAgent, Said

# A running agent spends at most this share of its time on scores of itself.
JUDGING = 0.02
# Test images by which a running agent of a row is judged: half a per cent is one standard error.
JUDGED_BY = 1000
_NOTHING = np.zeros(1)
_DIGITS = 13  # of a digest, in hexadecimal: as many as a float holds


class NetLearner(Learner):
    """One agent's net, between what it is told.

    Parameters
    ----------
    share, pace, on_loss
        As of a `Learner`.
    rule
        Empty or None: the average. Robust rules are for hypotheses.
    own
        What is trained; left out: what the share names, which needs torch and the data.

    Attributes
    ----------
    rounds
        After how many rounds the training ends, by its own account.
    training
        The nets.

    Raises
    ------
    ValueError
        If something does not fit, or is missing.
    """

    kind = "net"
    replays = False

    def __init__(
        self,
        share: Share,
        *,
        pace: str = "lockstep",
        on_loss: str | None = None,
        rule: Mapping[str, Any] | None = None,
        own: OwnTraining | None = None,
    ) -> None:
        if (share.rule if rule is None else rule).get("rule", "average") != "average":
            raise fail("robust", "the average, for nets", dict(rule or share.rule), "leave it out")
        self._own = own_training(share) if own is None else own
        self.training = self._own.training
        self.rounds = int(share.content["rounds"])
        super().__init__(share, pace=pace, on_loss=on_loss)
        # Messages that the peer holds or keeps for later, by sender and digest.
        self._said: dict[tuple[int, str], Said] = {}
        # Neighbours that have not spoken since this agent's return.
        self._silent: set[int] = set()
        self._scores: dict[str, Any] = {}
        self._scored_at, self._scoring = -np.inf, 0.0
        self._learning: float | None = None

    def _priors(self, members: Members) -> FloatArray:
        return _NOTHING

    @property
    def kept(self) -> frozenset[tuple[int, str]]:
        """Of which messages the numbers are in memory: senders and marks."""
        return frozenset(self._said)

    def learn(self, evidence: object = None) -> Tensors:
        """A round's local steps on the agent's own data; the vectors that are to be sent.

        Parameters
        ----------
        evidence
            Not looked at.

        Raises
        ------
        TrainingFailed
            If numbers are not finite any more.
        """
        self._peer.observe(_NOTHING)
        begin = time.thread_time()
        said = {name: values.numpy() for name, values in self.training.learn().items()}
        if self._learning is not None:
            self._learning += time.thread_time() - begin
        self.keep("observe", round=self.round)
        return said

    def take(self, frame: Frame) -> Receipt:
        """A neighbour's message."""
        from empirical.live.agent import vectors

        sender = self._numbers.get(frame.sender)
        if sender is None:
            return Receipt.STRANGER
        precision = frame.tensors.get("precision")
        if precision is not None and not precision.min() > 0:
            raise Refused("not-finite", f"a precision of {precision.min():g}")
        mark = int(frame.digest[:_DIGITS] or "0", 16) / 16.0**_DIGITS
        message = Message(sender, frame.round, np.array([mark]))
        receipt = self._peer.deliver(message)
        if receipt in (Receipt.NEW, Receipt.EARLY):
            self._silent.discard(sender)
            self._said[sender, message.digest] = vectors(frame.tensors)
            self._forget()
        return receipt

    def missing(self) -> frozenset[str]:
        """Present neighbours of whom there is no message of this round."""
        return super().missing() | {self._names[j] for j in self._silent}

    def pool(self) -> Used:
        """Pool what is held: which messages, the peer says; the numbers, by the training."""
        if self._learning is None:
            self._learning = 0.0
        used = super().pool()
        held, owner = self._peer.mailbox.held, self._peer.owner
        weights = {self._numbers[name]: weight for name, weight in used.weights.items()}
        spoken = {self._numbers[name]: round > 0 for name, round in used.rounds.items()}
        heard = {
            j: self._said[j, held[j].digest] if spoken[j] else self.training.begin
            for j in weights
            if j != owner
        }
        self.training.pool(heard, weights)
        self._forget()
        return used

    def skip(self, round: int) -> None:
        """Be away until `round`, which is the next to begin."""
        super().skip(round)
        self.training.skip(round - 1)

    def lose(self, name: str) -> None:
        """A neighbour is gone, until its next new message."""
        super().lose(name)
        self._silent.discard(self._numbers.get(name, -1))

    def reweigh(self, members: Members) -> None:
        """A new list of members."""
        super().reweigh(members)
        self._silent &= set(self._peer.mailbox.held)
        self._forget()

    def save(self) -> Saved:
        """Training, peer and list of members; of what others said, only of which round it was."""
        peer, training = super().save(), self.training.state()
        tensors = {f"peer.{name}": values for name, values in peer.tensors.items()}
        tensors |= {f"training.{name}": values.numpy() for name, values in training.items()}
        return Saved(peer.meta, tensors)

    def restore(self, saved: Saved) -> None:
        """Go back to a saved state; a neighbour counts as missing until it speaks again."""
        from empirical.live.agent import vectors

        super().restore(Saved(saved.meta, _under("peer.", saved.tensors)))
        self.training.restore(vectors(_under("training.", saved.tensors)))
        state = self._peer.state()
        spoken = {message.sender for message in state.held if message.round > 0}
        lost = tuple(sorted(spoken | set(state.lost)))
        self._peer = Peer.from_state(replace(state, lost=lost, ahead=()))
        self._silent = spoken - set(state.lost)
        self._said = {}

    def summary(self) -> dict[str, Any]:
        """Scores of the mean weights, as old as keeps them cheap, and of which round they are.

        Also ``learning``: seconds of CPU time of local steps since the first pooling.
        """
        now = time.perf_counter()
        due = now - self._scored_at >= self._scoring / JUDGING
        if due and self._scores.get("round") != self.round:
            judged = {"judged_by": self._own.judged_by, "round": self.round}
            self._scores = {**self._own.score(), **judged}
            self._scored_at = time.perf_counter()
            self._scoring = self._scored_at - now
        return {**self._scores, "learning": self._learning or 0.0}

    def shapes(self) -> Shapes:
        """Vectors of float32, all of one length."""
        begin = self.training.begin
        return {name: ("F32", tuple(values.shape)) for name, values in begin.items()}

    def _forget(self) -> None:
        """Let go of numbers that the peer will not ask for any more."""
        if not self._said:
            return
        state = self._peer.state()
        wanted = {(one.sender, one.digest) for one in (*state.held, *state.ahead)}
        self._said = {key: said for key, said in self._said.items() if key in wanted}


def _under(prefix: str, tensors: Tensors) -> dict[str, Any]:
    found = tensors.items()
    return {key.removeprefix(prefix): one for key, one in found if key.startswith(prefix)}


# What is trained --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OwnTraining:
    """One agent's training, and how it is judged as it runs.

    Attributes
    ----------
    training
        Its nets.
    score
        Measures of the belief's mean weights by name, such as accuracy and mean −log ℓ in nats;
        empty where there is nothing to judge by.
    judged_by
        What the scores are of, in words.
    """

    training: EngineAgent
    score: Callable[[], Mapping[str, float]]
    judged_by: str


def own_training(share: Share) -> OwnTraining:
    """The training of an agent whose share is of kind "net"; torch is imported, with one thread.

    Raises
    ------
    ValueError
        If torch or the data are missing, or something does not fit; in one line.
    """
    from peerbayes.experiments.setting import check_installed

    check_installed(share.problem)
    from empirical.live.agent import use_one_thread

    use_one_thread()
    agent = share.members.number(share.agent)
    return (_of_row if share.content["form"] == "row" else _of_file)(share.content, agent)


def _of_row(content: Mapping[str, Any], agent: int) -> OwnTraining:
    from empirical.data import Images, load_images
    from empirical.dealing import DEALINGS, held_labels, stratified_subset
    from empirical.live.agent import agent_of_recipe, share_among
    from empirical.nets.architecture import perceptron
    from empirical.nets.shares import as_inputs, as_labels
    from empirical.train.evaluation import evaluate
    from empirical.train.kernel_net import KernelNet
    from empirical.train.recipe import Recipe
    from peerbayes.experiments.run import part_seed
    from theory.network import Network

    row = ROWS[content["row"]]
    variant = row.variant(content["variant"])
    part = Part(content["recipe"], "cooperating", variant.name, 0)
    values = part_values(row, part, is_quick=False)
    seed = part_seed(content["seed"], part.seed)
    directory = None if content["data"] is None else Path(content["data"])
    train = load_images(row.dataset, split="train", directory=directory)
    partition = DEALINGS[variant.dealing].deal(train.labels, seed=seed)
    rows = partition.indices[agent]
    own = Images(train.pixels[rows], train.labels[rows], train.name, train.classes, train.white)
    size = (train.pixels.shape[1] * train.pixels.shape[2],)
    network = network_of(variant.network)
    assert isinstance(network, Network)
    architecture = perceptron(*size, *row.hidden, outputs=len(train.classes))
    training = agent_of_recipe(
        agent,
        share_among(as_inputs(own, input_shape=size), as_labels(own), partition.sizes, agent),
        network,
        Recipe(**{name: value for name, value in values.items() if name != "rounds_run"}),
        architecture=architecture,
        seed=seed,
    )
    test = load_images(row.dataset, split="test", directory=directory)
    few = stratified_subset(test.labels, min(JUDGED_BY, len(test)), seed=0)
    some = Images(test.pixels[few], test.labels[few], test.name, test.classes, test.white)
    inputs, labels = as_inputs(some, input_shape=size), some.labels
    net, held = KernelNet(architecture), [held_labels(partition, train.labels)[agent]]

    def score() -> Mapping[str, float]:
        found = evaluate(net, training.belief(), inputs, labels, draws=0, seed=0, own_labels=held)
        return {measure: float(found[measure][0]) for measure in ("accuracy", "nll")}

    return OwnTraining(training, score, f"{len(few)} test images")


def _of_file(content: Mapping[str, Any], agent: int) -> OwnTraining:
    from empirical.kernels.products import products
    from empirical.live.agent import agent_of_plan
    from empirical.train.scores import score as scored
    from peerbayes.nets.reading import plan_of, read_net_file

    path = Path(content["path"])
    directory = None if content["data"] is None else Path(content["data"])
    problem = read_net_file(path, directory=directory, seed=content["seed"])
    plan = plan_of(problem, None, None, source=str(path))
    training = agent_of_plan(agent, plan)
    name = plan.data.names[agent]
    held_out = plan.data.validation[agent]
    if not len(held_out):
        return OwnTraining(training, dict, "nothing")
    examples = plan.tensors(f"validation labels of agent {name!r}", held_out)

    def score() -> Mapping[str, float]:
        belief = training.belief()
        with products(training.products, device="cpu"):
            found = scored(
                plan.net, plan.likelihood, [(agent, belief.mean[0], None)], [examples],
                draws=0, seed=plan.seed, unit=plan.unit,
            )  # fmt: skip
        return {measure: float(found[measure][0]) for measure in found.measures}

    return OwnTraining(training, score, f"{len(held_out)} validation examples of its own")
