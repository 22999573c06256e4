"""One part of an experiment with neural nets: data dealt, nets trained and looked at, kept.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from peerbayes import __version__
from peerbayes.experiments.net_parts import QUICK_IMAGES, Part, part_values, schedule_values
from peerbayes.experiments.net_rows import Row, Table
from peerbayes.progress import sayer
from peerbayes.records import file_name
from theory.changing.periodic import PeriodicNetwork
from theory.network import Network
from theory.validation import fail

if TYPE_CHECKING:
    from empirical.data import Images
    from empirical.nets.architecture import Architecture
    from empirical.nets.curve import Test
    from empirical.nets.keeping import Generations
    from empirical.nets.learners import Learner
    from empirical.nets.shares import Shares

# Of another data set, to see whether entropy tells them from the row's own.
OTHER_IMAGES = 2000


@dataclass(frozen=True)
class Setting:
    """Where and how a run happens; but for the device, no number depends on it.

    Attributes
    ----------
    device
        ``"cpu"`` or ``"cuda"``.
    data
        Folder of the image files; None: the usual places.
    folder
        Where checkpoints and final beliefs go; None: nowhere.
    resume
        Whether to go on from a checkpoint.
    notice
        Told of checkpoints that could not be used.
    """

    device: str = "cpu"
    data: Path | None = None
    folder: Path | None = None
    resume: bool = False
    notice: Callable[[str], None] | None = None


def check_setting(row: Row, setting: Setting) -> None:
    """Whether torch, the data and the device are there, before anything is run.

    Raises
    ------
    ValueError
        In one line that says how to get what is missing.
    """
    missing = [name for name in ("torch", "safetensors") if find_spec(name) is None]
    if missing:
        raise fail(
            row.name, "torch and safetensors", f"no {missing[0]}",
            "install them with: pip install 'peerbayes[empirical]'",
        )  # fmt: skip
    from empirical.data import locate
    from empirical.nets.training import check_device

    check_device(setting.device)
    locate(row.dataset, directory=setting.data)


def run_net_part(
    row: Row,
    part: Part,
    *,
    is_quick: bool,
    setting: Setting,
    seed: int,
    fingerprint: str,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Train and measure, in plain values.

    Raises
    ------
    ValueError
        If something is missing, or training fails; the message names agent and round.
    """
    from empirical.data import CHECKSUMS
    from empirical.nets.curve import Schedule, follow
    from empirical.nets.keeping import save_posterior

    check_setting(row, setting)
    problem = _problem(row, part, is_quick=is_quick, setting=setting, seed=seed)
    values = part_values(row, part, is_quick=is_quick)
    learner, rounds, recipe = _learner(problem, part, values, seed=seed, device=setting.device)
    generations = _generations(part, setting, fingerprint)
    schedule = Schedule(**schedule_values(row, is_quick=is_quick))
    with _held(part, setting):
        curve = follow(
            learner,
            problem.test,
            rounds=rounds,
            schedule=schedule,
            seed=seed,
            generations=generations,
            resume=setting.resume,
            progress=progress,
            say=sayer(progress),
        )
    content: dict[str, Any] = {
        "recipe": part.recipe,
        "role": part.role,
        "variant": part.variant,
        "seed": part.seed,
        "settings": {**recipe, "rounds_run": rounds},
        "network": problem.facts,
        "classes": list(problem.classes),
        "data": dict(CHECKSUMS[row.dataset]),
        "curve": curve.as_json(),
        "versions": _versions(),
        "posterior": None,
    }
    if setting.folder is not None:
        path = setting.folder / f"{_file(part)}.safetensors"
        words = {"experiment": row.name, "part": part.name, "fingerprint": fingerprint}
        sha256 = save_posterior(path, learner.posterior, words)
        content["posterior"] = {"file": path.name, "sha256": sha256}
    return content


def forget_unfinished(part: Part, setting: Setting) -> None:
    """Delete the checkpoints of a part that is on record."""
    generations = _generations(part, setting, "")
    if generations is not None:
        generations.remove()


@dataclass(frozen=True, eq=False)
class _Problem:
    """Data, network and net of one part."""

    shares: Shares
    network: Network | PeriodicNetwork | None
    architecture: Architecture
    test: Test
    facts: Mapping[str, Any]
    classes: tuple[str, ...]


def _problem(row: Row, part: Part, *, is_quick: bool, setting: Setting, seed: int) -> _Problem:
    from empirical.dealing import DEALINGS, held_labels
    from empirical.nets.architecture import perceptron
    from empirical.nets.curve import Test
    from empirical.nets.shares import Shares, as_inputs

    variant = row.variant(part.variant)
    train, test = _images(row.dataset, setting.data, is_quick)
    partition = DEALINGS[variant.dealing].deal(train.labels, seed=seed)
    network = None if "server" in variant.network else network_of(variant.network)
    if network is not None and network.agents != partition.agents:
        raise fail(
            f"{row.name}: network", f"{partition.agents} agents, as many as hold data",
            network.agents, "change the row",
        )  # fmt: skip
    own = held_labels(partition, train.labels)
    facts: dict[str, Any] = {
        "agents": partition.agents,
        "sizes": list(partition.sizes),
        "labels": [list(labels) for labels in own],
        "informative": partition.informative,
        "influence": None if network is None else influence_of(network),
    }
    shape = (train.pixels.shape[1] * train.pixels.shape[2],)
    shares = Shares.from_images(train, partition, input_shape=shape, device=setting.device)
    if part.role == "central":
        shares = shares.together()
    everything = tuple(sorted(set().union(*own)))
    if part.role in ("central", "fedavg") or network is None:
        own = (everything,)
    unseen = tuple(label for label in range(len(train.classes)) if label not in everything)
    return _Problem(
        shares,
        network,
        perceptron(*shape, *row.hidden, outputs=len(train.classes)),
        Test(
            as_inputs(test, input_shape=shape, device=setting.device),
            test.labels,
            own,
            unseen,
            _others(row.dataset, setting, shape),
        ),
        facts,
        train.classes,
    )


def network_of(table: Table) -> Network | PeriodicNetwork:
    """The network of a row's table.

    Examples
    --------
    >>> network_of({"topology": "star", "agents": 9, "edge_confidence": 0.5}).agents
    9
    """
    from theory.changing.periodic import rotating_star

    if "rotating_star" in table:
        return rotating_star(**table["rotating_star"])
    if "weights" in table:
        return Network(np.array(table["weights"], dtype=float))
    return Network.from_topology(**table)


def influence_of(network: Network | PeriodicNetwork) -> list[float]:
    """Each agent's share v of what the network learns."""
    from theory.changing import influence

    if isinstance(network, Network):
        return [float(share) for share in network.stationary_distribution]
    return [float(share) for share in influence(network).values]


def _learner(
    problem: _Problem, part: Part, values: Mapping[str, Any], *, seed: int, device: str
) -> tuple[Learner, int, dict[str, Any]]:
    """Who learns, for how many rounds, and by which numbers in full."""
    from empirical.nets.learners import Alone, Server, Together
    from empirical.nets.recipe import Recipe
    from empirical.nets.training import Training

    if "server" in values:
        from empirical.nets.fedavg import FedAvg

        plan = server_recipe(values)
        run = FedAvg(problem.shares, plan, architecture=problem.architecture, seed=seed)
        return Server(run), plan.rounds, plan.as_json()
    recipe = Recipe(**{name: value for name, value in values.items() if name != "rounds_run"})
    alone = Network(np.ones((1, 1)))

    def training(
        shares: Shares, network: Network | PeriodicNetwork, plan: Recipe = recipe
    ) -> Training:
        return Training(
            shares,
            network,
            plan,
            architecture=problem.architecture,
            seed=seed,
            device=device,
        )

    learner: Learner
    if part.role in ("alone", "central"):
        agents = range(problem.shares.agents)
        # Alone, each has the batches that it has in the network.
        batches = recipe.batch_sizes(problem.shares.sizes)
        plans = [replace(recipe, batch=batch, batches="equal") for batch in batches]
        learner = Alone([training(problem.shares.of([k]), alone, plans[k]) for k in agents])
    else:
        assert problem.network is not None
        learner = Together(training(problem.shares, problem.network))
    return learner, int(values["rounds_run"]), recipe.as_json()


def server_recipe(values: Mapping[str, Any]) -> Any:
    """The recipe of federated averaging of this name, with what is said otherwise.

    Raises
    ------
    ValueError
        If there is no recipe of that name.
    """
    from empirical.nets.fedavg_recipe import FEDAVG_RECIPES

    name = values["server"]
    if name not in FEDAVG_RECIPES:
        known = ", ".join(FEDAVG_RECIPES) or "none"
        raise fail("recipe of federated averaging", known, repr(name), "choose one of them")
    changed = {k: v for k, v in values.items() if k not in ("server", "rounds_run")}
    return replace(FEDAVG_RECIPES[name], **changed)


def _generations(part: Part, setting: Setting, fingerprint: str) -> Generations | None:
    """Where the part keeps what is unfinished."""
    if setting.folder is None:
        return None
    from empirical.nets.keeping import Generations

    versions = " ".join(f"{name} {number}" for name, number in _versions().items())
    path = setting.folder / f"{_file(part)}.unfinished"
    return Generations(path, f"{fingerprint} {versions}", setting.notice)


@contextmanager
def _held(part: Part, setting: Setting) -> Iterator[None]:
    """Nobody else trains this part in this folder; a killed run holds nothing."""
    if setting.folder is None or find_spec("fcntl") is None:
        yield
        return
    import fcntl

    setting.folder.mkdir(parents=True, exist_ok=True)
    with (setting.folder / f".{_file(part)}.held").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise fail(
                str(setting.folder), "a folder in which nobody else runs this part",
                f"another run of {part.name!r}", "wait for it, or choose another folder with --out",
            ) from None  # fmt: skip
        yield


def _versions() -> dict[str, str]:
    """Of everything that the last bit of a result may depend on."""
    from importlib.metadata import version
    from platform import machine, python_version

    names = ("torch", "numpy", "numba", "safetensors")
    return {
        "peerbayes": __version__,
        "python": python_version(),
        "machine": machine(),
        **{name: version(name) for name in names},
    }


def _file(part: Part) -> str:
    return file_name(part.name).removesuffix(".json")


def _others(dataset: str, setting: Setting, shape: tuple[int, ...]) -> Any:
    """Some test images of the other data set, if it is there."""
    from empirical.data import CHECKSUMS, DataNotFound
    from empirical.nets.shares import as_inputs

    other = next(name for name in CHECKSUMS if name != dataset)
    try:
        images = _images(other, setting.data, False)[1]
    except (DataNotFound, ValueError):  # an explicit folder may hold one data set only
        return None
    return as_inputs(images, input_shape=shape, device=setting.device)[:OTHER_IMAGES]


@cache
def _images(dataset: str, data: Path | None, is_quick: bool) -> tuple[Images, Images]:
    """Training and test images; a sample of them for a quick run."""
    from empirical.data import Images, load_images
    from empirical.dealing import stratified_subset

    train = load_images(dataset, split="train", directory=data)
    test = load_images(dataset, split="test", directory=data)
    if is_quick:
        few = stratified_subset(train.labels, QUICK_IMAGES, seed=0)
        train = Images(train.pixels[few], train.labels[few], train.name, train.classes)
    return train, test
