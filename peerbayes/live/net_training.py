"""What one agent's process trains: its share of a row or net file, read where it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.experiments.net_parts import Part, part_values
from peerbayes.experiments.net_rows import ROWS
from peerbayes.live.share import Share

if TYPE_CHECKING:
    from empirical.live.agent import AgentTraining

# Test images by which a running agent of a row is judged: half a per cent is one standard error.
JUDGED_BY = 1000


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

    training: AgentTraining
    score: Callable[[], Mapping[str, float]]
    judged_by: str


def own_training(share: Share) -> OwnTraining:
    """The training of an agent whose share is of kind "net"; torch is imported, with one thread.

    Raises
    ------
    ValueError
        If torch or the data are missing, or something does not fit; in one line.
    """
    from peerbayes.experiments.net_run import check_installed

    check_installed(share.problem)
    from empirical.live.agent import use_one_thread

    use_one_thread()
    agent = share.members.number(share.agent)
    return (_of_row if share.content["form"] == "row" else _of_file)(share.content, agent)


def _of_row(content: Mapping[str, Any], agent: int) -> OwnTraining:
    from empirical.data import Images, load_images
    from empirical.dealing import DEALINGS, held_labels, stratified_subset
    from empirical.live.agent import RecipeAgent, share_among
    from empirical.nets.architecture import perceptron
    from empirical.nets.descent import as_inputs, as_labels
    from empirical.nets.evaluation import evaluate
    from empirical.nets.recipe import Recipe
    from peerbayes.experiments.net_problem import network_of
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
    training = RecipeAgent(
        agent,
        share_among(as_inputs(own, input_shape=size), as_labels(own), partition.sizes, agent),
        network,
        Recipe(**{name: value for name, value in values.items() if name != "rounds_run"}),
        architecture=perceptron(*size, *row.hidden, outputs=len(train.classes)),
        seed=seed,
    )
    test = load_images(row.dataset, split="test", directory=directory)
    few = stratified_subset(test.labels, min(JUDGED_BY, len(test)), seed=0)
    some = Images(test.pixels[few], test.labels[few], test.name, test.classes, test.white)
    inputs, labels = as_inputs(some, input_shape=size), some.labels
    held = [held_labels(partition, train.labels)[agent]]

    def score() -> Mapping[str, float]:
        found = evaluate(training.posterior, inputs, labels, draws=0, seed=0, own_labels=held)
        return {"accuracy": float(found.accuracy[0]), "nll": float(found.nll[0])}

    return OwnTraining(training, score, f"{len(few)} test images")


def _of_file(content: Mapping[str, Any], agent: int) -> OwnTraining:
    from empirical.kernels.products import products
    from empirical.live.agent import PlanAgent
    from empirical.train.scores import score as scored
    from peerbayes.nets.reading import plan_of, read_net_file

    path = Path(content["path"])
    directory = None if content["data"] is None else Path(content["data"])
    problem = read_net_file(path, directory=directory, seed=content["seed"])
    plan = plan_of(problem, None, None, source=str(path))
    training = PlanAgent(agent, plan)
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
